//! What the engine holds in memory: only what is open.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{backlog::Backlog, ranks::Rank};
use crate::{
    backoff,
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId, SubscriptionId},
    leg::{Leg, LegState},
    message::{Destination, Parcel},
    ownership::Why,
    record::{
        Aged, BoardStart, Facts, Position, Raise, RowChange, Settlement, SubscriptionPlan, Sweep,
    },
    subscription::Subscription,
    time::Timestamp,
    verdict::Detail,
};

/// How long a failed write to the ledger rests before it is tried again.
pub(super) const LEDGER_RETRY: Duration = Duration::from_millis(500);
/// How long a failed read of a board rests.
pub(super) const READ_RETRY: Duration = Duration::from_secs(1);
/// Time for a read of a board with many commits: one that always reads keeps checkpoints from completing.
pub(super) const READ_PACE: Duration = Duration::from_millis(20);
/// So much of that time may be ahead: a few commits after each other are read at once.
pub(super) const READ_BURST: Duration = Duration::from_millis(200);
/// How often a board with commits is swept (law F2).
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// Least time between two transactions on a board that others write to (law B4).
pub(super) const RAISE_PACE: Duration = Duration::from_millis(50);
/// Most rows in one transaction on a board (law B4).
pub(super) const RAISE_ROWS: usize = 256;
/// When a board that was opened is first looked through for aged rows, and how often later (law S3).
pub(super) const AGE_FIRST: Duration = Duration::from_secs(60);
pub(super) const AGE_EVERY: Duration = Duration::from_secs(3_600);
/// How often memory of sessions that nobody wakes any more is given up.
pub(super) const TIDY_EVERY: Duration = Duration::from_secs(3_600);
/// Events in one pass.
pub(super) const PASS_EVENTS: usize = 512;
/// While every subscription of a task has so many open legs, its further events stay on the board: what
/// is held in memory must not grow with what happens to one task.
pub(super) const TASK_LEGS: usize = 512;
/// How often a task with further events is looked at meanwhile.
pub(super) const BEHIND_RETRY: Duration = Duration::from_millis(250);
/// Watched rows in one sweep.
pub(super) const WATCH_ROWS: usize = 1_024;
/// Watched rows in a tail: more open subscriptions than this wait for the next sweep.
pub(super) const WATCH_FEW: usize = 64;
/// How long a lane rests that another instance holds.
pub(super) const FOREIGN_RETRY: Duration = Duration::from_millis(500);
/// How far the newest event may lie in our future before the clock is not believed (law F4).
pub(super) const CLOCK_SLACK: Duration = Duration::from_secs(300);
/// A time further ahead than this is no time: milliseconds for seconds, or worse.
pub(super) const NONSENSE: Duration = Duration::from_secs(366 * 86_400);
/// No pause is longer: a later time in the ledger was written by a clock that was wrong.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(25 * 3_600);
/// A step back of the clock that is worth following.
pub(super) const CLOCK_STEP: Duration = Duration::from_secs(1);

/// One opening of a board. What was asked of a board before it was opened anew is void: the answer may
/// be about another file (law B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opening {
    /// The board.
    pub board: BoardId,
    /// Which opening it is, over all boards.
    pub number: u64,
}

/// A destination as far as order and exclusion go: one claim in flight for each (law D4).
///
/// Shared, because lines, timers and claims all name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(Arc<Destination>);

impl Lane {
    /// The lane of a destination; a session's lane is that of the session it has become (law W3).
    pub fn new(destination: Destination) -> Self {
        Self(Arc::new(destination))
    }

    /// Where it leads.
    pub fn destination(&self) -> &Destination {
        &self.0
    }

    /// The channel.
    pub fn channel(&self) -> &ChannelName {
        self.0.channel()
    }

    /// The name in the ledger and in logs.
    pub fn name(&self) -> String {
        match &*self.0 {
            Destination::Chat { channel, chat, thread } if thread.is_empty() => {
                format!("{channel} {chat}")
            }
            Destination::Chat { channel, chat, thread } => format!("{channel} {chat} #{thread}"),
            Destination::Session { channel, session } => format!("{channel} {session}"),
        }
    }

    pub(super) fn is_session(&self) -> bool {
        matches!(*self.0, Destination::Session { .. })
    }

    /// Decides the spread of back-offs: no two lanes keep step.
    pub(super) fn seed(&self) -> u64 {
        backoff::seed(&self.name())
    }
}

/// Purposes of timers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    Work,
    Tidy,
    Lane(Lane),
    Read(BoardId),
    Sweep(BoardId),
    Age(BoardId),
    Raise(BoardId),
    Unknown(ClaimId),
    Resettle(ClaimId),
    Channel(ChannelName),
    Swap(ChannelName),
}

/// One open board.
#[derive(Debug)]
pub(super) struct BoardState {
    pub(super) opening: Opening,
    pub(super) start: BoardStart,
    pub(super) usable: bool,
    /// What was open before has been held against the board's rows (law D10); nothing is sent before.
    pub(super) checked: bool,
    /// The read under way shows all that is open, so that the board is checked after it.
    pub(super) checking: bool,
    /// What is held since, whose rows were not looked at yet; and those that the read under way shows.
    pub(super) unlooked: BTreeSet<SubscriptionId>,
    pub(super) looking: BTreeSet<SubscriptionId>,
    /// A read or a plan of its is under way.
    pub(super) busy: bool,
    /// Read again as soon as it is not busy.
    pub(super) again: bool,
    pub(super) sweep: Sweep,
    /// The next read goes on from where the board was read to, and the sweep follows it.
    pub(super) tail_first: bool,
    /// The read under way is a sweep.
    pub(super) sweeping: bool,
    /// A sweep goes on above this event once there is need of more to deliver.
    pub(super) stalled: Option<EventId>,
    pub(super) commits_seen: bool,
    /// The last commit of somebody, for the settler's pace.
    pub(super) last_change: Timestamp,
    /// What follows once the plan under way is durable.
    pub(super) pending: Option<Pending>,
    /// Stamps under way, with what they confirm.
    pub(super) confirming: Vec<SubscriptionPlan>,
    /// Confirmed stamps and ended legs, for the next plan: one plan at a time for each board.
    pub(super) confirmed: Vec<SubscriptionPlan>,
    pub(super) closes: Vec<(LegId, LegState, Detail)>,
    pub(super) raises: BTreeMap<SubscriptionId, Raise>,
    pub(super) raising: Vec<Raise>,
    pub(super) next_write: Timestamp,
    /// Until when the time for reads is used up.
    pub(super) next_read: Timestamp,
    /// A read waits for that time.
    pub(super) deferred: bool,
    /// Aged rows are to be looked for.
    pub(super) age: Option<Aged>,
    /// Deletions of aged rows under way, with what they end.
    pub(super) ageing: Vec<SubscriptionPlan>,
    /// The last subscription that a sweep watched: the next one goes on behind it.
    pub(super) watched: SubscriptionId,
    /// What did not fit into passes.
    pub(super) backlog: Backlog,
    /// The same before the plan under way.
    pub(super) backlog_before: Option<Backlog>,
    pub(super) unserved: BTreeMap<(Why, String), usize>,
    pub(super) asked_accept: bool,
    pub(super) read_failures: u32,
}

impl BoardState {
    pub(super) fn new(opening: Opening, start: BoardStart) -> Self {
        Self {
            opening,
            tail_first: start.position.event > EventId(0),
            start,
            usable: true,
            checked: false,
            checking: false,
            unlooked: BTreeSet::new(),
            looking: BTreeSet::new(),
            busy: false,
            again: false,
            sweep: Sweep::Above(EventId(0)),
            sweeping: false,
            stalled: None,
            commits_seen: true,
            last_change: Timestamp::default(),
            pending: None,
            confirming: Vec::new(),
            confirmed: Vec::new(),
            closes: Vec::new(),
            raises: BTreeMap::new(),
            raising: Vec::new(),
            next_write: Timestamp::default(),
            next_read: Timestamp::default(),
            deferred: false,
            age: None,
            ageing: Vec::new(),
            watched: SubscriptionId(0),
            backlog: Backlog::default(),
            backlog_before: None,
            unserved: BTreeMap::new(),
            asked_accept: false,
            read_failures: 0,
        }
    }

    /// How many subscriptions wait for a look that is to be expected soon: others are in nobody's way.
    pub(super) fn unlooked(&self) -> usize {
        let soon = self.usable && !self.asked_accept && self.read_failures == 0;
        if soon { self.unlooked.len() } else { 0 }
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.usable
            || !(self.busy
                || self.again
                || self.stalled.is_some()
                || self.deferred
                // A failed read is tried again a few times before nobody waits for it any more.
                || (1..=3).contains(&self.read_failures)
                || !self.confirming.is_empty()
                || !self.confirmed.is_empty()
                || !self.closes.is_empty()
                || self.pending.is_some()
                || !self.raises.is_empty()
                || !self.raising.is_empty())
    }
}

/// What follows once a plan is durable. Until then nothing of it has happened.
#[derive(Debug)]
pub(super) struct Pending {
    /// How far the board will have been read.
    pub(super) position: Position,
    /// Stamps to be made, with what they confirm.
    pub(super) stamps: Vec<(RowChange, SubscriptionPlan)>,
    /// Confirmed stamps in the plan.
    pub(super) confirmed: Vec<SubscriptionPlan>,
    /// Legs that the plan ends: bound until then.
    pub(super) closing: Vec<LegId>,
    /// What is to be told then.
    pub(super) notices: Vec<super::Notice>,
}

/// A subscription with open legs.
#[derive(Debug)]
pub(super) struct Sub {
    pub(super) board: BoardId,
    pub(super) slug: Arc<str>,
    pub(super) incarnation: Incarnation,
    pub(super) subscription: Subscription,
}

/// The open legs of one subscription and kind: delivered in order (law D4).
#[derive(Debug)]
pub(super) struct Track {
    pub(super) lane: Lane,
    pub(super) legs: BTreeMap<EventId, Box<OpenLeg>>,
    /// Where it stands among the tracks of its lane.
    pub(super) rank: Option<Rank>,
}

/// An open leg.
#[derive(Debug)]
pub(super) struct OpenLeg {
    pub(super) leg: Leg,
    pub(super) facts: Arc<Facts>,
    /// In a draft or a claim of ours.
    pub(super) bound: bool,
    /// The pinned bytes of its message, where parts of it were accepted in an earlier claim (law D5).
    pub(super) begun: Option<String>,
}

/// What holds a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Free,
    /// A look before a wake is under way.
    Looking,
    /// An intent is being recorded.
    Drafted,
    /// A claim is in flight, or its outcome is unknown.
    Claimed(ClaimId),
    /// Legs turned out not to be ours: the ledger is being read again.
    Reloading,
}

/// One lane with open legs.
#[derive(Debug)]
pub(super) struct LaneState {
    /// Each with an open leg once: there may be very many, and it is the first that matters as a rule.
    pub(super) tracks: BTreeSet<Rank>,
    pub(super) hold: Hold,
    pub(super) not_before: Timestamp,
    /// Since when its session has been seen busy.
    pub(super) busy_since: Option<Timestamp>,
    /// Looks before a wake that failed or saw a running turn, in a row.
    pub(super) looks: u32,
    /// Attempts in a row that had no effect and were no failure.
    pub(super) soft: u32,
    /// Its last attempt failed, and people were told.
    pub(super) failing: bool,
    /// Its place in the line, which is older than its last attempt when that found nobody there.
    pub(super) round: Option<u64>,
}

impl LaneState {
    pub(super) fn new() -> Self {
        Self {
            tracks: BTreeSet::new(),
            hold: Hold::Free,
            not_before: Timestamp::default(),
            busy_since: None,
            looks: 0,
            soft: 0,
            failing: false,
            round: None,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        matches!(self.hold, Hold::Looking | Hold::Drafted | Hold::Reloading)
    }
}

/// An intent on its way into the ledger.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) lane: Lane,
    pub(super) legs: Vec<LegId>,
}

/// A recorded claim.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) lane: Lane,
    pub(super) legs: Vec<LegId>,
    pub(super) parcel: Parcel,
    pub(super) reference: String,
    pub(super) at: Timestamp,
    pub(super) phase: Phase,
    /// An earlier attempt may have had its effect: a refusal now does not dissolve the claim.
    pub(super) haunted: bool,
    /// When it was sent last.
    pub(super) sent_at: Timestamp,
    /// Its time among the wakes of its session, which follow the clock.
    pub(super) woken_at: Timestamp,
    /// The server was seen down after the send: no turn from before is running any more.
    pub(super) seen_down: bool,
    /// Looks that saw its turn running, and what came before them.
    pub(super) tries: u32,
    /// Resends and failed looks in a row while unknown.
    pub(super) misses: u32,
    /// An outcome that waits for the ledger.
    pub(super) unsettled: Option<Settlement>,
}

impl Claim {
    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.phase, Phase::Unknown)
    }

    pub(super) fn is_looking(&self) -> bool {
        self.phase == Phase::Looking
    }
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its request is under way.
    Sending,
    /// Its outcome is on its way into the ledger.
    Settling,
    /// Its outcome is unknown; the next step comes by a timer.
    Unknown,
    /// A look for its reference is under way.
    Looking,
}
