//! Rows of the ledger as plain data. Times are UTC microseconds, flags are 0 or 1.

use diesel::prelude::*;

use super::schema::{boards, claims, events, legs, pauses, subscriptions};

/// A board, and how far it was read.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Identifiable)]
#[diesel(table_name = boards, check_for_backend(diesel::sqlite::Sqlite))]
pub struct BoardRow {
    /// The id, minted once.
    pub id: i64,
    /// The canonical path.
    pub path: String,
    /// The board's name.
    pub slug: String,
    /// How many files there were behind the path.
    pub incarnation: i64,
    /// The oldest event at the last look.
    pub oldest_event: Option<i64>,
    /// Its print.
    pub oldest_hash: Option<String>,
    /// The highest event id ever given out, at the last look.
    pub sequence: i64,
    /// The newest event that was read.
    pub position_event: i64,
    /// Its print.
    pub position_hash: Option<String>,
    /// The highest rowid of the subscriptions that was read.
    pub position_rowid: i64,
    /// That row's print.
    pub position_row_print: Option<String>,
    /// When this row was last changed.
    pub updated_at: i64,
}

/// The copy of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Identifiable)]
#[diesel(table_name = subscriptions, check_for_backend(diesel::sqlite::Sqlite))]
pub struct SubscriptionRow {
    /// The ledger's id.
    pub id: i64,
    /// The board.
    pub board_id: i64,
    /// The board's incarnation that the row belongs to.
    pub incarnation: i64,
    /// Key: the task.
    pub task: String,
    /// Key: the platform, as stored on the board.
    pub platform: String,
    /// Key: the chat or raw session.
    pub chat: String,
    /// Key: the thread.
    pub thread: String,
    /// When the row was made.
    pub created_at: i64,
    /// The Hermes profile it belongs to.
    pub profile: String,
    /// Whether we stamped it.
    pub adopted: i32,
    /// What stood there before; NULL is NULL there, if `adopted`.
    pub previous_owner: Option<String>,
    /// What it asks for.
    pub mode: String,
    /// Settled before we had it.
    pub baseline: i64,
    /// Judged up to here.
    pub seen: i64,
    /// Settled up to here.
    pub settled: i64,
    /// The board's cursor, as last seen or raised.
    pub board_cursor: i64,
    /// The task's `archived` event, once judged.
    pub archived_event: Option<i64>,
    /// `offered`, `live`, `gone` or `released`.
    pub life: String,
    /// When this row was last changed.
    pub updated_at: i64,
}

/// What is told of an event.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = events, check_for_backend(diesel::sqlite::Sqlite))]
pub struct EventRow {
    /// The board.
    pub board_id: i64,
    /// Its incarnation.
    pub incarnation: i64,
    /// The event's id there.
    pub event: i64,
    /// Its kind's name.
    pub kind: String,
    /// The task.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// Who worked on it.
    pub assignee: Option<String>,
    /// The worker's hand-off.
    pub handoff: Option<String>,
    /// The task's own session.
    pub session: Option<String>,
    /// Small facts, as a JSON list of pairs.
    pub notes: String,
    /// When the event was written.
    pub written_at: i64,
    /// Its print.
    pub print: String,
}

/// One subscription's need for one event.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Identifiable)]
#[diesel(table_name = legs, check_for_backend(diesel::sqlite::Sqlite))]
pub struct LegRow {
    /// The ledger's id.
    pub id: i64,
    /// Whose need it is.
    pub subscription_id: i64,
    /// For which event.
    pub event: i64,
    /// `ping` or `wake`.
    pub kind: String,
    /// Where it stands.
    pub state: String,
    /// The claim that carries it, or the last one that did.
    pub claim_id: Option<i64>,
    /// Not to be claimed before.
    pub due_at: i64,
    /// When it was planned.
    pub planned_at: i64,
    /// Attempts that failed.
    pub failures: i32,
    /// Turns that failed.
    pub failed_turns: i32,
    /// Which repetition on purpose this is.
    pub epoch: i32,
    /// Whether it must travel alone.
    pub alone: i32,
    /// Whether an earlier attempt may have had its effect.
    pub repeat: i32,
    /// Whether an operator asked for it again.
    pub replay: i32,
    /// How many parts of its message were accepted.
    pub part: i32,
    /// Whether it goes as plain text.
    pub plain: i32,
    /// Whether it goes to the chat above its thread.
    pub parent: i32,
    /// Whether an operator wants to see it no more.
    pub dropped: i32,
    /// Why it is where it is.
    pub reason: String,
    /// The last verdict.
    pub verdict: String,
    /// When it was first in a claim.
    pub first_attempt_at: Option<i64>,
    /// When it was last in a claim.
    pub last_attempt_at: Option<i64>,
    /// When this row was last changed.
    pub updated_at: i64,
}

/// One request, pinned.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Identifiable)]
#[diesel(table_name = claims, check_for_backend(diesel::sqlite::Sqlite))]
pub struct ClaimRow {
    /// The ledger's id.
    pub id: i64,
    /// The instance that answers for it.
    pub instance: String,
    /// The lane it holds while it is open.
    pub lane: String,
    /// `chat` or `session`.
    pub target: String,
    /// The channel.
    pub channel: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// The idempotency key.
    pub key: String,
    /// The reference in the text; empty for pings.
    pub reference: String,
    /// The bytes; empty once they are pruned.
    pub body: String,
    /// How many legs it carried.
    pub legs: i32,
    /// `open` or `over`.
    pub state: String,
    /// The last verdict; empty before the first.
    pub verdict: String,
    /// The verdict's detail.
    pub detail: String,
    /// When it was recorded.
    pub intended_at: i64,
    /// When it was over.
    pub settled_at: Option<i64>,
}

/// A channel that rests.
#[derive(
    Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset, serde::Serialize,
)]
#[diesel(table_name = pauses, check_for_backend(diesel::sqlite::Sqlite))]
pub struct PauseRow {
    /// The channel.
    pub channel: String,
    /// Until when.
    pub until: i64,
    /// Why.
    pub reason: String,
    /// Whether its credential is at fault.
    pub credential: i32,
    /// When it was set.
    pub updated_at: i64,
}
