//! Faults that were reported of messages to platforms, through the whole stack; the number is the report's.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, telegram};
use serde_json::json;

use crate::support::world::World;

const TOKEN: &str = "123456:FAKE-token_for_tests";
const FORGED: &str = "\r\n2026-11-30 ERROR forged line\u{1b}[31m\u{0}";

async fn telegrams() -> (PushServer, World) {
    let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
    let mut world = World::new().await;
    world.set("telegram.token", TOKEN);
    world.set("telegram.url", &platform.url());
    (platform, world)
}

/// A task is done, and its message is answered so; then the ledger has a leg of this state.
async fn answered(answer: PushAnswer, state: &str) -> World {
    let (platform, mut world) = telegrams().await;
    world.set("backoff.first", "10m");
    world.set("backoff.longest", "10m");
    platform.play([PushAct::Answer(answer)]);
    let task = world.cards.task("Build the report");
    world.cards.subscribe(&task, "telegram", "-1001");
    let running = world.start();
    world.cards.complete(&task, "14 pages");
    world.legs(state, 1).await;
    running.stop().await.unwrap();
    world
}

#[tokio::test]
async fn report_121_the_reason_that_a_platform_gives_is_in_the_dead_letter() {
    let description = format!("Bad Request: chat not found{FORGED}");
    let body = json!({"ok": false, "error_code": 400, "description": description});
    let world = answered(PushAnswer::new(400, body.to_string()), "parked").await;
    let dead = world.operator().dead_list(false).unwrap();
    assert!(dead[0].reason.contains("400: Bad Request: chat not found"), "{dead:?}");
    assert!(!dead[0].reason.chars().any(char::is_control), "{dead:?}");
}

#[tokio::test]
async fn report_136_a_flood_of_forged_lines_is_kept_as_one_short_line() {
    let flood = FORGED.repeat(150_000);
    assert!(flood.len() > 5_000_000);
    let world = answered(PushAnswer::new(500, flood), "retrying").await;
    let waiting = world.operator().waiting_list().unwrap();
    assert!(waiting[0].reason.chars().count() <= 400, "{waiting:?}");
    assert!(!waiting[0].reason.chars().any(char::is_control), "{waiting:?}");
    let ledger = std::fs::read(world.ledger()).unwrap();
    let ledger = String::from_utf8_lossy(&ledger);
    assert!(!ledger.contains("\u{1b}[31m") && ledger.matches("forged line").count() < 50);
}

/// Each row goes where it says, whatever other rows there are.
#[tokio::test]
async fn report_29_a_topic_of_a_group_is_reached_beside_a_private_chat_and_another_topic() {
    let (platform, world) = telegrams().await;
    let task = world.cards.task("Build the report");
    let places = [("1", ""), ("-1002", "7"), ("-1003", "9")];
    let rows = places.map(|(chat, thread)| {
        let mut row = world.cards.subscribe(&task, "telegram", chat);
        world.cards.sql(&format!(
            "UPDATE kanban_notify_subs SET thread_id = '{thread}' WHERE chat_id = '{chat}'"
        ));
        row.thread = thread.to_owned();
        row
    });
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    for row in &rows {
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
    let seen = platform.seen();
    let mut reached: Vec<_> =
        seen.iter().map(|message| (message.chat.as_str(), message.thread.as_str())).collect();
    reached.sort_by_key(|(chat, _)| chat.len());
    reached.sort_by_key(|(_, thread)| *thread);
    assert_eq!(reached, places);
}
