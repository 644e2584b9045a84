//! Pings: one for each event, in their order, each with its own outcome (laws D4, D5, D7).

use gateway_bin::{Options, Running};

use crate::support::{
    cards::now,
    push::{Does, Push},
    wait::eventually,
    world::World,
};

const KINDS: [&str; 5] = ["blocked", "crashed", "timed_out", "gave_up", "completed"];
const WORDS: [&str; 5] =
    ["is blocked", "lost its worker", "ran into", "was given up", "was completed"];

fn start(world: &World, push: &Push) -> Running {
    let options = Options { channels: vec![push.channel("telegram")], ..Options::default() };
    world.gateway(options).start()
}

/// Five events of one task, written at once.
fn five_events(world: &World, task: &str) {
    let rows = KINDS.map(|kind| format!("('{task}', '{kind}', {})", now())).join(", ");
    world.cards.sql(&format!("INSERT INTO task_events (task_id, kind, created_at) VALUES {rows}"));
}

#[tokio::test]
async fn d5_report_146_a_failure_in_the_middle_repeats_nothing_and_overtakes_nothing() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Take, Does::Take, Does::Refuse]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "C1");
    let running = start(&world, &push);
    five_events(&world, &task);
    let newest = world.cards.open().sequence().unwrap();
    world.settled(&row, newest).await;
    running.stop().await.unwrap();
    let shown = push.shown("C1");
    assert_eq!(shown.len(), 5, "{shown:?}");
    for (text, words) in shown.iter().zip(WORDS) {
        assert!(text.contains(words), "{words:?} is missing in {text:?}");
    }
}

#[tokio::test]
async fn d5_report_93_the_rest_of_a_row_of_messages_follows_after_a_restart() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Take, Does::Take].into_iter().chain([Does::Refuse; 100]));
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "C1");
    let running = start(&world, &push);
    five_events(&world, &task);
    let newest = world.cards.open().sequence().unwrap();
    for _ in 0..3 {
        push.next().await;
    }
    world.legs("retrying", 1).await;
    running.stop().await.unwrap();
    assert_eq!(push.shown("C1").len(), 2);
    push.play("C1", []);

    let running = start(&world, &push);
    world.settled(&row, newest).await;
    running.stop().await.unwrap();
    let shown = push.shown("C1");
    assert_eq!(shown.len(), 5, "{shown:?}");
    assert!(shown.iter().zip(WORDS).all(|(text, words)| text.contains(words)), "{shown:?}");
}

#[tokio::test]
async fn report_18_a_row_whose_task_is_done_stays_until_the_last_event_is_out() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Take, Does::Refuse]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "C1");
    let first = world.cards.complete(&task, "done once");
    world.cards.sql(&format!("UPDATE task_events SET kind = 'blocked' WHERE id = {first}"));
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'completed', {})",
        now()
    ));
    let newest = world.cards.open().sequence().unwrap();
    let running = start(&world, &push);
    for _ in 0..3 {
        push.next().await;
    }
    world.settled(&row, newest).await;
    running.stop().await.unwrap();
    let shown = push.shown("C1");
    assert!(shown.len() == 2 && shown[0].contains("is blocked"), "{shown:?}");
    assert!(world.cards.row(&row).is_some());
}

#[tokio::test]
async fn d4_a_chat_that_fails_holds_up_no_other_subscription() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Refuse; 100]);
    let task = world.cards.task("Build the report");
    let bad = world.cards.subscribe(&task, "telegram", "C1");
    let good = world.cards.subscribe(&task, "telegram", "C2");
    let wake = world.cards.subscribe(&task, "api_server", "sess-abc");
    let running = start(&world, &push);
    let event = world.cards.complete(&task, "done once");
    world.settled(&good, event).await;
    world.settled(&wake, event).await;
    eventually("it is tried again", || (push.tries("C1") >= 3).then_some(())).await;
    assert!(world.cards.cursor(&bad) < event);
    running.stop().await.unwrap();
    assert_eq!((push.shown("C1").len(), push.shown("C2").len()), (0, 1));
}
