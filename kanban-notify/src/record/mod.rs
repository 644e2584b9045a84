//! What passes through the ports: passes over boards, and batches for the ledger.

mod claim;

use std::{collections::BTreeMap, time::Duration};

pub use claim::{Intent, IntentResult, LegOutcome, OpenClaim, Pause, Settlement};

use crate::{
    event::{Event, Kind, Task},
    ids::{BoardId, ChannelName, EventId, Incarnation, LegId, SubscriptionId},
    leg::{Leg, LegKind, LegState},
    subscription::{Life, Mode, PreviousOwner, Row, SubKey, Subscription},
    time::Timestamp,
    verdict::Detail,
};

/// A board that is open and whose identity is settled (law B6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardStart {
    /// The ledger's id.
    pub id: BoardId,
    /// Its slug, for people.
    pub slug: String,
    /// Which file behind the path this is.
    pub incarnation: Incarnation,
    /// Where to go on reading; the zero position on first sight.
    pub position: Position,
    /// Whether the file has `delivery_mode` (law O2).
    pub has_delivery_mode: bool,
}

/// How far a board has been read; kept in the ledger with what was planned from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The newest event id that was looked at.
    pub event: EventId,
    /// That event's print, when the row was there.
    pub event_print: Option<EventPrint>,
    /// The highest rowid of the subscriptions table.
    pub rowid: i64,
    /// That row's print: a reused rowid is told from the old one by it.
    pub row_print: Option<String>,
}

/// Enough of an event to tell it from another one with the same id (law B6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPrint {
    /// The event's id.
    pub id: EventId,
    /// Hash over task, kind, run, time and payload, as lower-case hex.
    pub hash: String,
}

/// What to read from a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassRequest {
    /// Read what is after this.
    pub after: Position,
    /// Also look for every unseen event of every row, whatever the position says (law F2).
    pub sweep: Sweep,
    /// At most so many events; a pass with more of them says `more`.
    pub limit: usize,
    /// Tasks of which earlier passes showed a [`Part`]: above which event to go on, or `None` to leave
    /// the task out of this pass. A task with new rows is shown from its beginning all the same.
    pub resume: Vec<(String, Option<EventId>)>,
    /// Rows whose present state is wanted besides.
    pub watch: Vec<SubKey>,
    /// Also look for rows to which nothing has happened for long (law S3).
    pub aged: Option<Aged>,
}

/// Rows whose task is done or blocked, with nothing to tell and no event since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged {
    /// The last event, and the row itself, are older than this.
    pub before: Timestamp,
    /// Only rows above this rowid.
    pub above: i64,
}

/// Aged rows that a pass saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgedRows {
    /// Before when their last event was.
    pub before: Timestamp,
    /// The first of them, ascending by rowid, [`AGED_ROWS`] at most.
    pub rows: Vec<Row>,
}

/// The most rows that a pass shows for their age.
pub const AGED_ROWS: usize = 128;

/// Whether and from where a pass sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Tail only.
    No,
    /// Unseen events of rows, with ids above this one.
    Above(EventId),
}

/// What one pass over a board saw, all from one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Events of [`Kind::READ`] kinds, ascending by id: those after the position with every unseen one of
    /// new rows, or those that the sweep found unseen.
    pub events: Vec<Event>,
    /// Tasks of which not every unseen event is among `events`.
    pub parts: Vec<Part>,
    /// The tasks of those events, where the rows are still there.
    pub tasks: Vec<Task>,
    /// Rows: of the events' tasks, new by rowid, or all of them for a sweep's events.
    pub rows: Vec<Row>,
    /// Rows above this rowid may be new: every unseen event of theirs is among `events`.
    pub complete_above: i64,
    /// The watched keys, with their present rows.
    pub watched: Vec<(SubKey, Option<Row>)>,
    /// Aged rows, if they were asked for.
    pub aged: Option<AgedRows>,
    /// Where the next pass goes on.
    pub next: Position,
    /// Whether `limit` cut the events: read on at once.
    pub more: bool,
    /// The next sweep's start, when a sweep was cut.
    pub sweep_from: Option<EventId>,
    /// Whether the file has `delivery_mode` now (it may gain it while we run).
    pub has_delivery_mode: bool,
    /// The newest event id of the board.
    pub newest: EventId,
    /// Rows that cannot be read, by key as far as it is known, with the reason.
    pub spoilt: Vec<(String, Detail)>,
    /// How the file differs from the one whose position was given: read nothing, begin anew (law B6).
    pub replaced: Option<Detail>,
}

/// Which unseen events of a task a pass shows, when it does not show them all: those in a range, without
/// a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The task.
    pub task: String,
    /// The range begins above this event.
    pub above: Option<EventId>,
    /// It ends here, and there may be later events.
    pub up_to: Option<EventId>,
    /// By rowid, for rows without a cursor: the newest event that is older than the row (law F3).
    pub history: Vec<(i64, EventId)>,
}

/// One change to a row of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// Raise the cursor (and `last_ping_event_id`, where the column exists) to `to`, never lower it.
    Raise {
        /// The row.
        key: SubKey,
        /// Its `created_at`: another row under the same key is another subscription.
        created_at: Timestamp,
        /// The new cursor.
        to: EventId,
    },
    /// Set `notifier_profile`, if it still is what was seen (law O2).
    Stamp {
        /// The row.
        key: SubKey,
        /// What was seen there; `None` is SQL NULL.
        from: Option<String>,
        /// The new owner; `None` is SQL NULL.
        to: Option<String>,
    },
    /// Delete the row, if no deliverable event is above its cursor (law S3).
    Delete {
        /// The row.
        key: SubKey,
        /// Its `created_at`.
        created_at: Timestamp,
        /// Only if it is still [`Aged`] so.
        aged: Option<Timestamp>,
    },
}

/// What became of a [`RowChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// Done, or already so.
    Won,
    /// The row is there and is not what was expected.
    Lost,
    /// The row is not there any more.
    Gone,
}

/// What a pass decided, for one transaction of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The board.
    pub board: BoardId,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// The position reached.
    pub position: Position,
    /// Copies to make or update; the key and `created_at` say which.
    pub subscriptions: Vec<SubscriptionPlan>,
    /// Open legs, by id, that end unsent.
    pub closes: Vec<(LegId, LegState, Detail)>,
}

/// One subscription in a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionPlan {
    /// The row's key.
    pub key: SubKey,
    /// The row's `created_at`.
    pub created_at: Timestamp,
    /// The profile whose server or bot it belongs to.
    pub profile: String,
    /// What stood in `notifier_profile` before we stamped it. Never overwritten once set.
    pub adopted: Option<PreviousOwner>,
    /// What the row asks for.
    pub mode: Mode,
    /// The baseline, used only when the copy is made.
    pub baseline: EventId,
    /// Events up to here are judged. Only ever raised.
    pub seen: EventId,
    /// The board's cursor of the row. Our `settled` is raised to it when no open leg is at or below it.
    pub cursor: EventId,
    /// The task's `archived` event, when the pass has it: its last (law S3).
    pub archived: Option<EventId>,
    /// Its life from now on.
    pub life: Life,
    /// Legs; one that exists already (same event and kind) is left as it is and returned.
    pub legs: Vec<NewLeg>,
}

/// A leg to be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLeg {
    /// The event and what is told of it.
    pub facts: Facts,
    /// How it is met.
    pub kind: LegKind,
    /// [`LegState::Planned`], or [`LegState::Expired`] or [`LegState::Parked`] with a reason.
    pub state: LegState,
    /// Why it is not planned; empty otherwise.
    pub reason: Detail,
    /// When it was planned.
    pub planned_at: Timestamp,
}

/// An event with all that its texts need, kept in the ledger so that it outlives the board row.
///
/// Every text in it is masked and bounded already: secrets of common shapes never reach the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The event's id.
    pub event: EventId,
    /// What happened.
    pub kind: Kind,
    /// The task.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Who worked on it.
    pub assignee: Option<String>,
    /// The worker's hand-off: first line of the summary, else of the result, or the reason or error.
    pub handoff: Option<String>,
    /// The task's own session; a destination only under `wake.task_session` (law W2).
    pub session: Option<String>,
    /// Kind-specific small facts: status, limit, reviewer, recurrences, …
    pub notes: Vec<(String, String)>,
    /// When the event was written.
    pub at: Timestamp,
    /// The event's print.
    pub print: String,
}

impl Facts {
    /// What a message is about: the title, or the task's id where it has none.
    pub fn subject(&self) -> &str {
        if self.title.is_empty() { &self.task } else { &self.title }
    }
}

/// What the ledger made of a [`Plan`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// The copies, in the plan's order, each with its legs that are open now.
    pub owed: Vec<Owed>,
    /// Cursors that may be raised without any send.
    pub raises: Vec<Raise>,
}

/// What is owed to one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// The board.
    pub board: BoardId,
    /// The board's slug, for texts.
    pub slug: String,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// The copy.
    pub subscription: Subscription,
    /// Its open legs, ascending by event.
    pub legs: Vec<OwedLeg>,
}

/// An open leg and what is told of its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedLeg {
    /// The leg.
    pub leg: Leg,
    /// Its event.
    pub facts: Facts,
    /// The pinned bytes of its message, where parts of it were accepted already (law D5).
    pub begun: Option<String>,
}

/// A cursor that may be raised: everything up to `to` is settled in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The board.
    pub board: BoardId,
    /// The copy.
    pub subscription: SubscriptionId,
    /// The row's key.
    pub key: SubKey,
    /// The row's `created_at`.
    pub created_at: Timestamp,
    /// The new cursor.
    pub to: EventId,
    /// Whether the task's `archived` event is settled with it: the row may go (law S3).
    pub archived: bool,
}

/// Everything open in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Copies that have an open leg, with those legs: those that are held and those in a claim; and where
    /// there are few of them, all.
    pub owed: Vec<Owed>,
    /// The others, by the channels that they need, in the order in which their first leg was planned.
    pub waiting: BTreeMap<ChannelName, Vec<SubscriptionId>>,
    /// Claims without an outcome whose instance is dead; they are this instance's from now on.
    pub claims: Vec<OpenClaim>,
    /// Cursors that are settled in the ledger and not raised on the board.
    pub raises: Vec<Raise>,
    /// Pauses in force.
    pub pauses: Vec<Pause>,
    /// Known aliases: channel, raw session, resolved session.
    pub aliases: Vec<(ChannelName, String, String)>,
    /// Wakes posted lately, oldest first.
    pub recent_wakes: Vec<RecentWake>,
    /// When the newest claim was recorded: the clock cannot be behind it (law F4).
    pub newest_claim: Timestamp,
    /// Where the ledger is an older copy of the one that was last in use: what was planned before this
    /// may have been delivered since (law D10).
    pub older: Option<Timestamp>,
}

/// A wake that was posted lately: it counts for budgets (law W5), and what it left behind in its
/// session is known for what it is (law W4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentWake {
    /// The channel.
    pub channel: ChannelName,
    /// The resolved session.
    pub session: String,
    /// When its intent was recorded.
    pub at: Timestamp,
    /// Its reference, when its turn is known to have failed.
    pub failed: Option<String>,
}

/// How long the ledger's `recent_wakes` reach back.
pub const WAKE_BUDGET_WINDOW: Duration = Duration::from_secs(3_600);
