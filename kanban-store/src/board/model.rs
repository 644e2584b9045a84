//! What a pass asks for and answers with: plain data, without any of the domain's meaning.

use super::Features;

/// The kinds of `task_events` that a pass reads; all others are stepped over.
pub const READ_KINDS: [&str; 11] = [
    "completed",
    "blocked",
    "gave_up",
    "crashed",
    "timed_out",
    "status",
    "review_requested",
    "changes_requested",
    "block_loop_detected",
    "archived",
    "unblocked",
];

/// The kinds that somebody is told of: a row with one of them above its cursor is not deleted (law S3).
pub const TOLD_KINDS: [&str; 9] = [
    "completed",
    "blocked",
    "gave_up",
    "crashed",
    "timed_out",
    "status",
    "review_requested",
    "changes_requested",
    "block_loop_detected",
];

/// How far a board has been read. The default is the position before everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The newest event id that was looked at; 0 for none.
    pub event: i64,
    /// That event's print, when the event was there.
    pub event_print: Option<String>,
    /// The rowid of the newest subscription that was returned; 0 for none.
    pub rowid: i64,
    /// Prints of that row and of some before it. Opaque: hand it back as it was.
    pub row_print: Option<String>,
}

/// What to read in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassQuery {
    /// Read what is after this.
    pub after: Mark,
    /// Also look for events that are above some row's cursor and above this id.
    ///
    /// With `after.event` 0 such a pass is a *first sight*: see [`Board::read`](super::Board::read).
    pub sweep_above: Option<i64>,
    /// At most so many events are looked for, and at most so many new rows; at least 1. With the
    /// tasks found come their other events that some row has not settled, at most 1 024.
    pub limit: usize,
    /// Tasks with events that did not fit into an earlier pass: above which id they begin, or `None` to
    /// leave the task out of this pass.
    pub resume: Vec<(String, Option<i64>)>,
    /// Rows whose present state is wanted besides.
    pub watch: Vec<RowKey>,
    /// Rows that are wanted for their age besides.
    pub aged: Option<AgedQuery>,
}

/// Rows of tasks that are done or blocked, of which nothing is to be told, and which are older than a
/// time themselves, as their tasks' last events are (law S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgedQuery {
    /// The time, in Unix seconds.
    pub before: i64,
    /// Only rows above this rowid.
    pub above: i64,
    /// At most so many.
    pub limit: usize,
}

/// What a pass saw, all from one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassRows {
    /// Events of [`READ_KINDS`], ascending by id, each once. Of each row in `rows` every one above
    /// its cursor is here, so that a row can be judged from one pass; but see `parts`.
    pub events: Vec<EventRow>,
    /// Tasks of which not all of that is here.
    pub parts: Vec<PartRow>,
    /// The tasks of those events, where they are still there.
    pub tasks: Vec<TaskRow>,
    /// All rows of those tasks, and new rows; each once, ascending by rowid.
    pub rows: Vec<SubscriptionRow>,
    /// For each watched key the row, if it is there and readable.
    pub watched: Vec<(RowKey, Option<SubscriptionRow>)>,
    /// Aged rows, if they were wanted; ascending by rowid.
    pub aged: Vec<SubscriptionRow>,
    /// Where the next pass goes on.
    pub next: Mark,
    /// Whether `limit` cut events or new rows: read on at once from `next`.
    pub more: bool,
    /// When the sweep was cut: the id above which the next one starts.
    pub sweep_from: Option<i64>,
    /// The columns of the file at the time of this pass.
    pub features: Features,
    /// The newest event id on the board; 0 for none.
    pub newest: i64,
    /// What cannot be read, by name, with the reason.
    pub spoilt: Vec<(String, String)>,
    /// Why the file is not the one that `after` was read from: nothing else was read (law B6).
    pub replaced: Option<String>,
}

/// Which events of a task a pass shows, when it does not show all that is unsettled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRow {
    /// The task.
    pub task: String,
    /// Those above this id, where an earlier pass has shown the others.
    pub above: Option<i64>,
    /// Those up to this id: there may be later ones.
    pub up_to: Option<i64>,
    /// For each of its rows without a cursor, by rowid, the newest event that is older than the row.
    pub history: Vec<(i64, i64)>,
}

/// One row of `task_events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its id.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Its kind, one of [`READ_KINDS`].
    pub kind: String,
    /// The attempt it belongs to.
    pub run: Option<i64>,
    /// The payload as it is stored, or its first 16 KiB; `None` for NULL, for what is not text, and for
    /// what is longer than 4 MiB.
    pub payload: Option<String>,
    /// The length of the payload in bytes, when it is longer than what is here.
    pub payload_cut: Option<i64>,
    /// When it was written, in Unix seconds.
    pub created_at: i64,
}

/// What of a task is told with its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who it is assigned to.
    pub assignee: Option<String>,
    /// Its status.
    pub status: String,
    /// Its result, or the first 8 KiB of it; so for all texts here.
    pub result: Option<String>,
    /// The session that created it, where the file has the column.
    pub session_id: Option<String>,
    /// Its time limit in seconds, where the file has the column.
    pub max_runtime_seconds: Option<i64>,
}

/// The key of a row of `kanban_notify_subs`, as stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// `task_id`.
    pub task: String,
    /// `platform`.
    pub platform: String,
    /// `chat_id`.
    pub chat: String,
    /// `thread_id`; empty for none.
    pub thread: String,
}

impl std::fmt::Display for RowKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { task, platform, chat, thread } = self;
        write!(f, "{task}/{platform}/{chat}/{thread}")
    }
}

/// One row of `kanban_notify_subs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRow {
    /// SQLite's rowid; reused after the newest row was deleted.
    pub rowid: i64,
    /// Its key.
    pub key: RowKey,
    /// When it was made, in Unix seconds; with the key, its identity.
    pub created_at: i64,
    /// `last_event_id`.
    pub cursor: i64,
    /// `notifier_profile` as stored: `None` is NULL or no such column, and differs from `''`.
    pub owner: Option<String>,
    /// `user_id`.
    pub user: Option<String>,
    /// `delivery_mode`; `None` where the file has no such column or the value is no text.
    pub mode: Option<String>,
}

/// One change to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowEdit {
    /// Raise the cursor, and `last_ping_event_id` where the column exists; never lower either.
    Raise {
        /// The row.
        key: RowKey,
        /// Its `created_at` in Unix seconds.
        created_at: i64,
        /// The new cursor.
        to: i64,
    },
    /// Set `notifier_profile` if it still is `from`; `None` is NULL.
    Stamp {
        /// The row.
        key: RowKey,
        /// What was seen.
        from: Option<String>,
        /// What is to be there.
        to: Option<String>,
    },
    /// Delete the row, unless an event of [`TOLD_KINDS`] is above its cursor.
    Delete {
        /// The row.
        key: RowKey,
        /// Its `created_at` in Unix seconds.
        created_at: i64,
        /// Only while it is [`AgedQuery`] so.
        aged: Option<i64>,
    },
}

/// What became of a [`RowEdit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// Done, or already so.
    Won,
    /// The row is there and is not what was expected.
    Lost,
    /// No row has that key.
    Gone,
}
