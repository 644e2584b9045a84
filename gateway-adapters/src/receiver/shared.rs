//! What all connections and turns of a receiver share.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::{sync::watch, task::JoinSet};

use super::{
    config::ReceiverConfig, idempotency::Keys, log::Log, script::Script, sessions::Sessions,
};

pub(super) struct Shared {
    pub(super) config: ReceiverConfig,
    pub(super) log: Log,
    pub(super) running: watch::Sender<usize>,
    pub(super) connections: watch::Sender<u64>,
    script: Mutex<Script>,
    sessions: Mutex<Sessions>,
    keys: Mutex<Keys>,
    turns: Mutex<JoinSet<()>>,
    gate: watch::Sender<Gate>,
    draining: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    held: bool,
    tickets: u64,
}

impl Shared {
    pub(super) fn new(config: ReceiverConfig) -> Self {
        Self {
            log: Log::new(config.keep),
            running: watch::Sender::new(0),
            connections: watch::Sender::new(0),
            script: Mutex::new(config.script.clone()),
            sessions: Mutex::default(),
            keys: Mutex::new(Keys::new(config.key_ttl, config.key_entries)),
            turns: Mutex::default(),
            gate: watch::Sender::new(Gate::default()),
            draining: AtomicBool::new(false),
            config,
        }
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }

    pub(super) fn keys(&self) -> MutexGuard<'_, Keys> {
        lock(&self.keys)
    }

    pub(super) fn forget_keys(&self) {
        self.keys().clear();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    pub(super) fn set_draining(&self, draining: bool) {
        self.draining.store(draining, Ordering::SeqCst);
    }

    pub(super) fn hold(&self) {
        self.gate.send_replace(Gate { held: true, tickets: 0 });
    }

    pub(super) fn release(&self, count: u64) {
        self.gate.send_modify(|gate| gate.tickets = gate.tickets.saturating_add(count));
    }

    pub(super) fn release_all(&self) {
        self.gate.send_replace(Gate::default());
    }

    /// Waits until the gate is open, or takes a ticket.
    pub(super) async fn pass_gate(&self) {
        let mut news = self.gate.subscribe();
        while !self.try_pass() {
            // Its sender lives as long as we do.
            let _ = news.changed().await;
        }
    }

    fn try_pass(&self) -> bool {
        let mut passed = false;
        self.gate.send_if_modified(|gate| {
            passed = !gate.held || gate.tickets > 0;
            if gate.held && gate.tickets > 0 {
                gate.tickets = gate.tickets.saturating_sub(1);
            }
            // Nobody can pass because somebody else did.
            false
        });
        passed
    }

    /// Runs a turn that no connection can end.
    pub(super) fn spawn(&self, turn: impl Future<Output = ()> + Send + 'static) {
        let mut turns = lock(&self.turns);
        while turns.try_join_next().is_some() {}
        turns.spawn(turn);
    }

    /// Stops every turn, at its next step.
    pub(super) fn abandon_turns(&self) {
        lock(&self.turns).abort_all();
    }

    /// Stops every turn, and returns when none runs.
    pub(super) async fn end_turns(&self) {
        let mut turns = std::mem::take(&mut *lock(&self.turns));
        turns.shutdown().await;
    }
}

/// Counts a turn as running while it lives, also when it is abandoned.
pub(super) struct Run(Arc<Shared>);

impl Run {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        shared.running.send_modify(|count| *count = count.saturating_add(1));
        Self(Arc::clone(shared))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count = count.saturating_sub(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
