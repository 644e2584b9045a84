//! Faults that last are told when they begin, and whispered while they last.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::time::Timestamp;

/// A fault that was silent for so long is over; boards are tried again once a minute at the rarest.
const OVER: Duration = Duration::from_secs(180);

/// When each fault was last met.
#[derive(Default)]
pub(super) struct Quiet(Mutex<HashMap<String, Timestamp>>);

impl Quiet {
    /// Whether this fault begins with this time.
    pub(super) fn begins(&self, fault: String, now: Timestamp) -> bool {
        // Every change is a single step, so a panic elsewhere leaves it whole.
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        met.retain(|_, at| now.since(*at) < OVER);
        met.insert(fault, now).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_begins_once_until_it_was_silent_for_a_while() {
        let quiet = Quiet::default();
        let at = |secs: i64| Timestamp::from_secs(1_000 + secs);
        let begins = |fault: &str, secs| quiet.begins(fault.to_owned(), at(secs));
        assert!(begins("one", 0) && begins("two", 0));
        // It lasts for as long as it is met again.
        assert!(!begins("one", 100) && !begins("one", 200) && !begins("one", 300));
        assert!(begins("two", 300) && begins("one", 480));
    }
}
