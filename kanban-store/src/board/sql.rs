//! The SQL of a pass, put together once for the columns that a file has.

use super::{
    Features,
    model::{READ_KINDS, TOLD_KINDS},
};

/// All texts that depend on the file's columns.
#[derive(Debug)]
pub(crate) struct Texts {
    /// (after, limit): events of the read kinds above an id.
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
    /// The oldest event.
    pub oldest: String,
    /// (up to, above, up to, limit): events above some row's cursor, found from the rows.
    pub sweep_by_rows: String,
    /// (above, up to, limit): the same, found from the events.
    pub sweep_by_events: String,
    /// (id, JSON list of tasks): events of these tasks that some row of theirs has not settled, and
    /// those above the id.
    pub unsettled: String,
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
pub(crate) const ROW_BELOW: &str = "SELECT rowid, task_id, platform, chat_id, thread_id, \
     created_at FROM kanban_notify_subs WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1";

/// The newest event id.
pub(crate) const NEWEST: &str = "SELECT max(id) FROM task_events";

impl Texts {
    /// For a file with these columns.
    pub(crate) fn new(features: &Features) -> Self {
        let column = |there: bool, name: &'static str| if there { name } else { "NULL" };
        let kinds = quoted(&READ_KINDS);
        let columns = format!(
            "e.id, e.task_id, e.kind, {}, e.payload, e.created_at",
            column(features.run_id, "e.run_id")
        );
        let event = format!("SELECT {columns} FROM task_events e");
        let row = format!(
            "SELECT rowid, task_id, platform, chat_id, thread_id, created_at, last_event_id, {}, \
             user_id, {} FROM kanban_notify_subs",
            column(features.notifier_profile, "notifier_profile"),
            column(features.delivery_mode, "delivery_mode"),
        );
        let task = format!(
            "SELECT id, title, assignee, status, substr(result, 1, 2000), {}, {} FROM tasks",
            column(features.session_id, "session_id"),
            column(features.max_runtime_seconds, "max_runtime_seconds"),
        );
        Self {
            tail: format!("{event} WHERE e.id > ? AND e.kind IN ({kinds}) ORDER BY e.id LIMIT ?"),
            event: format!("{event} WHERE e.id = ?"),
            events: format!("{event} WHERE e.id > ? ORDER BY e.id LIMIT ?"),
            newest: format!("{event} ORDER BY e.id DESC LIMIT ?"),
            newest_of_task: format!("{event} WHERE e.task_id = ? ORDER BY e.id DESC LIMIT ?"),
            // The unary plus keeps SQLite from walking all events above the id.
            events_of_task: format!(
                "{event} WHERE +e.id > ? AND e.task_id = ? ORDER BY e.id LIMIT ?"
            ),
            oldest: format!("{event} ORDER BY e.id LIMIT 1"),
            // CROSS JOIN fixes which table drives: without statistics SQLite always starts from
            // the events, whose number grows for ever. The caller picks the smaller side.
            sweep_by_rows: format!(
                "{event} WHERE e.id IN (SELECT u.id FROM kanban_notify_subs s CROSS JOIN \
                 task_events u ON u.task_id = s.task_id WHERE s.last_event_id < ? AND \
                 u.id > s.last_event_id AND u.id > ? AND u.id <= ? AND u.kind IN ({kinds})) \
                 ORDER BY e.id LIMIT ?"
            ),
            sweep_by_events: format!(
                "{event} WHERE e.id > ? AND e.id <= ? AND e.kind IN ({kinds}) AND EXISTS (SELECT 1 \
                 FROM kanban_notify_subs s WHERE s.task_id = e.task_id AND \
                 s.last_event_id < e.id) ORDER BY e.id LIMIT ?"
            ),
            unsettled: format!(
                "SELECT {columns} FROM (SELECT j.value AS task, min(?, min(coalesce(\
                 s.last_event_id, 9223372036854775807))) AS floor FROM json_each(?) j LEFT JOIN \
                 kanban_notify_subs s ON s.task_id = j.value GROUP BY j.value) t CROSS JOIN \
                 task_events e ON e.task_id = t.task WHERE e.id > t.floor AND e.kind IN ({kinds})"
            ),
            tasks: format!("{task} WHERE id IN (SELECT value FROM json_each(?))"),
            rows_of_tasks: format!(
                "{row} WHERE task_id IN (SELECT value FROM json_each(?)) ORDER BY rowid"
            ),
            rows_after: format!("{row} WHERE rowid > ? ORDER BY rowid LIMIT ?"),
            row: format!(
                "{row} WHERE task_id = ? AND platform = ? AND chat_id = ? AND thread_id = ?"
            ),
            aged: format!(
                "{row} WHERE rowid > ? AND created_at < ? AND {} ORDER BY rowid LIMIT ?",
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
