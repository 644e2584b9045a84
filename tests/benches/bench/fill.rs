//! Boards full of rows, and what happens on them, as another writer's hand writes it.

use std::{path::Path, time::Instant};

use diesel::{Connection as _, SqliteConnection, connection::SimpleConnection as _};

/// What a filled board holds.
#[derive(Clone, Copy)]
pub struct Fill {
    /// `api_server`, or a platform of the peer's.
    pub platform: &'static str,
    /// Tasks, each with one subscription.
    pub rows: usize,
    /// Sessions that share them.
    pub sessions: usize,
    /// Whether each task has been completed, with nobody told yet.
    pub unseen: bool,
    /// Whether the rows are ours from birth.
    pub ours: bool,
}

/// A summary as long as most are.
pub const PAYLOAD: &str = r#"{"summary": "The report is built and linked: 14 pages, three charts, all numbers checked twice."}"#;

impl Fill {
    /// Fills the board at `path`, whose sessions get names with `number` in them.
    pub fn write(self, path: &Path, number: usize) {
        let Self { platform, rows, sessions, unseen, ours } = self;
        let (now, owner) = (unix_now(), if ours { "'kanban-gateway'" } else { "NULL" });
        let mut board = connect(path);
        let series = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
        );
        let status = if unseen { "done" } else { "running" };
        board
            .batch_execute(&format!(
                "BEGIN IMMEDIATE;
                 {series} INSERT INTO tasks (id, title, assignee, status, created_at)
                   SELECT printf('t_%08x', i), 'Build report ' || i, 'writer', '{status}', {now} FROM n;
                 {series} INSERT INTO task_events (id, task_id, kind, created_at)
                   SELECT i, printf('t_%08x', i), 'created', {now} FROM n;
                 {series} INSERT INTO kanban_notify_subs
                   (task_id, platform, chat_id, thread_id, created_at, last_event_id, notifier_profile)
                   SELECT printf('t_%08x', i), '{platform}', 'sess-{number}-' || (i % {sessions}), '',
                     {now}, i, {owner} FROM n;
                 COMMIT"
            ))
            .unwrap();
        if unseen {
            complete(path, 1, rows);
        }
        board.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }
}

/// Completes the tasks `from..=to` of a board in one commit; answers when that commit was begun.
pub fn complete(path: &Path, from: usize, to: usize) -> Instant {
    let now = unix_now();
    let mut board = connect(path);
    board
        .batch_execute(&format!(
            "BEGIN IMMEDIATE;
             WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {to})
             INSERT INTO task_events (task_id, kind, payload, created_at)
               SELECT printf('t_%08x', i), 'completed', '{PAYLOAD}', {now} FROM n"
        ))
        .unwrap();
    let began = Instant::now();
    board.batch_execute("COMMIT").unwrap();
    began
}

pub fn connect(path: &Path) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 30000; PRAGMA synchronous = FULL").unwrap();
    connection
}

pub fn unix_now() -> i64 {
    i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap()
}
