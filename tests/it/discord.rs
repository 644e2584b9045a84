//! Discord through the whole stack, set up by Hermes' own variable or by a webhook.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, discord, discord_webhook};
use serde_json::json;

use crate::support::{cards::now, wait::eventually, world::World};

const TOKEN: &str = "MTIz.FAKE-token_for.tests";

/// A world in which Hermes' own file has the bot's token.
async fn world() -> (World, PushServer) {
    let server = PushServer::start(discord(TOKEN, &[("100", &["777"])])).await.unwrap();
    let mut world = World::new().await;
    world.set("discord.url", &server.url());
    let dotenv = format!("DISCORD_BOT_TOKEN={TOKEN}\n");
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    (world, server)
}

#[tokio::test]
async fn o5_report_77_each_event_is_told_once_in_order_and_calls_nobody() {
    let (world, server) = world().await;
    let task = world.cards.task("Build **the** report for @everyone");
    let row = world.cards.subscribe(&task, "discord", "100");
    let running = world.start();
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at)
         VALUES ('{task}', 'blocked', '{{}}', {})",
        now()
    ));
    let last = world.cards.complete(&task, "14 pages: see a_b");
    world.settled(&row, last).await;
    running.stop().await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|message| message.text.starts_with("Build **the** report for @")));
    assert!(seen.iter().all(|message| !message.text.contains("@everyone")), "{seen:?}");
    assert!(seen[0].text.contains("blocked") && seen[1].text.contains("14 pages: see a_b"));
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}

#[tokio::test]
async fn d5_report_74_report_112_a_limit_in_the_middle_repeats_nothing_and_loses_nothing() {
    let (mut world, server) = world().await;
    world.set("discord.max_length", "150");
    let limited =
        json!({"message": "You are being rate limited.", "retry_after": 0.65, "global": false});
    let limited = PushAnswer::new(429, limited.to_string());
    server.play([PushAct::Honest, PushAct::Answer(limited)]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "discord", "100");
    let running = world.start();
    let words: Vec<String> = (0..60).map(|number| format!("w{number}")).collect();
    let event = world.cards.complete(&task, &words.join(" "));
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let told: Vec<String> = server.seen().into_iter().map(|message| message.text).collect();
    let told = told.join(" ");
    let told: Vec<&str> =
        told.split_whitespace().filter(|word| words.iter().any(|w| w == word)).collect();
    assert_eq!(told, words);
}

/// Discord's memory of keys is too short to be relied on.
#[tokio::test]
async fn d7_what_may_have_arrived_comes_once_more_and_says_so() {
    let (world, server) = world().await;
    server.play([PushAct::Swallow]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "discord", "100");
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let marked = server.seen().into_iter().map(|message| message.text.contains("repeat"));
    assert_eq!(marked.collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn d8_report_31_a_thread_that_is_gone_is_left_out_once() {
    let (world, server) = world().await;
    let task = world.cards.task("Build the report");
    let mut row = world.cards.subscribe(&task, "discord", "100");
    world.cards.sql("UPDATE kanban_notify_subs SET thread_id = '778'");
    row.thread = "778".to_owned();
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].chat.as_str(), seen[0].thread.as_str()), (1, "100", ""));
    assert!(seen[0].text.contains("meant for a thread"), "{seen:?}");
}

#[tokio::test]
async fn d8_report_108_a_webhook_that_is_gone_is_left_alone_and_a_new_address_goes_on_by_itself() {
    let server = PushServer::start(discord_webhook("FAKEhook", &[])).await.unwrap();
    let world = World::new().await;
    let env = world.hermes().join(".env");
    let dotenv =
        |token: &str| format!("DISCORD_WEBHOOK_URL={}/api/webhooks/200/{token}\n", server.url());
    std::fs::write(&env, dotenv("FAKEgone")).unwrap();
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "discord_webhook", "team");
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    let paused = eventually("the channel rests", || {
        let pause = world.operator().pauses().unwrap().into_iter().next();
        pause.filter(|pause| pause.credential == 1)
    })
    .await;
    assert!(paused.reason.contains("DISCORD_WEBHOOK_URL in "), "{paused:?}");
    assert!(!paused.reason.contains("FAKE"), "{paused:?}");
    std::fs::write(&env, dotenv("FAKEhook")).unwrap();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(server.seen().len(), 1);
    let wrong = server.requests().into_iter().filter(|request| request.path.contains("FAKEgone"));
    assert_eq!(wrong.count(), 1, "it is asked once");
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}
