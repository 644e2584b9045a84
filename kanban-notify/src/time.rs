//! Points in time as the domain sees them: UTC microseconds, always an argument, never read from a clock.

use std::{
    fmt,
    time::{Duration, UNIX_EPOCH},
};

/// A point in time: microseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The end of time; a timer that never fires.
    pub const NEVER: Self = Self(i64::MAX);

    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From whole seconds since the Unix epoch, as boards store them. Saturates.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Microseconds since the Unix epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// This time and `span` later; saturates at [`Timestamp::NEVER`].
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// This time and `span` earlier; saturates.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// RFC 3339 in UTC, with a fraction where there is one.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rows may hold anything; what lies outside of the years 1970 to 9999 is shown at their edge.
        const LAST: u64 = 253_402_300_799_999_999;
        let micros = u64::try_from(self.0).unwrap_or(0).min(LAST);
        let at = UNIX_EPOCH + Duration::from_micros(micros);
        if self.0 % 1_000_000 == 0 {
            humantime::format_rfc3339_seconds(at).fmt(f)
        } else {
            humantime::format_rfc3339_micros(at).fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_rfc_3339_and_no_number_panics() {
        assert_eq!(Timestamp::from_secs(1_796_042_476).to_string(), "2026-11-30T12:41:16Z");
        assert_eq!(Timestamp::from_micros(1_500_000).to_string(), "1970-01-01T00:00:01.500000Z");
        assert_eq!(Timestamp::NEVER.to_string(), "9999-12-31T23:59:59.999999Z");
        assert_eq!(Timestamp::from_micros(i64::MIN).to_string()[..4], *"1970");
    }
}
