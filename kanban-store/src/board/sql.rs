//! The SQL of a pass, put together once for the columns that a file has.

use std::sync::LazyLock;

use super::{
    Features,
    model::{READ_KINDS, TOLD_KINDS},
};

/// All texts that depend on the file's columns.
///
/// A limit is `? + 0`: SQLite prepares a statement with a bare bound `LIMIT ?` anew each time it is bound.
#[derive(Debug)]
pub(crate) struct Texts {
    /// (after, JSON list of tasks, limit): events of the read kinds above an id, but of these tasks.
    pub tail: String,
    /// (id): one event.
    pub event: String,
    /// (after, limit): events of any kind above an id.
    pub events: String,
    /// (limit): the newest events of any kind, the newest first.
    pub newest: String,
    /// (task, limit): the same, of one task.
    pub newest_of_task: String,
    /// (after, task, limit): the same, of one task.
    pub events_of_task: String,
    /// (after): the events of the read kinds above an id, without runs and payloads.
    pub stamps: String,
    /// (after, task): the same, of one task.
    pub stamps_of_task: String,
    /// The oldest event.
    pub oldest: String,
    /// (up to, above, up to, JSON list of tasks, limit): events above some row's cursor, but of these
    /// tasks; found from the rows.
    pub sweep_by_rows: String,
    /// (above, up to, JSON list of tasks, limit): the same, found from the events.
    pub sweep_by_events: String,
    /// (id, JSON list of tasks, limit): the first events of these tasks that some row of theirs has not
    /// settled, or that are above the id.
    pub unsettled: String,
    /// (JSON object of ids by task, limit): the first events of each task above its id.
    pub resumed: String,
    /// (JSON list of tasks): task and rowid of rows without a cursor, with the newest event that is older.
    pub history: &'static str,
    /// (JSON list of ids): tasks.
    pub tasks: String,
    /// (JSON list of tasks): all their rows.
    pub rows_of_tasks: String,
    /// (rowid, limit): rows after a rowid.
    pub rows_after: String,
    /// (task, platform, chat, thread): one row.
    pub row: String,
    /// (rowid, before, before, limit): aged rows above a rowid.
    pub aged: String,
    /// The highest event id ever given out.
    pub sequence: &'static str,
}

/// (rowid): the row at that rowid or the next one below.
pub(crate) static ROW_BELOW: LazyLock<String> = LazyLock::new(|| {
    let key = ["task_id", "platform", "chat_id", "thread_id", "created_at"].map(bounded).join(", ");
    format!(
        "SELECT rowid, {key} FROM kanban_notify_subs WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1"
    )
});

/// The newest event id.
pub(crate) const NEWEST: &str = "SELECT max(id) FROM task_events";

/// Longest name or key that is read, in bytes; what is longer cannot be served.
pub(crate) const NAME_BYTES: usize = 4_096;
/// So much of a payload is read in a pass, in bytes.
const PAYLOAD_HEAD: usize = 16_384;
/// The longest payload in a list for people, in bytes.
const LISTED_PAYLOAD: usize = 262_144;
/// So much of each text of a card is read in a pass, in bytes.
const CARD_HEAD: usize = 8_192;
/// SQLite reads a text as a whole, also for its beginning: of longer ones, in bytes, not even that.
const READ_MOST: usize = 4_194_304;

/// A column of names; in the place of what is too long stands a blob that is too long.
fn bounded(column: &str) -> String {
    if column == "NULL" {
        return column.to_owned();
    }
    let too_long = NAME_BYTES.saturating_add(1);
    format!("iif(octet_length({column}) > {NAME_BYTES}, zeroblob({too_long}), {column})")
}

/// The first `bytes` of a column; of a longer text perhaps with a broken last character.
fn head(column: &str, bytes: usize) -> String {
    format!(
        "CASE WHEN octet_length({column}) > {READ_MOST} THEN NULL WHEN octet_length({column}) > \
         {bytes} AND typeof({column}) = 'text' THEN CAST(substr(CAST({column} AS BLOB), 1, {bytes}) \
         AS TEXT) WHEN octet_length({column}) > {bytes} THEN NULL ELSE {column} END"
    )
}

/// A column whose longer values are NULL.
fn whole(column: &str, bytes: usize) -> String {
    format!("iif(octet_length({column}) > {bytes}, NULL, {column})")
}

impl Texts {
    /// For a file with these columns.
    pub(crate) fn new(features: &Features) -> Self {
        let column = |there: bool, name: &'static str| if there { name } else { "NULL" };
        let kinds = quoted(&READ_KINDS);
        let run = if features.run_id { bounded("e.run_id") } else { "NULL".to_owned() };
        let event_with = |payload: &str| {
            format!(
                "SELECT e.id, {}, {}, {run}, {payload}, {}, octet_length(e.payload) FROM \
                 task_events e",
                bounded("e.task_id"),
                bounded("e.kind"),
                bounded("e.created_at"),
            )
        };
        let stamp = format!(
            "SELECT e.id, {}, {}, NULL, NULL, {}, NULL FROM task_events e",
            bounded("e.task_id"),
            bounded("e.kind"),
            bounded("e.created_at"),
        );
        let event = event_with(&head("e.payload", PAYLOAD_HEAD));
        let listed = event_with(&whole("e.payload", LISTED_PAYLOAD));
        let single = event_with(&whole("e.payload", READ_MOST));
        let row = format!(
            "SELECT rowid, {}, {}, {}, {}, {}, {}, {}, {}, {} FROM kanban_notify_subs",
            bounded("task_id"),
            bounded("platform"),
            bounded("chat_id"),
            bounded("thread_id"),
            bounded("created_at"),
            bounded("last_event_id"),
            bounded(column(features.notifier_profile, "notifier_profile")),
            bounded("user_id"),
            bounded(column(features.delivery_mode, "delivery_mode")),
        );
        let task = format!(
            "SELECT {}, {}, {}, {}, {}, {}, {} FROM tasks",
            bounded("id"),
            head("title", CARD_HEAD),
            head("assignee", CARD_HEAD),
            head("status", CARD_HEAD),
            head("result", CARD_HEAD),
            bounded(column(features.session_id, "session_id")),
            bounded(column(features.max_runtime_seconds, "max_runtime_seconds")),
        );
        let apart = "e.task_id NOT IN (SELECT j.value FROM json_each(?) j)";
        Self {
            tail: format!(
                "{event} WHERE e.id > ? AND e.kind IN ({kinds}) AND {apart} ORDER BY e.id LIMIT ? + 0"
            ),
            event: format!("{single} WHERE e.id = ?"),
            events: format!("{listed} WHERE e.id > ? ORDER BY e.id LIMIT ? + 0"),
            newest: format!("{listed} ORDER BY e.id DESC LIMIT ? + 0"),
            newest_of_task: format!("{listed} WHERE e.task_id = ? ORDER BY e.id DESC LIMIT ? + 0"),
            // The unary plus keeps SQLite from walking all events above the id.
            events_of_task: format!(
                "{listed} WHERE +e.id > ? AND e.task_id = ? ORDER BY e.id LIMIT ? + 0"
            ),
            stamps: format!("{stamp} WHERE e.id > ? AND e.kind IN ({kinds}) ORDER BY e.id"),
            stamps_of_task: format!(
                "{stamp} WHERE +e.id > ? AND e.task_id = ? AND e.kind IN ({kinds}) ORDER BY e.id"
            ),
            oldest: format!("{single} ORDER BY e.id LIMIT 1"),
            // CROSS JOIN fixes which table drives: without statistics SQLite always starts from
            // the events, whose number grows for ever. The caller picks the smaller side.
            sweep_by_rows: format!(
                "{event} WHERE e.id IN (SELECT u.id FROM kanban_notify_subs s CROSS JOIN \
                 task_events u ON u.task_id = s.task_id WHERE s.last_event_id < ? AND \
                 u.id > s.last_event_id AND u.id > ? AND u.id <= ? AND u.kind IN ({kinds})) \
                 AND {apart} ORDER BY e.id LIMIT ? + 0"
            ),
            sweep_by_events: format!(
                "{event} WHERE e.id > ? AND e.id <= ? AND e.kind IN ({kinds}) AND EXISTS (SELECT 1 \
                 FROM kanban_notify_subs s WHERE s.task_id = e.task_id AND \
                 s.last_event_id < e.id) AND {apart} ORDER BY e.id LIMIT ? + 0"
            ),
            // Ids first: what is cut off has been neither read nor sorted as a whole.
            unsettled: format!(
                "{event} WHERE e.id IN (SELECT u.id FROM (SELECT j.value AS task, min(?, \
                 min(coalesce(s.last_event_id, 9223372036854775807))) AS floor FROM json_each(?) j \
                 LEFT JOIN kanban_notify_subs s ON s.task_id = j.value GROUP BY j.value) t CROSS \
                 JOIN task_events u ON u.task_id = t.task WHERE u.id > t.floor AND u.kind IN \
                 ({kinds}) ORDER BY u.id LIMIT ? + 0) ORDER BY e.id"
            ),
            resumed: format!(
                "{event} WHERE e.id IN (SELECT u.id FROM json_each(?) j CROSS JOIN task_events u ON \
                 u.task_id = j.key WHERE u.id > j.value AND u.kind IN ({kinds}) ORDER BY u.id \
                 LIMIT ? + 0) ORDER BY e.id"
            ),
            // By the index over time: the newest of a history of any length is one look-up.
            history: "SELECT s.task_id, s.rowid, (SELECT e.id FROM task_events e WHERE e.task_id = \
                 s.task_id AND e.created_at < s.created_at ORDER BY e.created_at DESC, e.id DESC \
                 LIMIT 1) FROM json_each(?) j CROSS JOIN kanban_notify_subs s ON s.task_id = j.value \
                 WHERE s.last_event_id = 0",
            tasks: format!("{task} WHERE id IN (SELECT value FROM json_each(?))"),
            rows_of_tasks: format!(
                "{row} WHERE task_id IN (SELECT value FROM json_each(?)) ORDER BY rowid"
            ),
            rows_after: format!("{row} WHERE rowid > ? ORDER BY rowid LIMIT ? + 0"),
            row: format!(
                "{row} WHERE task_id = ? AND platform = ? AND chat_id = ? AND thread_id = ?"
            ),
            aged: format!(
                "{row} WHERE rowid > ? AND created_at < ? AND {} ORDER BY rowid LIMIT ? + 0",
                aged()
            ),
            sequence: if features.sequence {
                "SELECT seq FROM sqlite_sequence WHERE name = 'task_events'"
            } else {
                "SELECT NULL"
            },
        }
    }
}

/// (before): whether nothing has happened to a row's task since, or is to be told of it. Tasks that are
/// at work, or wait for it, keep their rows.
pub(crate) fn aged() -> String {
    format!(
        "EXISTS (SELECT 1 FROM tasks t WHERE t.id = kanban_notify_subs.task_id AND t.status IN \
         ('done', 'blocked')) AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.task_id = \
         kanban_notify_subs.task_id AND (e.created_at >= ? OR {}))",
        untold()
    )
}

/// Whether the event `e` is above a row's cursor and worth telling.
pub(crate) fn untold() -> String {
    format!("(e.id > kanban_notify_subs.last_event_id AND e.kind IN ({}))", quoted(&TOLD_KINDS))
}

/// Names as an SQL list of literals. They are our own constants, without quotes in them.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}
