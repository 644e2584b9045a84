//! The receiver's own hint when to come back (law D8).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::{HeaderMap, HeaderValue, header};

/// The shortest wait a hint can ask for; zero and dates in the past mean this.
pub const SHORTEST: Duration = Duration::from_millis(100);

/// The longest wait a hint can ask for.
pub const LONGEST: Duration = Duration::from_secs(3600);

/// Reads `Retry-After`: seconds, seconds with a fraction, or an HTTP date; clamped to
/// [`SHORTEST`]`..=`[`LONGEST`]. Anything else, negative numbers too, is no hint.
///
/// A date is measured from the answer's own `Date`, so that a wrong clock on either side does no
/// harm; `now` stands in where there is none.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = text(headers.get(header::RETRY_AFTER))?;
    let wait = match seconds(text) {
        Some(wait) => wait,
        None => {
            let until = httpdate::parse_http_date(text).ok()?;
            let from = text_date(headers.get(header::DATE)).unwrap_or(now);
            until.duration_since(from).unwrap_or(Duration::ZERO)
        }
    };
    Some(clamp(wait))
}

/// A number of seconds from a header or a body, unclamped; `None` for anything but digits with at
/// most one point.
pub fn seconds(text: &str) -> Option<Duration> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = plain.then(|| text.parse().ok())??;
    Some(Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX))
}

/// The time until a second of Unix time, as some limits tell it; clamped.
pub fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(UNIX_EPOCH).ok()?;
    Some(clamp(seconds(text)?.saturating_sub(now)))
}

/// Into [`SHORTEST`]`..=`[`LONGEST`].
pub fn clamp(wait: Duration) -> Duration {
    wait.clamp(SHORTEST, LONGEST)
}

fn text(value: Option<&HeaderValue>) -> Option<&str> {
    Some(value?.to_str().ok()?.trim())
}

fn text_date(value: Option<&HeaderValue>) -> Option<SystemTime> {
    httpdate::parse_http_date(text(value)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_a_second_of_unix_time_is_no_further_away_than_an_hour() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        for (text, wait) in [
            ("1007", Some(Duration::from_secs(7))),
            ("1000", Some(SHORTEST)),
            ("5", Some(SHORTEST)),
            ("9999999", Some(LONGEST)),
            ("soon", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(until(text, now), wait, "{text}");
        }
    }

    fn hint(value: &str, date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, value.parse().unwrap());
        if let Some(date) = date {
            headers.insert(header::DATE, date.parse().unwrap());
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after(&headers, now)
    }

    #[test]
    fn d8_seconds_and_fractions() {
        assert_eq!(hint("30", None), Some(Duration::from_secs(30)));
        assert_eq!(hint(" 0.65 ", None), Some(Duration::from_millis(650)));
        assert_eq!(hint("0", None), Some(SHORTEST));
        assert_eq!(hint("1000000000", None), Some(LONGEST));
        assert_eq!(hint(&"9".repeat(400), None), Some(LONGEST));
    }

    #[test]
    fn d8_dates_count_from_the_servers_own_clock() {
        let date = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(hint(date, None), Some(Duration::from_secs(60)));
        let theirs = Some("Sun, 06 Nov 1994 08:50:30 GMT");
        assert_eq!(hint(date, theirs), Some(Duration::from_secs(7)));
        let past = "Sun, 06 Nov 1994 08:00:00 GMT";
        assert_eq!(hint(past, None), Some(SHORTEST));
    }

    #[test]
    fn d8_nonsense_is_no_hint() {
        for value in ["abc", "-5", "", "inf", "NaN", "1e9", "1.2.3", ".", "5 s", "+5"] {
            assert_eq!(hint(value, None), None, "{value}");
        }
    }
}
