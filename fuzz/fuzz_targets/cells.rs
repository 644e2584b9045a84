//! Boards whose cells hold anything: no row fails a pass or hides another one (law B2).

#![no_main]

use std::cell::RefCell;

use diesel::{Connection as _, connection::SimpleConnection as _, sqlite::SqliteConnection};
use fuzz::{cell::Cell, one_of};
use kanban_store::{
    board::{AgedQuery, Board, PassQuery, TaskFilter},
    write::create_board,
};
use libfuzzer_sys::fuzz_target;

const TABLES: [(&str, &str); 3] = [
    ("tasks", "id, title, assignee, status, created_at, result, session_id, max_runtime_seconds"),
    ("task_events", "id, task_id, run_id, kind, payload, created_at"),
    (
        "kanban_notify_subs",
        "task_id, platform, chat_id, thread_id, user_id, created_at, last_event_id",
    ),
];

const GOOD: &str =
    "BEGIN; DELETE FROM tasks; DELETE FROM task_events; DELETE FROM kanban_notify_subs;
    INSERT INTO tasks (id, title, status, created_at) VALUES ('t_good', 't', 'ready', 100);
    INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at, last_event_id)
    VALUES ('t_good', 'api_server', 'good', 150, 0);";

const EVENT: &str = "INSERT OR REPLACE INTO task_events (id, task_id, kind, created_at)
    VALUES (7, 't_good', 'completed', 200); COMMIT";

thread_local! {
    /// Somebody else's connection, and our board in a folder of its own.
    static BOARD: RefCell<(SqliteConnection, Board)> = RefCell::new({
        let path = tempfile::tempdir().unwrap().keep().join("kanban.db");
        create_board(&path).unwrap();
        let mut foreign = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        foreign.batch_execute("PRAGMA synchronous = OFF").unwrap();
        (foreign, Board::open(&path).unwrap())
    });
}

fuzz_target!(|rows: Vec<(u8, [Cell<'_>; 8])>| {
    BOARD.with_borrow_mut(|(foreign, board)| {
        foreign.batch_execute(GOOD).unwrap();
        for (table, cells) in &rows {
            let (table, columns) = one_of(&TABLES, *table);
            let wanted = columns.split(',').count();
            let cells = cells.iter().take(wanted).map(Cell::sql).collect::<Vec<_>>().join(", ");
            // What the table's own constraints refuse is left out.
            let sql = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({cells})");
            drop(foreign.batch_execute(&sql));
        }
        foreign.batch_execute(EVENT).unwrap();
        check(board);
    });
});

fn check(board: &mut Board) {
    let aged = Some(AgedQuery { before: i64::MAX, above: i64::MIN, limit: 100 });
    let wanted = PassQuery { sweep_above: Some(0), aged, limit: 1_000, ..PassQuery::default() };
    let pass = board.read(&wanted).unwrap();
    assert!(pass.events.iter().any(|event| event.id == 7), "{pass:?}");
    assert!(pass.rows.iter().any(|row| row.key.chat == "good"), "{pass:?}");
    for (name, why) in &pass.spoilt {
        assert!(name.len() < 2_000 && why.len() < 200, "{name}: {why}");
    }
    let again = PassQuery { after: pass.next, limit: 1_000, ..PassQuery::default() };
    assert!(board.read(&again).unwrap().replaced.is_none());
    let tasks = TaskFilter { archived: true, ..TaskFilter::default() };
    assert!(board.list_tasks(&tasks).unwrap().iter().any(|task| task.id == "t_good"));
    assert!(board.events(None, i64::MIN, 10_000).unwrap().iter().any(|event| event.id == 7));
    board.overview(10).unwrap();
    board.task_details("t_1").unwrap();
}
