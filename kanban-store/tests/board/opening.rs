//! Laws B1, B2, B3, B7: what is opened, what is refused, and that nothing is made or altered.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use kanban_store::{
    StoreError,
    board::{Board, PollPace, RowEdit},
};

use super::support::{SHAPE, TestBoard, create, files, key, tail};

const BASE: &str = "
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT, assignee TEXT, status TEXT NOT NULL,
  created_at INTEGER NOT NULL, result TEXT, max_runtime_seconds INTEGER);
CREATE TABLE task_events (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL, run_id INTEGER,
  kind TEXT NOT NULL, payload TEXT, created_at INTEGER NOT NULL);
CREATE TABLE kanban_notify_subs (task_id TEXT NOT NULL, platform TEXT NOT NULL, chat_id TEXT NOT NULL,
  thread_id TEXT NOT NULL DEFAULT '', user_id TEXT, created_at INTEGER NOT NULL,
  last_event_id INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (task_id, platform, chat_id, thread_id));";

const OWNED: &str = "ALTER TABLE kanban_notify_subs ADD COLUMN notifier_profile TEXT;";
const MODES: &str = "
ALTER TABLE kanban_notify_subs ADD COLUMN chat_type TEXT;
ALTER TABLE kanban_notify_subs ADD COLUMN user_id_alt TEXT;
ALTER TABLE kanban_notify_subs ADD COLUMN delivery_mode TEXT NOT NULL DEFAULT 'notify';
ALTER TABLE kanban_notify_subs ADD COLUMN delivery_metadata TEXT;";
const PINGS: &str =
    "ALTER TABLE kanban_notify_subs ADD COLUMN last_ping_event_id INTEGER NOT NULL DEFAULT 0;";

/// Field report 169.
#[test]
fn the_four_generations_work_and_stay_as_they_are() {
    let generations = [
        BASE.to_owned(),
        format!("{BASE}{OWNED}"),
        format!("{BASE}{OWNED}{MODES}"),
        format!("{BASE}{OWNED}{MODES}{PINGS}"),
        SHAPE.to_owned(),
        format!("{SHAPE}{MODES}{PINGS}"),
    ];
    for ddl in generations {
        let mut test = TestBoard::shaped(&ddl);
        test.task("t_1");
        test.subscribe("t_1", "a", 0);
        let event = test.event("t_1", "completed");
        let before = test.schema();
        let mut board = test.open();
        let pass = board.read(&tail(&Default::default())).unwrap();
        assert_eq!(pass.events[0].id, event);
        assert_eq!(pass.tasks[0].title, "Title t_1");
        assert_eq!(pass.rows[0].key, key("t_1", "a"));
        assert_eq!(pass.rows[0].mode.is_some(), pass.features.delivery_mode);
        let edits = [
            RowEdit::Stamp { key: key("t_1", "a"), from: None, to: Some("us".into()) },
            RowEdit::Raise { key: key("t_1", "a"), created_at: 150, to: event },
        ];
        board.change(&edits, Duration::from_secs(5)).unwrap();
        assert_eq!(test.cursor("t_1"), event);
        if pass.features.last_ping_event_id {
            assert_eq!(test.int("SELECT last_ping_event_id FROM kanban_notify_subs"), Some(event));
        }
        drop(board);
        assert_eq!(test.schema(), before);
        assert_eq!(test.int("SELECT user_version FROM pragma_user_version"), Some(0));
    }
}

/// Field report 169.
#[test]
fn look_alikes_are_refused_by_the_name_of_what_is_missing() {
    let cases = [
        (BASE.replace("platform", "channel"), "no column `platform`"),
        (
            BASE.replace("last_event_id INTEGER NOT NULL DEFAULT 0,", ""),
            "no column `last_event_id`",
        ),
        (BASE.replace("kind TEXT", "event_type TEXT"), "no column `kind`"),
        (
            BASE.replace("thread_id TEXT NOT NULL DEFAULT ''", "thread_id TEXT"),
            "column `thread_id` of table `kanban_notify_subs` may be NULL",
        ),
        (
            BASE.replace(
                "PRIMARY KEY (task_id, platform, chat_id, thread_id)",
                "id INTEGER PRIMARY KEY",
            ),
            "column `task_id` of table `kanban_notify_subs` is not part of its key",
        ),
        (BASE.replace("TABLE task_events", "TABLE events"), "no table `task_events`"),
    ];
    for (ddl, flaw) in cases {
        let mut test = TestBoard::shaped(&ddl);
        let before = test.schema();
        let error = Board::open(&test.path).unwrap_err();
        assert!(matches!(error, StoreError::LookAlike { .. }), "{error:?}");
        assert!(error.to_string().contains(flaw), "{error}");
        assert_eq!(test.schema(), before);
    }
}

#[test]
fn nothing_is_created_and_each_trouble_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let missing = Board::open(&at("missing.db")).unwrap_err();
    assert!(matches!(missing, StoreError::BoardMissing { .. }));
    let nowhere = Board::open(&at("no/such/folder/kanban.db")).unwrap_err();
    assert!(matches!(nowhere, StoreError::BoardMissing { .. }));
    assert!(files(folder.path()).is_empty());

    std::fs::write(at("empty.db"), b"").unwrap();
    let empty = Board::open(&at("empty.db")).unwrap_err();
    assert!(matches!(empty, StoreError::BoardEmpty { .. }), "{empty:?}");
    assert_eq!(std::fs::metadata(at("empty.db")).unwrap().len(), 0);

    // Another program's database is no board that somebody is about to fill.
    let other = TestBoard::shaped("CREATE TABLE notes (text TEXT);");
    let other = Board::open(&other.path).unwrap_err();
    assert!(matches!(other, StoreError::LookAlike { .. }), "{other:?}");

    std::fs::write(at("garbage.db"), [7_u8; 5000]).unwrap();
    let garbage = Board::open(&at("garbage.db")).unwrap_err();
    assert!(matches!(garbage, StoreError::NotADatabase { .. }), "{garbage:?}");
    assert_eq!(files(folder.path()).into_iter().collect::<Vec<_>>(), ["empty.db", "garbage.db"]);
}

#[test]
fn odd_paths_lead_to_the_right_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b?c#d%41 ü.db");
    let foreign = create(&path, SHAPE);
    let board = Board::open(&path).unwrap();
    assert!(board.is_writable());
    assert_eq!(board.path(), path.canonicalize().unwrap());
    drop(foreign);
    let names = files(folder.path());
    assert!(names.iter().all(|name| name.starts_with("a b?c#d%41 ü.db")));
}

#[test]
fn a_rollback_journal_is_kept_and_polled_slowly() {
    let mut test = TestBoard::new();
    test.run("PRAGMA journal_mode = DELETE");
    let mut board = test.open();
    assert_eq!(*board.pace(), PollPace::Slow("its journal mode is delete".into()));
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    let raise = RowEdit::Raise { key: key("t_1", "a"), created_at: 150, to: 3 };
    board.change(&[raise], Duration::from_secs(5)).unwrap();
    assert_eq!(test.cursor("t_1"), 3);
    assert_eq!(
        test.text("SELECT journal_mode FROM pragma_journal_mode").as_deref(),
        Some("delete")
    );
}

#[test]
fn columns_that_come_while_we_run_are_seen() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    let pass = board.read(&tail(&Default::default())).unwrap();
    assert!(!pass.features.delivery_mode);
    test.run(MODES);
    test.run(PINGS);
    test.run("UPDATE kanban_notify_subs SET delivery_mode = 'wake'");
    // The writer sees it first here.
    let raise = RowEdit::Raise { key: key("t_1", "a"), created_at: 150, to: 5 };
    board.change(&[raise], Duration::from_secs(5)).unwrap();
    assert_eq!(test.int("SELECT last_ping_event_id FROM kanban_notify_subs"), Some(5));
    let pass = board.read(&tail(&Default::default())).unwrap();
    assert!(pass.features.delivery_mode);
    assert_eq!(pass.rows[0].mode.as_deref(), Some("wake"));
}

#[test]
fn a_file_put_in_the_place_of_the_board_is_noticed_before_anything_is_written() {
    let mut test = TestBoard::new();
    test.task("t_1");
    let mut board = test.open();
    let other = test.folder.path().join("other.db");
    drop(create(&other, SHAPE));
    let away = test.folder.path().join("away.db");
    std::fs::rename(&test.path, &away).unwrap();
    assert!(matches!(board.read(&tail(&Default::default())), Err(StoreError::BoardMissing { .. })));
    std::fs::rename(&other, &test.path).unwrap();
    assert!(matches!(board.try_change(&[]), Err(StoreError::FileReplaced { .. })));
}

#[cfg(unix)]
#[test]
fn a_board_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;

    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    test.run("PRAGMA wal_checkpoint(TRUNCATE)");
    let mode = |mode| std::fs::set_permissions(&test.path, std::fs::Permissions::from_mode(mode));
    mode(0o444).unwrap();
    let mut board = test.open();
    // For root, permissions are no hindrance; then there is nothing to see here.
    if !board.is_writable() {
        assert_eq!(board.read(&tail(&Default::default())).unwrap().events.len(), 1);
        assert!(matches!(board.try_change(&[]), Err(StoreError::BoardReadOnly { .. })));
    }
    mode(0o644).unwrap();
    test.foreign.batch_execute("SELECT 1").unwrap();
}

/// Tells the child process of the next test which board to open.
#[cfg(unix)]
const READ_ONLY: &str = "KANBAN_STORE_TEST_READ_ONLY_BOARD";

/// With the log of a running writer beside it, SQLite begins a write transaction on a read-only file
/// without a word.
#[cfg(unix)]
#[test]
fn b7_a_read_only_file_beside_its_log_is_not_taken_for_writable() {
    use std::{
        fs::{Permissions, set_permissions},
        os::unix::{fs::PermissionsExt, process::CommandExt},
        process::Command,
    };

    if let Some(path) = std::env::var_os(READ_ONLY) {
        let mut board = Board::open(std::path::Path::new(&path)).unwrap();
        assert!(!board.is_writable());
        assert_eq!(board.read(&tail(&Default::default())).unwrap().events.len(), 1);
        assert!(matches!(board.try_change(&[]), Err(StoreError::BoardReadOnly { .. })));
        return;
    }
    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    assert!(files(test.folder.path()).contains("kanban.db-wal"));
    let mode = |name: &str, mode| {
        set_permissions(test.folder.path().join(name), Permissions::from_mode(mode)).unwrap();
    };
    for (name, bits) in
        [("", 0o777), ("kanban.db", 0o444), ("kanban.db-wal", 0o666), ("kanban.db-shm", 0o666)]
    {
        mode(name, bits);
    }
    // For root permissions are no hindrance: a child gives that up. It may have no way to this program.
    let program = test.folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    mode("program", 0o755);
    let name = "opening::b7_a_read_only_file_beside_its_log_is_not_taken_for_writable";
    let mut child = Command::new(&program);
    child.args(["--exact", name, "--nocapture"]).env(READ_ONLY, &test.path);
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if root {
        child.uid(65_534).gid(65_534);
    }
    let ended = child.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{ended:?}");
}

#[test]
fn asking_whether_a_board_can_be_written_changes_nothing() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    let before = test.int("SELECT data_version FROM pragma_data_version");
    let wal = std::fs::metadata(test.folder.path().join("kanban.db-wal")).unwrap().len();
    let board = test.open();
    assert!(board.is_writable());
    assert_eq!(test.int("SELECT data_version FROM pragma_data_version"), before);
    assert_eq!(std::fs::metadata(test.folder.path().join("kanban.db-wal")).unwrap().len(), wal);
    // Somebody who writes at this moment shows that it can be written.
    test.run("BEGIN IMMEDIATE");
    assert!(test.open().is_writable());
    test.run("ROLLBACK");
}
