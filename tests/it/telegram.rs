//! Telegram through the whole stack: real board, real gateway, a strict Bot API in the place of the real one.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, telegram};
use gateway_bin::{Gateway, Options, StartError};
use serde_json::{Value, json};

use crate::{
    ownership::a_live_hermes,
    support::{
        wait::{eventually, soon},
        world::World,
    },
};

const TOKEN: &str = "123456:FAKE-token_for_tests";

async fn platform() -> PushServer {
    PushServer::start(telegram(TOKEN)).await.unwrap()
}

/// A world whose configuration names the bot.
async fn configured(platform: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("telegram.token", TOKEN);
    world.set("telegram.url", &platform.url());
    world
}

/// A world in which only Hermes' own file has the bot's token.
async fn found(platform: &PushServer) -> World {
    let mut world = World::new().await;
    world.set("telegram.url", &platform.url());
    let dotenv = format!("TELEGRAM_BOT_TOKEN={TOKEN}\n");
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    world
}

fn refuses(code: u16, description: &str, parameters: Value) -> PushAct {
    let body = json!({"ok": false, "error_code": code, "description": description, "parameters": parameters});
    PushAct::Answer(PushAnswer::new(code, body.to_string()))
}

#[tokio::test]
async fn o5_a_token_in_hermes_own_file_is_enough() {
    let platform = platform().await;
    let world = found(&platform).await;
    let task = world.cards.task("Build <b> the report");
    let row = world.cards.subscribe(&task, "telegram", "-1001");
    let running = world.start();
    let event = world.cards.complete(&task, "see @everyone");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = platform.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].chat.as_str(), seen[0].rich), ("-1001", true));
    assert!(seen[0].text.starts_with("Build <b> the report was completed.\n"), "{seen:?}");
    assert!(!seen[0].text.contains("@everyone"));
    let ledger = std::fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}

#[tokio::test]
async fn o4_a_live_hermes_keeps_its_rows_and_is_refused_only_what_we_were_told_to_serve() {
    let platform = platform().await;
    let mut world = World::new().await;
    let dotenv = format!("TELEGRAM_BOT_TOKEN={TOKEN}\n");
    std::fs::write(world.hermes().join(".env"), dotenv).unwrap();
    a_live_hermes(&world, &["telegram"]);
    let task = world.cards.task("Build the report");
    let theirs = world.cards.subscribe(&task, "telegram", "1");
    let ours = world.cards.subscribe(&task, "api_server", "sess-abc");
    let before = world.cards.row(&theirs);
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&ours, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.cards.row(&theirs), before);

    world.set("telegram.url", &platform.url());
    let refused = Gateway::build(world.config(), world.env(), Options::default()).err();
    assert!(matches!(refused, Some(StartError::Contested(_))), "{refused:?}");
    world.set("alongside", "telegram");
    let running = world.start();
    world.settled(&theirs, event).await;
    running.stop().await.unwrap();
    assert_eq!(platform.seen().len(), 1);
}

#[tokio::test]
async fn d8_report_31_a_topic_that_is_gone_is_left_out_once() {
    let platform = platform().await;
    let world = configured(&platform).await;
    platform.play([refuses(400, "Bad Request: message thread not found", json!({}))]);
    let task = world.cards.task("Build the report");
    let mut row = world.cards.subscribe(&task, "telegram", "-1001");
    world.cards.sql("UPDATE kanban_notify_subs SET thread_id = '55'");
    row.thread = "55".to_owned();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = platform.seen();
    assert_eq!((seen.len(), seen[0].thread.as_str()), (1, ""));
    assert!(seen[0].text.contains("meant for a thread"), "{seen:?}");
}

#[tokio::test]
async fn d8_report_137_a_group_that_was_upgraded_is_followed_also_after_a_restart() {
    let platform = platform().await;
    let world = configured(&platform).await;
    let to = json!({"migrate_to_chat_id": -1002});
    platform.play([refuses(400, "Bad Request: group chat was upgraded to a supergroup chat", to)]);
    for _ in 0..2 {
        let task = world.cards.task("Build the report");
        let row = world.cards.subscribe(&task, "telegram", "-1001");
        let running = world.start();
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
        running.stop().await.unwrap();
    }
    let chats: Vec<String> = platform.seen().into_iter().map(|message| message.chat).collect();
    assert_eq!(chats, ["-1002", "-1002"]);
    assert_eq!(platform.requests().len(), 3, "the old id is asked once");
}

#[tokio::test]
async fn d8_report_69_one_chat_that_is_limited_holds_up_no_other_and_is_not_asked_after_a_restart()
{
    let platform = platform().await;
    let world = configured(&platform).await;
    platform.play([refuses(429, "Too Many Requests", json!({"retry_after": 1000}))]);
    let task = world.cards.task("Build the report");
    world.cards.subscribe(&task, "telegram", "1");
    let running = world.start();
    world.cards.complete(&task, "done once");
    world.legs("retrying", 1).await;
    running.stop().await.unwrap();

    let other = world.cards.task("Build the other report");
    let row = world.cards.subscribe(&other, "telegram", "2");
    let running = world.start();
    let event = world.cards.complete(&other, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = platform.seen();
    assert_eq!((seen.len(), seen[0].chat.as_str()), (1, "2"));
    assert_eq!(platform.requests().len(), 2, "the limited one was not asked again");
}

#[tokio::test]
async fn d8_a_refused_token_pauses_the_channel_and_a_new_one_in_the_file_goes_on_by_itself() {
    let platform = platform().await;
    let world = found(&platform).await;
    let env = world.hermes().join(".env");
    std::fs::write(&env, "TELEGRAM_BOT_TOKEN=1:FAKE-wrong\n").unwrap();
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "1");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    soon("a request", platform.next()).await.unwrap();
    let paused = eventually("the channel rests", || {
        let pause = world.operator().pauses().unwrap().into_iter().next();
        pause.filter(|pause| pause.credential == 1)
    })
    .await;
    assert!(paused.reason.contains("TELEGRAM_BOT_TOKEN in "), "{paused:?}");
    assert!(!paused.reason.contains("FAKE"), "{paused:?}");
    assert!(platform.seen().is_empty());
    std::fs::write(&env, format!("TELEGRAM_BOT_TOKEN={TOKEN}\n")).unwrap();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(platform.seen().len(), 1);
}

#[tokio::test]
async fn d5_report_74_a_limit_in_the_middle_repeats_nothing_and_loses_nothing() {
    let platform = platform().await;
    let mut world = configured(&platform).await;
    world.set("telegram.max_length", "150");
    platform.play([PushAct::Honest, refuses(429, "Too Many Requests", json!({"retry_after": 1}))]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "telegram", "1");
    let running = world.start();
    let words: Vec<String> = (0..60).map(|number| format!("w{number}")).collect();
    let event = world.cards.complete(&task, &words.join(" "));
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen: Vec<String> = platform.seen().into_iter().map(|message| message.text).collect();
    assert!(seen.len() > 1 && seen.iter().all(|text| text.chars().count() <= 150), "{seen:?}");
    let told = seen.join(" ");
    let told: Vec<&str> =
        told.split_whitespace().filter(|word| words.iter().any(|w| w == word)).collect();
    assert_eq!(told, words);
}

/// A platform that never answers is no reason for others to wait.
#[tokio::test]
async fn d4_report_139_a_hanging_platform_delays_nobody_else() {
    let platform = platform().await;
    let mut world = configured(&platform).await;
    world.set("grace", "0s");
    platform.play([PushAct::Hang]);
    let task = world.cards.task("Build the report");
    world.cards.subscribe(&task, "telegram", "1");
    let (other, row) = world.cards.asked("Build the other report", "sess-abc");
    let running = world.start();
    world.cards.complete(&task, "done once");
    soon("the hanging request", platform.next()).await.unwrap();
    let event = world.cards.complete(&other, "done once");
    world.settled(&row, event).await;
    drop(running);
}
