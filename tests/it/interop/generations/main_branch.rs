//! The shape that Hermes' main branch gives its file, in SQL of our own.

use std::path::Path;

use diesel::connection::SimpleConnection as _;

use crate::support::cards::{connect, now};

const SHAPE: &str = include_str!("main_branch.sql");

/// Makes the file.
pub(super) fn make(path: &Path) {
    let mut connection = connect(path);
    connection.batch_execute("PRAGMA journal_mode = WAL").unwrap();
    connection.batch_execute(SHAPE).unwrap();
}

/// A row as a turn of the API server makes it: it wakes, and it starts caught up.
pub(super) fn subscription(task: &str, session: &str) -> String {
    format!(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, notifier_profile,
           created_at, last_event_id, chat_type, delivery_mode, delivery_metadata)
         VALUES ('{task}', 'api_server', '{session}', '', 'default', {now},
           (SELECT max(id) FROM task_events WHERE task_id = '{task}'), 'dm', 'notify+wake', '{{}}')",
        now = now()
    )
}
