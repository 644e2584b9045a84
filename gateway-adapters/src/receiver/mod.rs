//! A receiver that speaks the contract of a Hermes API server, for tests, `listen` and `demo`.
//!
//! It answers `POST /v1/chat/completions` in the real server's order of checks, keeps sessions in
//! memory where they can be read back, and joins or replays requests with the same idempotency key.

mod chat;
mod config;
mod idempotency;
mod log;
pub mod push;
mod raw;
mod reply;
mod routes;
mod script;
mod serve;
mod sessions;
mod shared;

use std::{net::SocketAddr, sync::Arc};

use secrecy::SecretString;
use tokio::sync::{Mutex, mpsc};

pub use config::ReceiverConfig;
pub use log::{Answered, How, ReceiverEvent, Recorded};
pub use raw::{RawAct, RawCall, RawServer};
pub use script::{Script, Scripted};
pub use sessions::SessionRow;

use crate::AdapterError;
use serve::Listening;
use shared::Shared;

/// A running receiver. Dropping it ends it, and abandons the turns that run.
pub struct Receiver {
    addr: SocketAddr,
    shared: Arc<Shared>,
    listening: Mutex<Option<Listening>>,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Receiver {
    /// Starts to listen. Needs a tokio runtime with its drivers on.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if the address cannot be had.
    pub async fn start(config: ReceiverConfig) -> Result<Self, AdapterError> {
        let wanted = config.addr;
        let shared = Arc::new(Shared::new(config));
        let (addr, listening) = serve::listen(wanted, &shared).await?;
        Ok(Self { addr, shared, listening: Mutex::new(Some(listening)) })
    }

    /// Where it listens; the same after [`Receiver::restart`].
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base address for a client: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The key that clients must send.
    pub fn key(&self) -> SecretString {
        self.shared.config.key.clone()
    }

    /// Every request so far, oldest first, within [`ReceiverConfig::keep`].
    pub fn requests(&self) -> Vec<Arc<Recorded>> {
        self.shared.log.all()
    }

    /// Every wake so far (`POST …/chat/completions`), oldest first, refused ones too.
    pub fn wakes(&self) -> Vec<Arc<Recorded>> {
        let mut all = self.requests();
        all.retain(|request| request.is_wake());
        all
    }

    /// Waits for the next wake that this method has not answered with yet; also one from before the call.
    pub async fn next_wake(&self) -> Arc<Recorded> {
        self.shared.log.next_wake().await
    }

    /// What happens from now on, as it happens.
    pub fn events(&self) -> mpsc::UnboundedReceiver<ReceiverEvent> {
        self.shared.log.subscribe()
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> u64 {
        *self.shared.connections.borrow()
    }

    /// The ids of all sessions, sorted.
    pub fn sessions(&self) -> Vec<String> {
        self.shared.sessions().ids()
    }

    /// The rows of a session, oldest first, without following [`Receiver::rotate`].
    pub fn rows(&self, session: &str) -> Vec<SessionRow> {
        self.shared.sessions().rows(session)
    }

    /// How many turns were started in a session.
    pub fn turns(&self, session: &str) -> usize {
        self.shared.sessions().turns(session)
    }

    /// How many turns run now.
    pub fn running(&self) -> usize {
        *self.shared.running.borrow()
    }

    /// Waits until exactly `count` turns run.
    pub async fn until_running(&self, count: usize) {
        let mut running = self.shared.running.subscribe();
        // Its sender lives as long as we do.
        let _ = running.wait_for(|now| *now == count).await;
    }

    /// Adds a row to a session, which is created if need be. `timestamp` is in Unix seconds.
    pub fn push_row(
        &self,
        session: &str,
        role: &str,
        content: &str,
        calls_tools: bool,
        timestamp: f64,
    ) {
        self.shared.sessions().push(session, role, content, calls_tools, timestamp);
    }

    /// As if `from` had been compressed into `to`: reading `from` shows `to` and names it, and a turn
    /// posted to `from` is stored in `to` and answered with that name.
    pub fn rotate(&self, from: &str, to: &str) {
        self.shared.sessions().rotate(from, to);
    }

    /// Answers from now on by this script.
    pub fn play(&self, script: Script) {
        *self.shared.script() = script;
    }

    /// Turns that have not ended wait from now on, before their model answers.
    pub fn hold(&self) {
        self.shared.hold();
    }

    /// Lets `count` held turns go on; the others wait on.
    pub fn release(&self, count: u64) {
        self.shared.release(count);
    }

    /// Ends [`Receiver::hold`].
    pub fn release_all(&self) {
        self.shared.release_all();
    }

    /// Whether wakes are refused with 503 `gateway_draining`.
    pub fn drain(&self, draining: bool) {
        self.shared.set_draining(draining);
    }

    /// Closes the port and cuts every connection, as a real server does on SIGTERM: turns that run
    /// are finished and stored, the idempotency cache is lost.
    pub async fn kill(&self) {
        if let Some(listening) = self.listening.lock().await.take() {
            listening.stop().await;
        }
        self.shared.forget_keys();
    }

    /// Like [`Receiver::kill`], and turns that run never end: their user row stays without an answer.
    pub async fn crash(&self) {
        self.kill().await;
        self.shared.end_turns().await;
    }

    /// Listens again at the same port, with the sessions as they are. Nothing if it listens already.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if somebody else took the port.
    pub async fn restart(&self) -> Result<(), AdapterError> {
        let mut listening = self.listening.lock().await;
        if listening.is_none() {
            let (_, again) = serve::listen(self.addr, &self.shared).await?;
            *listening = Some(again);
        }
        Ok(())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.abandon_turns();
    }
}
