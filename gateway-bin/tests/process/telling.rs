//! What the log tells: once when a fault begins, and enough to find a task by its name.

use std::os::unix::fs::FileExt as _;

use diesel::{RunQueryDsl as _, connection::SimpleConnection as _, dsl::sql, sql_types::BigInt};

use gateway_adapters::receiver::ReceiverConfig;
use serde_json::Value;

use crate::{
    process::Process,
    support::{cards::connect, wait::eventually, world::World},
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

/// Runs through a delivery, a failure, a park and an end, and holds each line against the documentation.
#[tokio::test]
async fn every_line_has_a_fixed_sentence_and_documented_fields() {
    let script = "500,200".parse().unwrap();
    let mut world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    world.set("log.format", "json");
    world.set(
        "log.level",
        "info,kanban_notify=trace,kanban_store=trace,gateway_bin=trace,gateway_adapters=trace",
    );
    let garbage = world.board("ops");
    std::fs::write(garbage.path(), [7_u8; 9_000]).unwrap();
    let mut run = Process::run(&world);
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let event = world.cards.complete(&task, "done once");
    let (nobody, _) = world.cards.asked("Wake nobody", "..");
    world.cards.complete(&nobody, "no such session");
    world.settled(&row, event).await;
    run.says("cursor raised").await;
    run.terminate();
    assert!(run.ended().await.success());

    let documented = include_str!("../../../docs/LOGGING.md");
    let mut about_task = Vec::new();
    for line in run.log().lines() {
        let line: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        let message = line["message"].as_str().unwrap();
        let frame = ["timestamp", "level", "target", "message", "span", "spans"];
        for field in line.keys().filter(|field| !frame.contains(&field.as_str())) {
            assert!(documented.contains(&format!("`{field}`")), "{field} of {line:?}");
        }
        let varies =
            [task.as_str(), "sess-abc", "default", "ops", world.folder().to_str().unwrap()];
        assert!(!varies.iter().any(|part| message.contains(part)), "{line:?}");
        if line.get("task.id").is_some_and(|id| id == &task) {
            let step = message.split(';').next().unwrap().to_owned();
            assert!(line.contains_key("board.slug"), "{line:?}");
            about_task.push(step);
        }
    }
    for step in ["owed", "intended", "sent", "not delivered", "delivered", "cursor raised"] {
        assert!(about_task.iter().any(|told| told == step), "{step} is missing in {about_task:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d8_a_refused_key_is_named_by_its_place_and_an_earlier_refusal_is_no_error_at_a_start() {
    let mut world = World::new().await;
    let url = world.receiver.url();
    world.server("default", &url, "wrong-key-0123456789");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let event = world.cards.complete(&task, "done once");
    let mut run = Process::run(&world);
    run.says("credential refused; the channel rests until it is right").await;
    let paused = eventually("the rest is in the ledger", || {
        gateway_bin::ops::status::status(&world.context()).pauses.into_iter().next()
    })
    .await;
    run.terminate();
    assert!(run.ended().await.success());
    let log = run.log();
    let line = log.lines().find(|line| line.contains("credential refused")).unwrap();
    for told in [line, paused.reason.as_str()] {
        assert!(told.contains("`api_server` for profile default, from `key` in "), "{told}");
        assert!(told.contains("restart `run` after changing it") && told.contains("401"), "{told}");
    }
    assert!(!log.contains("wrong-key") && world.receiver.wakes().is_empty(), "{log}");
    let due = line.split("due_at=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(humantime::parse_rfc3339(due).is_ok(), "{line}");

    let right = world.receiver.key();
    world.server("default", &url, secrecy::ExposeSecret::expose_secret(&right));
    let mut run = Process::run(&world);
    world.settled(&row, event).await;
    run.terminate();
    assert!(run.ended().await.success());
    let log = run.log();
    assert!(!log.contains("ERROR"), "{log}");
    for line in ["a channel rests since an earlier run; its key is tried now", "channel resumed"] {
        assert!(log.contains(line), "{line:?} is missing in:\n{log}");
    }
}
