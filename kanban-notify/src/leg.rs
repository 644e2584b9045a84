//! Legs: one subscription's need for one event, and the only moves a leg may make (law D2).

use crate::{
    error::DomainError,
    ids::{ClaimId, EventId, LegId, SubscriptionId},
    time::Timestamp,
};

/// How a leg is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LegKind {
    /// A text message on a push platform.
    Ping,
    /// A turn in an agent session.
    Wake,
}

impl LegKind {
    /// Name in the ledger and in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Wake => "wake",
        }
    }

    /// From the name in the ledger.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Ping, Self::Wake].into_iter().find(|kind| kind.name() == name)
    }
}

/// Where a leg is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LegState {
    /// Owed; nothing was sent.
    Planned,
    /// In a recorded claim that may start at any moment; after a crash this may mean anything.
    Intended,
    /// In a claim whose request is under way. Kept in memory only: on disk it is `intended`.
    Sending,
    /// Owed again after an attempt that certainly had no effect.
    Retrying,
    /// An attempt may have had its effect; nobody knows yet.
    Unknown,
    /// Accepted by the receiver.
    Delivered,
    /// In the dead letters, for an operator to decide.
    Parked,
    /// Too old when first planned (law F4).
    Expired,
    /// Its subscription ended before anything was sent (law S2).
    Cancelled,
    /// Another notifier settled the row first (law O3).
    Taken,
}

impl LegState {
    /// Every state, in the order of a leg's life.
    pub const ALL: [Self; 10] = [
        Self::Planned,
        Self::Intended,
        Self::Sending,
        Self::Retrying,
        Self::Unknown,
        Self::Delivered,
        Self::Parked,
        Self::Expired,
        Self::Cancelled,
        Self::Taken,
    ];

    /// Name in the ledger and in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Intended => "intended",
            Self::Sending => "sending",
            Self::Retrying => "retrying",
            Self::Unknown => "unknown",
            Self::Delivered => "delivered",
            Self::Parked => "parked",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Taken => "taken",
        }
    }

    /// From the name in the ledger.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether a leg in this state lets the cursor pass its event (law D1).
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Delivered | Self::Parked | Self::Expired | Self::Cancelled | Self::Taken
        )
    }

    /// Whether a new claim may take a leg in this state.
    pub fn is_claimable(self) -> bool {
        matches!(self, Self::Planned | Self::Retrying)
    }

    /// The state after `step`, or why the step is illegal.
    pub fn step(self, step: LegStep) -> Result<Self, DomainError> {
        use LegStep as S;
        let next = match (self, step) {
            (Self::Planned | Self::Retrying, S::Intend) => Self::Intended,
            (Self::Sending | Self::Intended | Self::Unknown, S::Advance) => Self::Intended,
            (Self::Intended, S::Send) => Self::Sending,
            (Self::Sending | Self::Intended | Self::Unknown, S::Deliver) => Self::Delivered,
            (Self::Sending | Self::Intended | Self::Unknown, S::Rewind) => Self::Retrying,
            (Self::Sending | Self::Intended | Self::Unknown, S::Lose) => Self::Unknown,
            (Self::Unknown, S::Send) => Self::Sending,
            (
                Self::Planned | Self::Retrying | Self::Intended | Self::Sending | Self::Unknown,
                S::Park,
            ) => Self::Parked,
            (Self::Planned | Self::Retrying, S::Expire) => Self::Expired,
            (Self::Planned | Self::Retrying, S::Cancel) => Self::Cancelled,
            (Self::Planned | Self::Retrying, S::Take) => Self::Taken,
            (from, S::Replay) if from.is_final() => Self::Planned,
            (from, S::Reopen) if from.is_final() => Self::Unknown,
            (from, step) => return Err(DomainError::IllegalStep { from, step }),
        };
        Ok(next)
    }
}

/// What can happen to a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegStep {
    /// A claim that carries it was recorded.
    Intend,
    /// Its request left, or left again with the same key.
    Send,
    /// The receiver accepted a part of it, and the next part is to be sent (law D5).
    Advance,
    /// The receiver accepted it.
    Deliver,
    /// The attempt certainly had no effect: dissolve the claim, plan anew.
    Rewind,
    /// The attempt's outcome is unknown.
    Lose,
    /// To the dead letters.
    Park,
    /// Too old.
    Expire,
    /// Its subscription ended.
    Cancel,
    /// Another notifier settled it.
    Take,
    /// An operator wants it again.
    Replay,
    /// An operator wants it again, and what became of its last claim is to be found out first.
    Reopen,
}

/// An open leg as the ledger holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The ledger's id.
    pub id: LegId,
    /// Whose need it is.
    pub subscription: SubscriptionId,
    /// For which event.
    pub event: EventId,
    /// How it is met.
    pub kind: LegKind,
    /// Where it stands.
    pub state: LegState,
    /// The claim that carries it, when intended or unknown.
    pub claim: Option<ClaimId>,
    /// Not to be claimed before.
    pub due_at: Timestamp,
    /// When it was planned; [`give_up_after`](crate::policy::Policy::give_up_after) counts from here.
    pub planned_at: Timestamp,
    /// How the attempts so far went.
    pub tally: Tally,
}

/// Counts of a leg's attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Attempts that failed; busy receivers and unreachable networks do not count (law D8).
    pub failures: u32,
    /// Turns that ran and failed (law W7).
    pub failed_turns: u32,
    /// Which repetition on purpose this is; part of the key (law W6).
    pub epoch: u32,
    /// Whether it must travel alone, because a claim that carried several was refused (law D3).
    pub alone: bool,
    /// Whether an earlier attempt may have had its effect: the text says so (law D7).
    pub repeat: bool,
    /// Whether an operator asked for it again: then the cursor does not close it (law D10).
    pub replay: bool,
    /// How many parts of its message were accepted: they are never sent again (law D5).
    pub part: u32,
    /// Whether its markup was refused: it goes once more as plain text (law D8).
    pub plain: bool,
    /// Whether its thread was refused: it goes once to the chat above (law D8).
    pub parent: bool,
}
