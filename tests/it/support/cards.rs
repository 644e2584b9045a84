//! A board in the hands of a test: what Hermes' commands would write, and what is in the rows.

use std::path::{Path, PathBuf};

use diesel::{
    Connection as _, RunQueryDsl as _, SqliteConnection, connection::SimpleConnection as _,
    dsl::sql, sql_types::Text,
};
use kanban_store::{
    board::{Board, RowKey, SubscriptionRow},
    write::{self, Completion, Handover, NewSubscription, NewTask},
};

/// Unix seconds.
pub fn now() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// One board.
#[derive(Clone, Debug)]
pub struct Cards {
    path: PathBuf,
}

impl Cards {
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn open(&self) -> Board {
        Board::open(&self.path).unwrap()
    }

    /// A task that "writer" works on.
    pub fn task(&self, title: &str) -> String {
        self.task_of(title, None)
    }

    /// A task that was made in a session.
    pub fn task_of(&self, title: &str, session: Option<&str>) -> String {
        self.task_at(title, session, now())
    }

    pub fn task_at(&self, title: &str, session: Option<&str>, now: i64) -> String {
        let new = NewTask {
            title: title.to_owned(),
            assignee: Some("writer".to_owned()),
            session_id: session.map(str::to_owned),
            ..NewTask::default()
        };
        write::create_task(&mut self.open(), &new, now).unwrap()
    }

    /// A row without an owner, as a tool call in an API session makes it.
    pub fn subscribe(&self, task: &str, platform: &str, chat: &str) -> RowKey {
        self.subscribe_as(task, platform, chat, None)
    }

    pub fn subscribe_as(
        &self,
        task: &str,
        platform: &str,
        chat: &str,
        owner: Option<&str>,
    ) -> RowKey {
        let key = RowKey {
            task: task.to_owned(),
            platform: platform.to_owned(),
            chat: chat.to_owned(),
            thread: String::new(),
        };
        let owner = owner.map(str::to_owned);
        let new = NewSubscription { key: key.clone(), user: None, owner, mode: None };
        assert!(write::subscribe(&mut self.open(), &new, now()).unwrap());
        key
    }

    pub fn unsubscribe(&self, key: &RowKey) {
        assert!(write::unsubscribe(&mut self.open(), key).unwrap());
    }

    /// A new task and a session that asked for it.
    pub fn asked(&self, title: &str, session: &str) -> (String, RowKey) {
        let task = self.task(title);
        let row = self.subscribe(&task, "api_server", session);
        (task, row)
    }

    /// Answers the id of the event.
    pub fn complete(&self, task: &str, summary: &str) -> i64 {
        self.complete_at(task, summary, now())
    }

    pub fn complete_at(&self, task: &str, summary: &str, now: i64) -> i64 {
        let completion = Completion { result: None, summary: Some(summary.to_owned()) };
        write::complete(&mut self.open(), task, &completion, now).unwrap()
    }

    /// The same, with files that came of it.
    pub fn complete_with(&self, task: &str, summary: &str, artifacts: &[String]) -> i64 {
        let completion = Completion { result: None, summary: Some(summary.to_owned()) };
        let handover = Handover { artifacts: artifacts.to_vec(), ..Handover::default() };
        write::complete_with(&mut self.open(), task, &completion, &handover, now()).unwrap()
    }

    /// What no command of ours writes.
    pub fn sql(&self, statements: &str) {
        connect(&self.path).batch_execute(statements).unwrap();
    }

    /// Everything about the file that is not rows, as text.
    pub fn schema(&self) -> String {
        let all = sql::<Text>(
            "(SELECT group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10))
                FROM (SELECT * FROM sqlite_master ORDER BY rowid))
              || (SELECT user_version FROM pragma_user_version)
              || (SELECT application_id FROM pragma_application_id)
              || (SELECT journal_mode FROM pragma_journal_mode)",
        );
        diesel::select(all).get_result(&mut connect(&self.path)).unwrap()
    }

    pub fn row(&self, key: &RowKey) -> Option<SubscriptionRow> {
        self.rows().into_iter().find(|row| row.key == *key)
    }

    pub fn rows(&self) -> Vec<SubscriptionRow> {
        let (rows, spoilt) = self.open().subscriptions(0, 100_000).unwrap();
        assert!(spoilt.is_empty(), "{spoilt:?}");
        rows
    }

    /// `last_event_id` of a row that is there.
    pub fn cursor(&self, key: &RowKey) -> i64 {
        self.row(key).map(|row| row.cursor).unwrap()
    }

    /// Whether nothing of the row's task is above its cursor that anybody is told of.
    pub fn is_caught_up(&self, key: &RowKey) -> bool {
        let cursor = self.cursor(key);
        let above = self.open().events(Some(&key.task), cursor, usize::MAX).unwrap();
        above.iter().all(|event| event.kind == "created")
    }
}

/// SQLite finds nothing wrong with a database.
#[track_caller]
pub fn assert_sound(path: &Path) {
    let all = sql::<Text>("integrity_check FROM pragma_integrity_check");
    let found: String = diesel::select(all).get_result(&mut connect(path)).unwrap();
    assert_eq!(found, "ok", "{}", path.display());
}

/// A second writer's connection.
pub fn connect(path: &Path) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
    connection
}
