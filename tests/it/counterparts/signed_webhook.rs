//! Signed webhooks, checked by the libraries of Standard Webhooks and of Svix.

use serde_json::{Value, json};

use crate::support::{
    counterpart::{Counterpart, python},
    world::World,
};

const SECRET: &str = "whsec_RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";
const OTHER: &str = "whsec_b2xkc2VjcmV0b2Z0aGVvcGVyYXRvci0t";

#[tokio::test]
async fn both_libraries_find_each_message_signed_once_and_in_order() {
    let Some(python) = python() else { return };
    let mut world = World::new().await;
    let script = include_str!("webhook_receiver.py");
    let mut receiver = Counterpart::start(&python, script, &[SECRET], world.folder()).await;
    let url = format!("http://127.0.0.1:{}/hook", receiver.port);
    // While the secret is changed, one of two signatures is the receiver's.
    world.set("signed_webhook.secret", &format!("{OTHER},{SECRET}"));
    world.set("signed_webhook.targets", &format!("team={url}"));
    world.set("signed_webhook.allow_private", "127.0.0.1");
    let titles = ["Build the report", "日本語の報告 \u{1f600} <b>\\"];
    let tasks = titles.map(|title| world.cards.task(title));
    let rows: Vec<_> =
        tasks.iter().map(|task| world.cards.subscribe(task, "signed_webhook", "team")).collect();
    let running = world.start();
    let mut ids = Vec::new();
    for ((task, row), title) in tasks.iter().zip(&rows).zip(titles) {
        let event = world.cards.complete(task, "done once");
        let told = receiver.next().await;
        assert_eq!(told["found"], json!(["webhook-", "svix-"]), "{told}");
        let body = &told["body"];
        assert_eq!(body["type"], "kanban.completed");
        assert_eq!(body["data"]["events"][0]["task"], **task);
        assert_eq!(body["data"]["events"][0]["event"], event);
        let text = body["data"]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{title} was completed.\n")), "{text}");
        ids.push(told["id"].as_str().unwrap().to_owned());
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(receiver.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn report_128_a_receiver_with_another_secret_refuses_and_the_message_waits_for_the_operator()
{
    let Some(python) = python() else { return };
    let mut world = World::new().await;
    let script = include_str!("webhook_receiver.py");
    let mut receiver = Counterpart::start(&python, script, &[OTHER], world.folder()).await;
    let url = format!("http://127.0.0.1:{}/hook", receiver.port);
    world.set("signed_webhook.targets", &format!("team={url}#{SECRET}"));
    world.set("signed_webhook.allow_private", "127.0.0.1");
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "signed_webhook", "team");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    world.legs("parked", 1).await;
    running.stop().await.unwrap();
    let told = receiver.next().await;
    assert_eq!(told["found"], json!([]), "{told}");
    assert_eq!(told["errors"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(receiver.rest().await, Vec::<Value>::new(), "it is asked once");
}
