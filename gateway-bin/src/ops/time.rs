//! One form for every time that is printed: RFC 3339 in UTC, with a fraction where it is known.

use std::fmt;

use kanban_notify::time::Timestamp;
use serde::{Serialize, Serializer};

const MICROS: i64 = 1_000_000;

/// A moment, in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// As boards keep time.
    pub fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(MICROS))
    }

    /// As the ledger keeps time.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Timestamp::from_micros(self.0).fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn board_and_ledger_times_look_alike_and_no_number_panics() {
        assert_eq!(Moment::from_secs(1).to_string(), "1970-01-01T00:00:01Z");
        assert_eq!(Moment::from_micros(1_500_000).to_string(), "1970-01-01T00:00:01.500000Z");
        assert!(Moment::from_secs(i64::MAX).to_string().starts_with("9999-12-31"));
        assert!(Moment::from_micros(i64::MIN).to_string().starts_with("1970-01-01"));
    }
}
