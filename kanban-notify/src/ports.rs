//! The ports: what the engine's driver needs from the world, in domain types only.
//!
//! Batched and complete, so that neither SQLite nor HTTP shows through; implementations live in
//! `kanban-store` (feature `notify-ports`), `gateway-adapters` and the binary.

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::{
    artifacts::{Attachment, Refusal, Takes, Wanted},
    error::PortError,
    history::SessionView,
    ids::{BoardId, ChannelName, SubscriptionId},
    message::{Destination, Message, Parcel, Span},
    record::{
        Facts, Intent, IntentResult, Owed, Pass, PassRequest, Pause, Plan, Planned, Raise,
        RowChange, RowOutcome, Settlement, Work,
    },
    subscription::Subscription,
    time::Timestamp,
    verdict::{Detail, Verdict},
};

/// The boards: read a pass, change our rows.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Boards: Send + Sync {
    /// Reads what happened on a board after a position (law F2). No read transaction outlives the call.
    async fn read(&self, board: BoardId, request: PassRequest) -> Result<Pass, PortError>;

    /// Changes rows in one short transaction (laws B4, B5); one outcome for each change, in order.
    async fn change(
        &self,
        board: BoardId,
        changes: Vec<RowChange>,
    ) -> Result<Vec<RowOutcome>, PortError>;
}

/// The ledger's planning side.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Planner: Send + Sync {
    /// The copies of all subscriptions of these tasks, live or not, of the board's incarnation.
    async fn copies(
        &self,
        board: BoardId,
        tasks: Vec<String>,
    ) -> Result<Vec<Subscription>, PortError>;

    /// Records what a pass decided, in one transaction, and the position it reached.
    async fn plan(&self, plan: Plan) -> Result<Planned, PortError>;
}

/// The ledger's delivery side (law D1).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Claims: Send + Sync {
    /// Records intents, durably before it answers; each is won or lost by itself (laws D6, D9).
    async fn intend(&self, intents: Vec<Intent>) -> Result<Vec<IntentResult>, PortError>;

    /// Records outcomes, durably before it answers; says which cursors may now be raised.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Raise>, PortError>;

    /// Records until when a channel rests (law D8).
    async fn rest(&self, pause: Pause) -> Result<(), PortError>;

    /// Ends a channel's pause, whatever its time (law D8).
    async fn lift(&self, channel: ChannelName) -> Result<(), PortError>;

    /// Notes what became of raised cursors.
    async fn raised(&self, raised: Vec<(Raise, RowOutcome)>) -> Result<(), PortError>;
}

/// The ledger's memory of everything open: read at start, after a take-over, after an operator's hand.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Backlog: Send + Sync {
    /// Everything open: every claim without an outcome that nobody alive owns, every cursor to raise, and
    /// every copy with an open leg; the legs themselves of `held`, of what is claimed, and where they are few.
    async fn open_work(&self, held: Vec<SubscriptionId>) -> Result<Work, PortError>;

    /// What is owed to these copies, those without an open leg left out.
    async fn owed(&self, copies: Vec<SubscriptionId>) -> Result<Vec<Owed>, PortError>;

    /// Whether another process changed the ledger, or died and left claims, since the last call.
    async fn disturbed(&self) -> Result<bool, PortError>;
}

/// A way out: one push platform, or one API server.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Channel: Send + Sync {
    /// What it takes besides text.
    fn takes(&self) -> Takes {
        Takes::NOTHING
    }

    /// Makes the bytes that are pinned in the ledger. Pure.
    fn encode(&self, destination: &Destination, message: &Message) -> String;

    /// Sends the bytes once. Never retries by itself; every end is a verdict.
    async fn send(&self, parcel: &Parcel) -> Verdict;

    /// Looks into a session for the state of its last turn and, if given, for a reference (law W4).
    async fn look(
        &self,
        session: &str,
        reference: Option<String>,
    ) -> Result<SessionView, LookError>;

    /// Checks the credential without sending a message (law D8).
    async fn probe(&self) -> Verdict;
}

/// Why a look saw nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    /// The channel has no history to look into.
    #[error("this channel has no readable history")]
    Unsupported,
    /// Nobody listens there now: whatever ran there has ended or will be seen later.
    #[error("the receiver cannot be reached: {}", .0.as_str())]
    Unreachable(Detail),
    /// The credential is refused: the channel rests until it is right.
    #[error("the credential is refused: {}", .0.as_str())]
    Credential(Detail),
    /// It failed otherwise; try again.
    #[error("the look failed: {}", .0.as_str())]
    Failed(Detail),
}

/// The channels by name.
pub trait Channels: Send + Sync {
    /// The channel called `name`, if there is one now.
    fn get(&self, name: &ChannelName) -> Option<std::sync::Arc<dyn Channel>>;
}

/// The files that tasks name.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Files: Send + Sync {
    /// Looks at files, one after the other and off this thread: an answer for each, in order. It may hang.
    fn check(&self, wanted: Vec<Wanted>) -> BoxStream<'static, Result<Attachment, Refusal>>;
}

/// How messages to people are worded, where the operator wants other words than ours. Pure, and quick.
///
/// Wakes are never worded so (law W9), and the marks of a message are put to it whatever it says.
pub trait Wording: std::fmt::Debug + Send + Sync {
    /// The text about one event on this channel, with what is quoted told from what is not; `None` for
    /// our own, also where a text could not be made.
    fn ping(&self, channel: &ChannelName, facts: &Facts, board: &str) -> Option<Vec<Span>>;
}

/// Time, for the driver alone: the engine is given `now` as an argument.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Returns at `at` or later; at once if `at` is past.
    async fn sleep_until(&self, at: Timestamp);
}

/// "Something changed": which boards are worth a pass.
#[async_trait]
pub trait Changes: Send {
    /// Waits for news. `None` when the source has ended.
    async fn next(&mut self) -> Option<Change>;
}

/// One piece of news for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A board has commits that we have not read.
    Board(BoardId),
    /// A board appeared or was reopened.
    Opened(crate::record::BoardStart),
    /// A board cannot be used for now (law B7).
    Degraded(BoardId, Detail),
    /// Who else serves which platform, and what we can reach, changed (law O4).
    World(crate::policy::World),
}
