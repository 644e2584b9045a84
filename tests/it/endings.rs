//! Where a subscription begins and ends: history, rows that vanish, archived tasks (laws F3, S1 to S3, D10).

use diesel::connection::SimpleConnection as _;
use gateway_bin::Options;
use kanban_notify::driver::Ended;
use kanban_store::board::RowKey;

use crate::support::{
    cards::{connect, now},
    push::Push,
    wait::eventually,
    world::World,
};

const DAY: i64 = 86_400;

#[tokio::test]
async fn f3_report_1_there_is_no_burst_of_history_at_the_first_start_nor_at_the_second() {
    let world = World::new().await;
    let push = Push::start().await;
    let mut rows = Vec::new();
    for number in 0..27 {
        let task = world.cards.task_at("Build the report", None, now() - 12 * DAY);
        world.cards.complete_at(&task, "long ago", now() - 12 * DAY);
        rows.push(world.cards.subscribe(&task, "telegram", "chat-1"));
        rows.push(world.cards.subscribe(&task, "api_server", &format!("sess-{number}")));
    }
    world.cards.sql(&format!(
        "UPDATE kanban_notify_subs SET last_event_id = 0, created_at = {}",
        now() - DAY
    ));
    for _ in 0..2 {
        let options = Options { channels: vec![push.channel("telegram")], ..Options::default() };
        let running = world.gateway(options).start();
        // What comes after the history is heard, and is all that is heard.
        let (task, row) = world.cards.asked("Build the next report", "sess-new");
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
        running.stop().await.unwrap();
    }
    assert_eq!(world.receiver.sessions(), ["sess-new"]);
    assert_eq!(world.receiver.wakes().len(), 2);
    assert!(push.shown("chat-1").is_empty());
}

#[tokio::test]
async fn f3_an_event_of_the_subscriptions_own_second_is_told() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let event = world.cards.complete(&task, "at once");
    world.cards.sql("UPDATE kanban_notify_subs SET last_event_id = 0, created_at = (SELECT max(created_at) FROM task_events)");
    let running = world.start();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn s2_what_is_unsent_is_cancelled_when_its_row_goes() {
    let mut world = World::new().await;
    world.set("concurrency.per_channel", "1");
    world.set("grace", "0s");
    world.receiver.hold();
    let first = world.cards.task("Build the report");
    world.cards.subscribe_as(&first, "api_server", "sess-1", Some("kanban-gateway"));
    let second = world.cards.task("Build the next report");
    let row = world.cards.subscribe_as(&second, "api_server", "sess-2", Some("kanban-gateway"));
    let running = world.start();
    world.cards.complete(&first, "in flight");
    world.next_wake().await;
    world.cards.complete(&second, "waits");
    world.legs("planned", 1).await;
    assert!(matches!(running.stop().await.unwrap(), Ended::Cut { .. }));
    world.cards.unsubscribe(&row);
    world.receiver.release_all();

    let running = world.start();
    world.legs("cancelled", 1).await;
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.sessions(), ["sess-1"]);
}

#[tokio::test]
async fn d10_what_the_board_calls_settled_is_closed_unsent_at_the_start() {
    let mut world = World::new().await;
    world.set("grace", "0s");
    world.receiver.kill().await;
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe_as(&task, "api_server", "sess-1", Some("kanban-gateway"));
    let running = world.start();
    let event = world.cards.complete(&task, "settled by somebody");
    eventually("the leg is there", || {
        (world.operator().counts().unwrap().oldest_open.is_some()).then_some(())
    })
    .await;
    running.stop().await.unwrap();
    world.cards.sql(&format!("UPDATE kanban_notify_subs SET last_event_id = {event}"));
    world.receiver.restart().await.unwrap();

    let running = world.start();
    world.legs("taken", 1).await;
    running.stop().await.unwrap();
    assert!(world.receiver.wakes().is_empty());
    assert_eq!(world.cards.cursor(&row), event);
}

#[tokio::test]
async fn s3_the_row_of_an_archived_task_goes_when_its_last_event_is_settled() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let (kept, kept_row) = world.cards.asked("Build the next report", "sess-abc");
    let running = world.start();
    world.receiver.hold();
    world.cards.complete(&task, "done once");
    world.next_wake().await;
    world.cards.sql(&format!(
        "BEGIN; UPDATE tasks SET status = 'archived' WHERE id = '{task}';
         INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'archived', {}); COMMIT",
        now()
    ));
    let event = world.cards.complete(&kept, "done once");
    world.legs("planned", 1).await;
    assert!(world.cards.row(&row).is_some(), "its last event is not settled yet");
    world.receiver.release_all();
    eventually("the row is gone", || world.cards.row(&row).is_none().then_some(())).await;
    world.settled(&kept_row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-abc"), 2);
}

#[tokio::test]
async fn o3_an_adopted_row_that_vanishes_with_something_owed_is_delivered_all_the_same() {
    let mut world = World::new().await;
    world.set("grace", "0s");
    world.receiver.kill().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    eventually("the row is stamped", || world.cards.row(&row)?.owner).await;
    world.cards.complete(&task, "done once");
    eventually("the leg is there", || {
        (world.operator().counts().unwrap().oldest_open.is_some()).then_some(())
    })
    .await;
    world.cards.unsubscribe(&row);
    world.receiver.restart().await.unwrap();
    let wake = world.next_wake().await;
    assert_eq!(wake.session(), Some("sess-abc"));
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn d10_a_lost_ledger_repeats_nothing() {
    let world = World::new().await;
    let mut rows = Vec::new();
    for number in 0..5 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    let running = world.start();
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    std::fs::remove_dir_all(world.ledger().parent().unwrap()).unwrap();

    let (task, row) = world.cards.asked("Build the next report", "sess-new");
    let event = world.cards.complete(&task, "done once");
    let running = world.start();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 6);
}

#[tokio::test]
async fn d10_a_gateway_that_only_ever_runs_once_forgets_what_is_long_over() {
    let mut world = World::new().await;
    world.set("keep_outcomes", "2d");
    for number in 0..3 {
        let (task, _) = world.cards.asked("Build the report", &format!("sess-{number}"));
        world.cards.complete(&task, "done once");
    }
    let once = || world.gateway(Options::default()).start_once().ended();
    assert_eq!(once().await.unwrap(), Ended::Idle);
    let age = |days: i64| {
        let age = days * DAY * 1_000_000;
        connect(&world.ledger())
            .batch_execute(&format!(
                "UPDATE legs SET planned_at = planned_at - {age}, updated_at = updated_at - {age};
                 UPDATE claims SET intended_at = intended_at - {age}"
            ))
            .unwrap();
    };
    for (days, kept) in [(1, 3), (2, 0)] {
        age(days);
        assert_eq!(once().await.unwrap(), Ended::Idle);
        let counts = world.operator().counts().unwrap();
        assert_eq!(counts.legs.values().sum::<i64>(), kept, "{counts:?}");
    }
    assert_eq!(world.receiver.wakes().len(), 3);
}

/// Tasks that were completed ten days ago and that a session still waits for.
fn old_news(world: &World, count: usize) -> Vec<RowKey> {
    let asked = (0..count).map(|number| {
        let task = world.cards.task_at("Build the report", None, now() - 20 * DAY);
        let row = world.cards.subscribe(&task, "api_server", &format!("sess-{number}"));
        world.cards.complete_at(&task, "long ago", now() - 10 * DAY);
        row
    });
    asked.collect()
}

#[tokio::test]
async fn f4_what_is_too_old_is_listed_and_can_be_sent_by_hand() {
    let world = World::new().await;
    let rows = old_news(&world, 3);
    let running = world.start();
    world.legs("expired", 3).await;
    for row in &rows {
        eventually("it is settled", || world.cards.is_caught_up(row).then_some(())).await;
    }
    assert!(world.receiver.wakes().is_empty());
    let dead = world.operator().dead_list(false).unwrap();
    assert!(dead.iter().all(|leg| leg.state == "expired"), "{dead:?}");
    world.operator().dead_retry(&[dead[0].id]).unwrap();
    assert_eq!(world.next_wake().await.session(), Some(dead[0].chat.as_str()));
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn f4_a_mass_expiry_waits_for_the_operator() {
    let mut world = World::new().await;
    world.set("expire_without_asking", "2");
    let rows = old_news(&world, 3);
    let side = world.board("side");
    let running = world.start();
    let (task, row) = side.asked("On the other board", "sess-side");
    let event = side.complete(&task, "done once");
    eventually("the other board goes on", || (side.cursor(&row) >= event).then_some(())).await;
    running.stop().await.unwrap();
    assert!(rows.iter().all(|row| !world.cards.is_caught_up(row)), "nothing is expired unasked");

    let options = Options { accept: true, ..Options::default() };
    let running = world.gateway(options).start();
    world.legs("expired", 3).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.sessions(), ["sess-side"]);
}
