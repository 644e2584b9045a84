//! Slack through the whole stack, set up by Hermes' own variable or by a webhook.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, slack, slack_webhook};
use serde_json::json;

use crate::support::{cards::now, world::World};

fn refuses(error: &str) -> PushAct {
    let body = json!({"ok": false, "error": error});
    PushAct::Answer(PushAnswer::new(200, body.to_string()))
}

/// A world in which Hermes' own file has the tokens of two workspaces, one channel in each.
async fn world() -> (World, PushServer) {
    let platform = slack(&[("xoxb-FAKE-1", &["C1"]), ("xoxb-FAKE-2", &["C2"])]);
    let server = PushServer::start(platform).await.unwrap();
    let mut world = World::new().await;
    world.set("slack.url", &server.url());
    let dotenv = "SLACK_BOT_TOKEN=\"xoxb-FAKE-1, xoxb-FAKE-2\"\n";
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    (world, server)
}

#[tokio::test]
async fn o5_report_78_channels_of_two_workspaces_are_told_once_each_in_order_and_in_their_thread() {
    let (world, server) = world().await;
    let task = world.cards.task("Build <!channel> the report");
    let mut rows = ["C1", "C2"].map(|chat| world.cards.subscribe(&task, "slack", chat));
    world.cards.sql("UPDATE kanban_notify_subs SET thread_id = '1700000000.000100'");
    for row in &mut rows {
        row.thread = "1700000000.000100".to_owned();
    }
    let running = world.start();
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at)
         VALUES ('{task}', 'blocked', '{{}}', {})",
        now()
    ));
    let last = world.cards.complete(&task, "14 pages");
    for row in &rows {
        world.settled(row, last).await;
    }
    running.stop().await.unwrap();
    for chat in ["C1", "C2"] {
        let seen = server.seen();
        let seen: Vec<_> = seen.iter().filter(|message| message.chat == chat).collect();
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen.iter().all(|message| message.thread == "1700000000.000100"));
        assert!(seen[0].text.starts_with("Build <!channel> the report"), "{seen:?}");
        assert!(seen[1].text.contains("14 pages") && !seen[0].text.contains("14 pages"));
    }
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}

/// One task of one subscription is completed; ends once that is settled.
async fn completes_once(world: &World, platform: &str, chat: &str) {
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, platform, chat);
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn d1_report_2_what_was_refused_with_a_200_comes_again_until_it_is_accepted() {
    let (world, server) = world().await;
    server.play([refuses("request_timeout"), refuses("an_error_that_is_new")]);
    completes_once(&world, "slack", "C1").await;
    assert_eq!((server.requests().len(), server.seen().len()), (3, 1));
    assert!(!server.seen()[0].text.contains("repeat"), "{:?}", server.seen());
}

#[tokio::test]
async fn d7_report_2_what_slack_itself_is_in_doubt_about_comes_once_more_and_says_so() {
    let (world, server) = world().await;
    server.play([refuses("internal_error")]);
    completes_once(&world, "slack", "C1").await;
    assert_eq!((server.requests().len(), server.seen().len()), (2, 1));
    assert!(server.seen()[0].text.contains("repeat"), "{:?}", server.seen());
}

#[tokio::test]
async fn d8_report_100_a_header_without_words_is_waited_for() {
    let (world, server) = world().await;
    server.play([PushAct::Answer(PushAnswer::new(429, "").with("retry-after", "1"))]);
    completes_once(&world, "slack", "C1").await;
    assert_eq!((server.requests().len(), server.seen().len()), (2, 1));
    assert!(!server.seen()[0].text.contains("repeat"), "{:?}", server.seen());
}

#[tokio::test]
async fn o5_a_webhook_in_the_environment_is_enough() {
    let platform = slack_webhook("/services/T0/B0/FAKEhook");
    let server = PushServer::start(platform).await.unwrap();
    let world = World::new().await;
    let dotenv = format!("SLACK_WEBHOOK_URL={}/services/T0/B0/FAKEhook\n", server.url());
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    completes_once(&world, "slack_webhook", "team").await;
    assert_eq!(server.seen().len(), 1);
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}
