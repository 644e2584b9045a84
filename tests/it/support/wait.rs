//! Bounded waiting, for what other threads and processes do without telling us.

use std::{panic::Location, time::Duration};

use tokio::time::{Instant, timeout};

/// How long anything may take before a test fails; far above what it takes.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks every few milliseconds until the answer is there.
///
/// # Panics
/// When [`PATIENCE`] is over, with `what`.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < end, "{caller}: still not so: {what}");
            // sleep: a database tells nobody that it has changed; the bound is above.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Waits for something that tells when it happens.
///
/// # Panics
/// When [`PATIENCE`] is over, with `what`.
#[track_caller]
pub fn soon<T>(what: &str, event: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        match timeout(PATIENCE, event).await {
            Ok(value) => value,
            Err(_) => panic!("{caller}: did not happen: {what}"),
        }
    }
}

/// A time in the form that sessions keep it in.
pub fn seconds_ago(ago: u64) -> f64 {
    let then = std::time::SystemTime::now() - Duration::from_secs(ago);
    then.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}
