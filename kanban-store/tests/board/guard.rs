//! Law B3: our close leaves a board's WAL alone, and does so for boards only.

use diesel::{Connection, connection::SimpleConnection, sqlite::SqliteConnection};
use kanban_store::board::{Board, EditOutcome, RowEdit};

use super::support::{TestBoard, files, key, tail};

#[test]
fn the_wal_of_a_board_survives_our_close_and_a_foreign_database_is_untouched() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    let TestBoard { folder, path, foreign } = test;

    let mut board = Board::open(&path).unwrap();
    board.read(&tail(&Default::default())).unwrap();
    drop(foreign);
    // We are the only ones left, have written, and go.
    let raise = RowEdit::Raise { key: key("t_1", "a"), created_at: 150, to: 7 };
    let done = board.change(&[raise], std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(done, [EditOutcome::Won]);

    // A foreign database opened while a board is open, on the thread that opened the board.
    let other = folder.path().join("other.db");
    let mut connection = SqliteConnection::establish(other.to_str().unwrap()).unwrap();
    connection
        .batch_execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        .unwrap();
    assert!(files(folder.path()).contains("other.db-wal"));
    drop(connection);
    assert!(!files(folder.path()).contains("other.db-wal"));

    drop(board);
    assert!(files(folder.path()).contains("kanban.db-wal"));

    // The board itself is not marked in any way: whoever else closes it last cleans up as ever.
    let mut foreign = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    foreign.batch_execute("SELECT count(*) FROM tasks").unwrap();
    drop(foreign);
    assert!(!files(folder.path()).contains("kanban.db-wal"));
    let mut board = Board::open(&path).unwrap();
    assert_eq!(board.subscriptions(0, 10).unwrap().0[0].cursor, 7);
}

#[test]
fn a_refused_opening_leaves_no_trace_in_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Board::open(&folder.path().join("missing.db")).is_err());
    let other = folder.path().join("other.db");
    let mut connection = SqliteConnection::establish(other.to_str().unwrap()).unwrap();
    connection.batch_execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x);").unwrap();
    drop(connection);
    assert!(!files(folder.path()).contains("other.db-wal"));
}
