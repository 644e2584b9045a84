//! The console: one JSON line for each message.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use gateway_adapters::console::Console;
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Fact, Message, Parcel, Span},
    ports::{Channel as _, LookError},
    verdict::{Receipt, Verdict},
};

fn chat() -> Destination {
    Destination::Chat {
        channel: ChannelName("console".to_owned()),
        chat: "ops".to_owned(),
        thread: "7".to_owned(),
    }
}

fn message() -> Message {
    Message {
        spans: vec![Span::ours("t_1 \"done\"\nyes")],
        facts: vec![Fact {
            board: "default".to_owned(),
            task: "t_1".to_owned(),
            event: 10,
            kind: "completed",
        }],
        possible_repeat: true,
        ..Message::default()
    }
}

fn parcel(console: &Console, key: &str) -> Parcel {
    Parcel::new(chat(), key.to_owned(), console.encode(&chat(), &message()))
}

#[tokio::test]
async fn a_message_is_a_line_with_its_facts_and_key() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let console = Console::to(ChannelName("console".to_owned()), written.clone()).unwrap();
    for key in ["k-1", "k\"2"] {
        let verdict = console.send(&parcel(&console, key)).await;
        assert_eq!(verdict, Verdict::Delivered(Receipt::default()));
    }
    let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    let line = concat!(
        r#"{"platform":"console","chat":"ops","thread":"7","text":"t_1 \"done\"\nyes","#,
        r#""events":[{"board":"default","task":"t_1","event":10,"kind":"completed"}],"#,
        r#""possible_repeat":true,"key":"#
    );
    assert_eq!(text, format!("{line}\"k-1\"}}\n{line}\"k\\\"2\"}}\n"));
}

#[tokio::test]
async fn a_session_is_shown_as_a_chat() {
    let console = Console::stdout(ChannelName("console".to_owned())).unwrap();
    let session = Destination::Session {
        channel: ChannelName::api_server("default"),
        session: "s".to_owned(),
    };
    let body = console.encode(&session, &message());
    assert!(body.contains(r#""chat":"s","thread":"","#), "{body}");
}

struct Broken;

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn d8_a_line_that_cannot_be_written_is_tried_again_later() {
    let console =
        Console::to(ChannelName("console".to_owned()), Arc::new(Mutex::new(Broken))).unwrap();
    for _ in 0..2 {
        let verdict = console.send(&parcel(&console, "k")).await;
        assert_eq!(verdict.name(), "retryable", "{verdict:?}");
    }
    assert_eq!(console.probe().await.name(), "delivered");
}

#[tokio::test]
async fn the_console_has_no_history() {
    let console = Console::stdout(ChannelName("console".to_owned())).unwrap();
    assert_eq!(console.look("s", None).await, Err(LookError::Unsupported));
}

#[tokio::test]
async fn a_body_that_is_no_line_is_refused() {
    let console = Console::stdout(ChannelName("console".to_owned())).unwrap();
    let parcel = Parcel::new(chat(), "k".to_owned(), String::new());
    assert_eq!(console.send(&parcel).await.name(), "payload");
}
