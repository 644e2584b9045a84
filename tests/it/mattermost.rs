//! Mattermost through the whole stack: by Hermes' own variables, and by a webhook of ours.

use gateway_adapters::receiver::push::{
    PushAct, PushAnswer, PushServer, mattermost, mattermost_hook,
};
use serde_json::json;

use crate::support::world::World;

const TOKEN: &str = "fake7tokenfortests";
const CHANNEL: &str = "jhfo4nugmtfbudihd6wx1nfpoe";

fn refuses(status: u16, id: &str) -> PushAct {
    let body = json!({"id": id, "message": "as the server says", "status_code": status});
    PushAct::Answer(PushAnswer::new(status, body.to_string()))
}

/// One message for each of three tasks, and the rows' thread.
async fn told(world: &World, chat: &str, thread: &str) {
    let running = world.start();
    for number in 0..3 {
        let task = world.cards.task(&format!("Report {number} @all"));
        let mut row = world.cards.subscribe(&task, "mattermost", chat);
        world.cards.sql(&format!("UPDATE kanban_notify_subs SET thread_id = '{thread}'"));
        row.thread = thread.to_owned();
        let event = world.cards.complete(&task, "# 14 pages");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("fake7"));
}

#[tokio::test]
async fn d8_report_77_each_message_once_and_one_without_its_thread_that_is_gone() {
    let server = PushServer::start(mattermost(TOKEN)).await.unwrap();
    let world = World::new().await;
    let dotenv = format!("MATTERMOST_TOKEN={TOKEN}\nMATTERMOST_URL={}/\n", server.url());
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    let thread = "m6mcfxpgttgfumbn4abkmmz4sr";
    let gone = refuses(400, "api.post.create_post.root_id.app_error");
    let pending = refuses(500, "api.post.deduplicate_create_post.pending");
    server.play([PushAct::Honest, gone, PushAct::Honest, pending]);
    told(&world, CHANNEL, thread).await;
    let seen = server.seen();
    let threads: Vec<&str> = seen.iter().map(|message| message.thread.as_str()).collect();
    assert_eq!(threads, [thread, "", thread]);
    for (number, message) in seen.iter().enumerate() {
        assert!(message.text.contains(&format!("Report {number} @\u{200b}all was completed.")));
        assert_eq!(message.chat, CHANNEL);
    }
    assert!(seen[1].text.contains("meant for a thread"), "{seen:?}");
}

#[tokio::test]
async fn d7_a_webhook_whose_answer_is_lost_says_that_it_may_be_a_repeat() {
    let server = PushServer::start(mattermost_hook("fake7key")).await.unwrap();
    let mut world = World::new().await;
    world.set("mattermost.webhook", &format!("{}/hooks/fake7key", server.url()));
    server.play([PushAct::Swallow]);
    told(&world, "town-square", "").await;
    let seen = server.seen();
    let marked: Vec<bool> =
        seen.iter().map(|message| message.text.contains("may be a repeat")).collect();
    assert_eq!(marked, [false, true, false, false], "{seen:?}");
}
