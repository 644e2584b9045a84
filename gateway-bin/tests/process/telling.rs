//! What the log tells: once when a fault begins, and enough to find a task by its name.

use std::os::unix::fs::FileExt as _;

use diesel::{RunQueryDsl as _, connection::SimpleConnection as _, dsl::sql, sql_types::BigInt};

use crate::{
    process::Process,
    support::{cards::connect, world::World},
};

/// Opens well, and breaks at the first read: the pages of the subscriptions are rubbish.
fn spoil(world: &World) {
    let path = world.cards.path();
    let mut connection = connect(path);
    connection.batch_execute("PRAGMA journal_mode = DELETE").unwrap();
    let roots = sql::<BigInt>("rootpage FROM sqlite_master WHERE tbl_name = 'kanban_notify_subs'");
    let roots: Vec<i64> = diesel::select(roots).load(&mut connection).unwrap();
    let page = sql::<BigInt>("page_size FROM pragma_page_size");
    let page: i64 = diesel::select(page).get_result(&mut connection).unwrap();
    drop(connection);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    for root in roots {
        let at = u64::try_from((root - 1) * page).unwrap();
        file.write_all_at(&vec![7_u8; usize::try_from(page).unwrap()], at).unwrap();
    }
}

#[tokio::test]
async fn b7_a_board_that_breaks_again_and_again_is_told_once_and_tried_less_and_less() {
    let world = World::new().await;
    world.cards.asked("Build the report", "sess-abc");
    spoil(&world);
    let mut run = Process::run(&world);
    run.says("retry_after_ms=1000").await;
    run.says("retry_after_ms=2000").await;
    let log = run.log();
    let lines = |level: &str, text: &str| {
        log.lines().filter(|line| line.contains(level) && line.contains(text)).count()
    };
    assert_eq!(lines(" WARN ", "board is not served"), 1, "{log}");
    assert_eq!(lines("DEBUG ", "board is not served"), 1, "{log}");
    assert!(lines("ERROR ", "board degraded") <= 1, "{log}");
    assert_eq!(lines(" WARN ", "operation failed"), 1, "{log}");
}
