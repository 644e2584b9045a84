//! What came in, when, and how to wait for it.

use std::{
    sync::{Condvar, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;

/// One message.
pub struct Arrival {
    pub at: Instant,
    /// How long it was.
    pub bytes: usize,
    /// What it said; empty unless texts are kept.
    pub text: Bytes,
}

/// All messages since they were taken last.
#[derive(Default)]
pub struct Arrivals {
    keep: bool,
    all: Mutex<Vec<Arrival>>,
    more: Condvar,
}

impl Arrivals {
    /// `keep` also keeps what the messages said.
    pub fn new(keep: bool) -> Self {
        Self { keep, ..Self::default() }
    }

    pub fn push(&self, at: Instant, text: Bytes) {
        let (bytes, text) = (text.len(), if self.keep { text } else { Bytes::new() });
        self.all.lock().unwrap().push(Arrival { at, bytes, text });
        self.more.notify_all();
    }

    pub fn count(&self) -> usize {
        self.all.lock().unwrap().len()
    }

    /// What came since it was asked last.
    pub fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.all.lock().unwrap())
    }

    /// Waits until so many messages are there; answers when the last of them came.
    #[track_caller]
    pub fn wait_for(&self, count: usize, longest: Duration) -> Instant {
        let all = self.all.lock().unwrap();
        let (all, timeout) =
            self.more.wait_timeout_while(all, longest, |all| all.len() < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} messages after {longest:?}", all.len());
        all[count - 1].at
    }
}
