//! The life of a gateway: build, start, stop.

use std::{
    io::Write,
    sync::{Arc, Mutex, OnceLock},
};

use kanban_notify::{
    driver::{Ended, Until},
    ids::ChannelName,
    policy::Ability,
    ports::{Channel, Clock},
};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    clock::SystemClock,
    config::{Config, ConfigError, Env},
    supervisor::Supervisor,
    wiring::{Lost, Parts},
};

/// What a caller may add to the configuration.
#[derive(Default)]
pub struct Options {
    /// Let events expire that law F4 would ask about.
    pub accept: bool,
    /// More ways out, by name, with what each can do; one of them takes the place of a configured one.
    pub channels: Vec<(ChannelName, Ability, Arc<dyn Channel>)>,
    /// Another clock, for tests on simulated time.
    pub clock: Option<Arc<dyn Clock>>,
    /// Where console messages go; standard output otherwise.
    pub console: Option<Arc<Mutex<dyn Write + Send>>>,
}

/// A gateway that is ready to start.
pub struct Gateway {
    parts: Parts,
    supervisor: Supervisor,
    clock: Arc<dyn Clock>,
}

/// A gateway that delivers.
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    driver: JoinHandle<Ended>,
    supervisor: JoinHandle<()>,
    boards: usize,
    lost: Arc<OnceLock<Lost>>,
}

/// Why a gateway cannot start. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The ledger cannot be used.
    #[error("the ledger {} cannot be used", .0.display())]
    Ledger(std::path::PathBuf, #[source] kanban_store::StoreError),
    /// Push platforms that we were told to serve cannot be used as they are set.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// A channel cannot be made from its configuration.
    #[error("a channel cannot be set up")]
    Channel(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Boards cannot be looked for.
    #[error("boards cannot be found")]
    Boards(#[source] kanban_store::StoreError),
    /// Another notifier is alive and would send the same messages (law O4).
    #[error(
        "{0}\nways on: name the platform in `adopt`, or in `alongside` if both are to serve it; or stop \
         that notifier (`kanban.notify_in_gateway: false` on a newer Hermes)"
    )]
    Contested(String),
    /// Our name is that of a Hermes profile, whose notifier would take our rows.
    #[error(
        "`owner` is {0:?}, and a Hermes profile has that name; choose a name that no profile has"
    )]
    OwnerIsProfile(String),
}

impl Gateway {
    /// Opens the ledger, finds Hermes and its boards, and makes the channels. Sends nothing yet.
    ///
    /// # Errors
    ///
    /// Everything that makes it unwise to start; see [`StartError`].
    pub fn build(config: Config, env: Env, options: Options) -> Result<Self, StartError> {
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let (parts, supervisor) = crate::wiring::join(config, env, options, Arc::clone(&clock))?;
        Ok(Self { parts, supervisor, clock })
    }

    /// What `run` says at its start: the set-up (law O5) and one line for each platform (law O1).
    pub fn announce(&self) {
        self.supervisor.announce();
    }

    /// How many boards are being opened.
    pub fn boards(&self) -> usize {
        self.supervisor.boards()
    }

    /// Begins to deliver, on the runtime of the caller, until it is stopped.
    pub fn start(self) -> Running {
        self.start_until(Until::Stopped)
    }

    /// Begins to deliver and ends when nothing is due any more.
    pub fn start_once(self) -> Running {
        let opened = self.supervisor.opened();
        self.start_until(Until::Idle { opened })
    }

    fn start_until(self, until: Until) -> Running {
        let Self { parts, supervisor, clock } = self;
        let boards = supervisor.boards();
        let (stop, stopped) = oneshot::channel();
        let grace = parts.grace;
        let driver = parts.driver();
        let tidy = Arc::clone(&supervisor.tidy);
        let why = Arc::new(OnceLock::new());
        let lost = Arc::clone(&why);
        let driver = tokio::spawn(async move {
            let stopped = async {
                tokio::select! {
                    // A handle that was dropped without a word stops the gateway too.
                    _ = stopped => {}
                    reason = parts.lost => {
                        tracing::error!(error = %reason, "stopping; what is in flight may finish");
                        // Nobody else sets it.
                        drop(why.set(reason));
                    }
                }
            };
            let ended = driver.run(parts.changes, until, stopped, grace).await;
            if ended == Ended::Idle {
                // Where only `once` ever runs, nobody else would.
                tidy().await;
            }
            ended
        });
        let supervisor = tokio::spawn(supervisor.run(clock));
        Running { stop: Some(stop), driver, supervisor, boards, lost }
    }
}

impl Running {
    /// How many boards were found at the start.
    pub fn boards(&self) -> usize {
        self.boards
    }

    /// Why it ends by itself although it was to run: its ledger was taken away or is damaged (law D10).
    pub fn lost(&self) -> Option<Arc<kanban_store::StoreError>> {
        self.lost.get().cloned()
    }

    /// Waits until the gateway ends by itself.
    ///
    /// # Errors
    ///
    /// When its task panicked.
    pub async fn ended(mut self) -> Result<Ended, tokio::task::JoinError> {
        let ended = (&mut self.driver).await;
        self.supervisor.abort();
        ended
    }

    /// Waits until the gateway ends by itself, without giving up the handle.
    ///
    /// # Errors
    ///
    /// When its task panicked.
    pub async fn wait(&mut self) -> Result<Ended, tokio::task::JoinError> {
        (&mut self.driver).await
    }

    /// Stops: no new claims, what is in flight may end within the grace time.
    ///
    /// # Errors
    ///
    /// When its task panicked.
    pub async fn stop(mut self) -> Result<Ended, tokio::task::JoinError> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.ended().await
    }
}
