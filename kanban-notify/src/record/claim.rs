//! Claims on their way into the ledger and out of it.

use crate::{
    ids::{ChannelName, ClaimId, LegId},
    leg::{LegState, Tally},
    message::{Destination, Message},
    time::Timestamp,
    verdict::Detail,
};

/// A claim to be recorded before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The engine's name for it until the ledger has given it an id.
    pub draft: u64,
    /// The lane it holds, as text: one claim per lane.
    pub lane: String,
    /// Where it goes.
    pub destination: Destination,
    /// The legs it carries, oldest first.
    pub legs: Vec<LegId>,
    /// The counts of each leg, on which key and text rest: where the ledger has others, another process
    /// had an attempt in the meantime, and the leg counts as taken (law D9).
    pub tallies: Vec<Tally>,
    /// The idempotency key.
    pub key: String,
    /// The reference in the text; empty for pings.
    pub reference: String,
    /// What it says; the driver has the channel make `body` of it.
    pub message: Message,
    /// The bytes that will leave; filled by the driver, unless a message that was begun goes on (law D5).
    pub body: String,
    /// When it was formed.
    pub at: Timestamp,
}

/// What became of an [`Intent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentResult {
    /// Recorded: send it now.
    Won(ClaimId),
    /// Another claim holds the lane.
    Held,
    /// The channel is paused until then.
    Paused(Timestamp),
    /// A leg is not claimable any more: somebody else has it or closed it. Nothing was recorded.
    Taken,
}

/// The outcome of a claim, for one transaction of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The claim.
    pub claim: ClaimId,
    /// The verdict's name.
    pub verdict: &'static str,
    /// The verdict's detail.
    pub detail: Detail,
    /// What becomes of each leg.
    pub legs: Vec<LegOutcome>,
    /// Whether the claim is over; otherwise it stays pinned, holds its lane and is unknown.
    pub over: bool,
    /// A session or chat that now has another name: (raw, resolved) of the claim's channel.
    pub alias: Option<(String, String)>,
    /// A pause for the claim's channel.
    pub pause: Option<Pause>,
    /// When.
    pub at: Timestamp,
}

/// What becomes of one leg of a settled claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegOutcome {
    /// The leg.
    pub leg: LegId,
    /// Its new state.
    pub state: LegState,
    /// Its counts from now on.
    pub tally: Tally,
    /// When it may be claimed again.
    pub due_at: Timestamp,
    /// Why, for people; empty for delivered.
    pub reason: Detail,
}

/// A channel that is not used for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The channel.
    pub channel: ChannelName,
    /// Until when; a past time lifts the pause.
    pub until: Timestamp,
    /// Why, for people.
    pub reason: Detail,
    /// Whether the credential is at fault: probe before the next send.
    pub credential: bool,
}

/// A claim whose outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClaim {
    /// The claim.
    pub id: ClaimId,
    /// Its lane.
    pub lane: String,
    /// Where it went, or may have gone.
    pub destination: Destination,
    /// Its legs.
    pub legs: Vec<LegId>,
    /// Its key.
    pub key: String,
    /// Its reference; empty for pings.
    pub reference: String,
    /// Its pinned bytes.
    pub body: String,
    /// When it was intended.
    pub at: Timestamp,
}
