//! What a receiver was sent, and what became of it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use ::http::{HeaderMap, request::Parts};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Counts from 1, over all kinds of requests.
    pub number: u64,
    /// The method.
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// The body; empty if it was over the limit.
    pub body: String,
    /// When it had arrived.
    pub at: SystemTime,
    headers: HeaderMap,
}

impl Recorded {
    /// A header's value, if it was sent and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }

    /// The session that the client named.
    pub fn session(&self) -> Option<&str> {
        self.header("x-hermes-session-id")
    }

    /// The idempotency key that the client sent.
    pub fn key(&self) -> Option<&str> {
        self.header("idempotency-key")
    }

    /// The text of the last message; empty if there is none.
    pub fn text(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        super::chat::last_text(&body).unwrap_or_default()
    }

    /// Whether it is a wake.
    pub fn is_wake(&self) -> bool {
        // What stands behind a question mark is no part of the route.
        self.method == "POST" && self.path.split('?').next() == Some(super::routes::CHAT)
    }
}

/// News from a receiver.
#[derive(Clone, Debug)]
pub enum ReceiverEvent {
    /// A request arrived.
    Arrived(Arc<Recorded>),
    /// A wake was answered, or will not be.
    Answered(Answered),
}

/// The end of a wake, as the receiver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The request's number.
    pub number: u64,
    /// The status; `None` when the connection was closed without one.
    pub status: Option<u16>,
    /// What was done for it.
    pub how: How,
}

/// What was done for a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A turn was started for it.
    Ran,
    /// It joined a turn that was running for the same key.
    Joined,
    /// An earlier result was given again.
    Replayed,
    /// No turn.
    Refused,
    /// The client left before its answer; a turn that it started runs on.
    Left,
}

/// A wake without its answer yet; dropped as it is, its client has left.
pub(super) struct Pending<'l> {
    log: &'l Log,
    number: u64,
    is_answered: bool,
}

impl<'l> Pending<'l> {
    pub(super) fn new(log: &'l Log, number: u64) -> Self {
        Self { log, number, is_answered: false }
    }

    pub(super) fn answered(mut self, status: Option<u16>, how: How) {
        self.is_answered = true;
        self.log.answered(self.number, status, how);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.log.answered(self.number, None, How::Left);
        }
    }
}

/// The log.
pub(super) struct Log {
    state: Mutex<State>,
    newest: watch::Sender<u64>,
    keep: usize,
}

#[derive(Default)]
struct State {
    count: u64,
    requests: VecDeque<Arc<Recorded>>,
    // The number of the newest wake that `next_wake` has given out.
    given: u64,
    listeners: Vec<mpsc::UnboundedSender<ReceiverEvent>>,
}

impl Log {
    pub(super) fn new(keep: usize) -> Self {
        Self { state: Mutex::default(), newest: watch::Sender::new(0), keep }
    }

    pub(super) fn arrived(&self, head: &Parts, body: &[u8]) -> Arc<Recorded> {
        let mut state = self.state();
        state.count = state.count.saturating_add(1);
        let recorded = Arc::new(Recorded {
            number: state.count,
            method: head.method.to_string(),
            path: head.uri.to_string(),
            body: String::from_utf8_lossy(body).into_owned(),
            at: SystemTime::now(),
            headers: head.headers.clone(),
        });
        state.requests.push_back(Arc::clone(&recorded));
        while state.requests.len() > self.keep {
            state.requests.pop_front();
        }
        state.tell(&ReceiverEvent::Arrived(Arc::clone(&recorded)));
        drop(state);
        self.newest.send_replace(recorded.number);
        recorded
    }

    fn answered(&self, number: u64, status: Option<u16>, how: How) {
        self.state().tell(&ReceiverEvent::Answered(Answered { number, status, how }));
    }

    pub(super) fn all(&self) -> Vec<Arc<Recorded>> {
        self.state().requests.iter().cloned().collect()
    }

    pub(super) fn subscribe(&self) -> mpsc::UnboundedReceiver<ReceiverEvent> {
        let (listener, events) = mpsc::unbounded_channel();
        self.state().listeners.push(listener);
        events
    }

    pub(super) async fn next_wake(&self) -> Arc<Recorded> {
        let mut newest = self.newest.subscribe();
        loop {
            newest.mark_unchanged();
            if let Some(wake) = self.state().take_wake() {
                return wake;
            }
            // Its sender lives as long as we do.
            let _ = newest.changed().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self, event: &ReceiverEvent) {
        self.listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }

    fn take_wake(&mut self) -> Option<Arc<Recorded>> {
        let given = self.given;
        let wake = self
            .requests
            .iter()
            .find(|request| request.number > given && request.is_wake())
            .cloned()?;
        self.given = wake.number;
        Some(wake)
    }
}
