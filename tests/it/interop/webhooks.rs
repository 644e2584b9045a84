//! Hermes' own webhook platform takes what we sign, and drops what it has seen.

use gateway_adapters::{
    http::{HttpClient, HttpClientConfig},
    push::{Settings, platform},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
};
use serde_json::Value;

use crate::support::{
    counterpart::Counterpart,
    hermes::{free_port, require},
    world::World,
};

const SCRIPT: &str = include_str!("hermes_webhook.py");
const SECRET: &str = "whsec_RkFLRXNlY3JldGZvcnRlc3RzLTI0Ynl0";

#[tokio::test]
async fn its_route_takes_each_message_once_and_in_order() {
    let Some(hermes) = require() else { return };
    let mut world = World::new().await;
    let home = world.folder().join("webhook-home");
    std::fs::create_dir(&home).unwrap();
    let port = free_port().to_string();
    let python = hermes.program("python");
    let mut receiver = Counterpart::start(&python, SCRIPT, &[&port, SECRET], &home).await;
    let url = format!("http://127.0.0.1:{}/webhooks/kanban", receiver.port);
    world.set("signed_webhook.secret", SECRET);
    world.set("signed_webhook.targets", &format!("agent={url}"));
    world.set("signed_webhook.allow_private", "127.0.0.0/8");
    let tasks = ["Build the report", "日本語の報告"].map(|title| (world.cards.task(title), title));
    let rows: Vec<_> = tasks
        .iter()
        .map(|(task, _)| world.cards.subscribe(task, "signed_webhook", "agent"))
        .collect();
    let running = world.start();
    for ((task, title), row) in tasks.iter().zip(&rows) {
        let event = world.cards.complete(task, "done once");
        let told = receiver.next().await;
        let text = told["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{title} was completed.\n")), "{text}");
        assert!(told["id"].as_str().unwrap().starts_with("kgw-"), "{told}");
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
    world.legs("delivered", 2).await;
    assert_eq!(receiver.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn d7_what_is_sent_again_under_its_id_is_dropped_there() {
    let Some(hermes) = require() else { return };
    let home = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let python = hermes.program("python");
    let mut receiver = Counterpart::start(&python, SCRIPT, &[&port, SECRET], home.path()).await;
    let platform = platform("signed_webhook").unwrap();
    let mut settings = Settings::default();
    let targets = format!("agent=http://127.0.0.1:{}/webhooks/kanban", receiver.port);
    for (name, value) in
        [("targets", &*targets), ("secret", SECRET), ("allow_private", "127.0.0.1")]
    {
        let field = platform.fields.iter().find(|field| field.name == name).unwrap();
        settings.set(field, value);
    }
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    let channel = (platform.make)(client, &settings).unwrap();
    let destination = Destination::Chat {
        channel: ChannelName("signed_webhook".to_owned()),
        chat: "agent".to_owned(),
        thread: String::new(),
    };
    let facts = vec![kanban_notify::message::Fact {
        board: "default".to_owned(),
        task: "t_1".to_owned(),
        event: 1,
        kind: "completed",
    }];
    let message = Message { spans: vec![Span::ours("once")], facts, ..Message::default() };
    let body = channel.encode(&destination, &message);
    let parcel = Parcel::new(destination, "kgw-1".to_owned(), body);
    for _ in 0..2 {
        assert_eq!(channel.send(&parcel).await.name(), "delivered");
    }
    assert_eq!(receiver.next().await["id"], "kgw-1");
    assert_eq!(receiver.rest().await, Vec::<Value>::new());
}
