//! A board in a folder of its own, and the foreign connection that writes to it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use diesel::{
    Connection, QueryableByName, RunQueryDsl,
    connection::SimpleConnection,
    sql_query,
    sql_types::{BigInt, Nullable, Text},
    sqlite::SqliteConnection,
};
use kanban_store::board::{Board, Mark, PassQuery, PassRows, RowKey};

/// The newest released shape.
pub const SHAPE: &str = include_str!("../../src/write/board.sql");

pub struct TestBoard {
    pub folder: tempfile::TempDir,
    pub path: PathBuf,
    /// Somebody else, who has the board open all the time.
    pub foreign: SqliteConnection,
}

#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = Nullable<Text>)]
    value: Option<String>,
}

#[derive(QueryableByName)]
struct IntRow {
    #[diesel(sql_type = Nullable<BigInt>)]
    value: Option<i64>,
}

impl TestBoard {
    pub fn new() -> Self {
        Self::shaped(SHAPE)
    }

    pub fn shaped(ddl: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kanban.db");
        let foreign = create(&path, ddl);
        Self { folder, path, foreign }
    }

    pub fn open(&self) -> Board {
        Board::open(&self.path).unwrap()
    }

    pub fn run(&mut self, sql: &str) {
        self.foreign.batch_execute(sql).unwrap();
    }

    pub fn text(&mut self, sql: &str) -> Option<String> {
        let sql = format!("SELECT ({sql}) AS value");
        sql_query(sql).get_result::<TextRow>(&mut self.foreign).unwrap().value
    }

    pub fn int(&mut self, sql: &str) -> Option<i64> {
        let sql = format!("SELECT ({sql}) AS value");
        sql_query(sql).get_result::<IntRow>(&mut self.foreign).unwrap().value
    }

    pub fn task(&mut self, task: &str) {
        self.run(&format!(
            "INSERT INTO tasks (id, title, status, created_at) VALUES ('{task}', 'Title {task}', 'ready', 100)"
        ));
    }

    /// Appends an event and answers with its id.
    pub fn event(&mut self, task: &str, kind: &str) -> i64 {
        self.run(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{task}', '{kind}', NULL, 200)"
        ));
        self.int("last_insert_rowid()").unwrap()
    }

    pub fn subscribe(&mut self, task: &str, chat: &str, cursor: i64) {
        self.run(&format!(
            "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at, last_event_id) \
             VALUES ('{task}', 'api_server', '{chat}', 150, {cursor})"
        ));
    }

    pub fn cursor(&mut self, task: &str) -> i64 {
        self.int(&format!("SELECT last_event_id FROM kanban_notify_subs WHERE task_id = '{task}'"))
            .unwrap()
    }

    /// All DDL of the file, for comparing.
    pub fn schema(&mut self) -> String {
        self.text("SELECT group_concat(type || name || coalesce(sql, ''), '|') FROM sqlite_master")
            .unwrap()
    }
}

pub fn create(path: &Path, ddl: &str) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection
        .batch_execute(
            "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;",
        )
        .unwrap();
    // One commit, because a commit waits for the disk.
    connection.batch_execute(&format!("BEGIN; {ddl}; COMMIT;")).unwrap();
    connection
}

pub fn foreign(path: &Path) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 5000;").unwrap();
    connection
}

pub fn files(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

pub fn key(task: &str, chat: &str) -> RowKey {
    RowKey {
        task: task.into(),
        platform: "api_server".into(),
        chat: chat.into(),
        thread: String::new(),
    }
}

pub fn tail(after: &Mark) -> PassQuery {
    PassQuery { after: after.clone(), limit: 100, ..PassQuery::default() }
}

pub fn ids(pass: &PassRows) -> Vec<i64> {
    pass.events.iter().map(|event| event.id).collect()
}

pub fn chats(pass: &PassRows) -> Vec<&str> {
    pass.rows.iter().map(|row| row.key.chat.as_str()).collect()
}
