//! Results by idempotency key, with the real server's habits.
//!
//! The key is looked up as it was sent. The fingerprint knows the content but not the session, so
//! the same key and content for another session get the first session's answer.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::chat::Outcome;

/// The end of a turn, for everybody who waits for it.
pub(super) type Ending = watch::Receiver<Option<Arc<Outcome>>>;

/// What is known for a key and a content.
pub(super) enum Known {
    Nothing,
    Running(Ending),
    Ended(Arc<Outcome>),
}

pub(super) struct Keys {
    ended: HashMap<String, Entry>,
    order: VecDeque<String>,
    running: HashMap<(String, String), Ending>,
    ttl: Duration,
    entries: usize,
    life: u64,
}

struct Entry {
    fingerprint: String,
    outcome: Arc<Outcome>,
    at: Instant,
}

impl Keys {
    pub(super) fn new(ttl: Duration, entries: usize) -> Self {
        Self {
            ended: HashMap::new(),
            order: VecDeque::new(),
            running: HashMap::new(),
            ttl,
            entries,
            life: 0,
        }
    }

    /// Which life of the server this is: a turn from an earlier one leaves no result.
    pub(super) fn life(&self) -> u64 {
        self.life
    }

    pub(super) fn find(&mut self, key: &str, fingerprint: &str) -> Known {
        let ttl = self.ttl;
        self.ended.retain(|_, entry| entry.at.elapsed() <= ttl);
        if let Some(entry) = self.ended.get(key)
            && entry.fingerprint == fingerprint
        {
            return Known::Ended(Arc::clone(&entry.outcome));
        }
        let running = self.running.get(&(key.to_owned(), fingerprint.to_owned()));
        running.map_or(Known::Nothing, |ending| Known::Running(ending.clone()))
    }

    pub(super) fn begin(&mut self, key: &str, fingerprint: &str, ending: Ending) {
        self.running.insert((key.to_owned(), fingerprint.to_owned()), ending);
    }

    /// A failed turn is kept like any other; one that raised is not.
    pub(super) fn end(
        &mut self,
        life: u64,
        (key, fingerprint): (&str, &str),
        outcome: &Arc<Outcome>,
    ) {
        if life != self.life {
            return;
        }
        self.running.remove(&(key.to_owned(), fingerprint.to_owned()));
        if !outcome.is_kept() {
            return;
        }
        let entry = Entry {
            fingerprint: fingerprint.to_owned(),
            outcome: Arc::clone(outcome),
            at: Instant::now(),
        };
        if self.ended.insert(key.to_owned(), entry).is_none() {
            self.order.push_back(key.to_owned());
        }
        while self.ended.len() > self.entries {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.ended.remove(&oldest);
        }
        self.order.retain(|key| self.ended.contains_key(key));
    }

    /// What a restart leaves of it: nothing.
    pub(super) fn clear(&mut self) {
        self.life = self.life.saturating_add(1);
        self.ended.clear();
        self.order.clear();
        self.running.clear();
    }
}

/// What makes two requests the same.
pub(super) fn fingerprint(body: &Value) -> String {
    let part = |name| body.get(name).cloned().unwrap_or_default();
    json!([part("model"), part("messages"), part("tools"), part("tool_choice"), part("stream")])
        .to_string()
}
