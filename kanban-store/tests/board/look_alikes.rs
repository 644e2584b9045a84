//! Files with a board's names that are no boards, and boards that lack what writing takes: each
//! refused by the name of what is missing, and nothing written (laws B1, B2).

use kanban_store::{
    StoreError,
    board::{Board, RowKey},
    write::{self, Completion, NewSubscription, NewTask},
};

use super::support::{SHAPE, TestBoard, files, foreign, key};

/// Without these nothing can be read.
const READ: &[(&str, &[&str])] = &[
    ("tasks", &["id", "title", "assignee", "status", "result", "created_at"]),
    ("task_events", &["id", "task_id", "kind", "payload", "created_at"]),
    (
        "kanban_notify_subs",
        &["task_id", "platform", "chat_id", "thread_id", "user_id", "created_at", "last_event_id"],
    ),
];

/// Without these the board is served, and no operation writes on it.
#[rustfmt::skip]
const WRITTEN: &[(&str, &[&str])] = &[
    ("tasks", &["body", "priority", "created_by", "started_at", "completed_at", "workspace_kind", "workspace_path",
        "claim_lock", "claim_expires", "tenant", "idempotency_key", "consecutive_failures", "worker_pid",
        "last_failure_error", "max_runtime_seconds", "last_heartbeat_at", "current_run_id", "current_step_key",
        "skills", "max_retries"]),
    ("task_events", &["run_id"]),
    ("task_runs", &["id", "task_id", "profile", "step_key", "status", "claim_lock", "claim_expires", "worker_pid",
        "max_runtime_seconds", "last_heartbeat_at", "started_at", "ended_at", "outcome", "summary", "metadata",
        "error"]),
    ("task_links", &["parent_id", "child_id"]),
    ("task_comments", &["id", "task_id", "author", "body", "created_at"]),
    ("kanban_notify_subs", &["notifier_profile"]),
];

/// What newer releases add says nothing about what has to be there.
const NEWER: &str = "
ALTER TABLE kanban_notify_subs ADD COLUMN chat_type TEXT;
ALTER TABLE kanban_notify_subs ADD COLUMN delivery_mode TEXT NOT NULL DEFAULT 'notify';
ALTER TABLE kanban_notify_subs ADD COLUMN last_ping_event_id INTEGER NOT NULL DEFAULT 0;";

/// A file on which a column has another name, and what is said of that.
fn each(columns: &'static [(&str, &[&str])]) -> impl Iterator<Item = (TestBoard, String)> {
    let all = columns.iter().flat_map(|(table, names)| names.iter().map(move |name| (table, name)));
    all.map(|(table, name)| {
        let other = format!("ALTER TABLE {table} RENAME COLUMN {name} TO {name}_of_others;");
        let test = TestBoard::shaped(&format!("{SHAPE}{NEWER}{other}"));
        (test, format!("table `{table}` has no column `{name}`"))
    })
}

/// What must stay as it is: the schema, the files, and the number of the last commit.
fn state(test: &mut TestBoard) -> (String, usize, Option<i64>) {
    let commits = test.int("SELECT data_version FROM pragma_data_version");
    (test.schema(), files(test.folder.path()).len(), commits)
}

/// Field report 169.
#[test]
fn a_file_without_one_of_the_columns_is_no_board() {
    for (mut test, flaw) in each(READ) {
        let before = state(&mut test);
        let error = Board::open(&test.path).unwrap_err();
        assert!(matches!(error, StoreError::LookAlike { .. }), "{error:?}");
        let said = format!("{} is not a kanban board: {flaw}", test.path.display());
        assert_eq!(error.to_string(), said);
        assert_eq!(state(&mut test), before, "{flaw}");
    }
}

#[test]
fn a_file_without_one_of_the_tables_is_no_board() {
    for (table, _) in READ {
        let mut test = TestBoard::shaped(&format!("{SHAPE} DROP TABLE {table};"));
        let before = state(&mut test);
        let error = Board::open(&test.path).unwrap_err();
        assert!(matches!(error, StoreError::LookAlike { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("it has no table `{table}`")), "{error}");
        assert_eq!(state(&mut test), before);
    }
}

#[test]
fn nothing_is_written_on_a_board_that_lacks_what_writing_takes() {
    for (test, flaw) in each(WRITTEN) {
        assert_refused(test, &flaw);
    }
    for table in ["task_runs", "task_links", "task_comments"] {
        let test = TestBoard::shaped(&format!("{SHAPE} DROP TABLE {table};"));
        assert_refused(test, &format!("it has no table `{table}`"));
    }
}

fn assert_refused(mut test: TestBoard, flaw: &str) {
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    let before = state(&mut test);
    let mut board = test.open();
    let refused = |result: Result<(), StoreError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::BoardUnfinished { .. }), "{error:?}");
        assert!(error.to_string().contains(flaw), "{error}");
    };
    let new = NewTask { title: "one".into(), ..NewTask::default() };
    refused(write::create_task(&mut board, &new, 300).map(drop));
    refused(write::complete(&mut board, "t_1", &Completion::default(), 300).map(drop));
    refused(write::block(&mut board, "t_1", Some("why"), None, 300).map(|_| ()));
    let row = |key: RowKey| NewSubscription { key, user: None, owner: None, mode: None };
    refused(write::subscribe(&mut board, &row(key("t_1", "b")), 300).map(drop));
    refused(write::unsubscribe(&mut board, &key("t_1", "a")).map(drop));
    drop(board);
    assert_eq!(state(&mut test), before, "{flaw}");
}

/// Once Hermes has opened the file, the same operation goes through without a new start of ours.
#[test]
fn what_was_missing_is_seen_when_it_comes() {
    let test = TestBoard::shaped(&format!("{SHAPE} ALTER TABLE tasks DROP COLUMN max_retries;"));
    let mut board = test.open();
    let new = NewTask { title: "one".into(), ..NewTask::default() };
    let error = write::create_task(&mut board, &new, 300).unwrap_err();
    assert!(error.to_string().contains("Hermes adds what is missing"), "{error}");
    let mut hermes = foreign(&test.path);
    let add = "ALTER TABLE tasks ADD COLUMN max_retries INTEGER";
    diesel::connection::SimpleConnection::batch_execute(&mut hermes, add).unwrap();
    write::create_task(&mut board, &new, 300).unwrap();
}
