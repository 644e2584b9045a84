//! Zulip, over a strict server.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, zulip},
};
use kanban_notify::message::{Destination, Fact, Message, Parcel, Span};
use serde_json::json;

use super::contract::{Answers, Subject, bench, contract, hint, parcel, to};

const KEY: &str = "aFAKEkeyfortests";

const SUBJECT: Subject = Subject {
    name: "zulip",
    server: || zulip("kanban-bot@example.org", KEY),
    settings: &[("email", "kanban-bot@example.org"), ("api_key", KEY)],
    secret: "FAKEkeyfortests",
    chat: "ops",
    thread: "releases & more",
    unit: Unit::Chars,
    limit: 10_000,
    markup: false,
    // The server refuses a sign that could begin one.
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn error(status: u16, code: &str, words: &str) -> PushAnswer {
    let body = json!({"result": "error", "code": code, "msg": words});
    PushAnswer::new(status, body.to_string())
}

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
    let limit = json!({"result": "error", "code": "RATE_LIMIT_HIT", "msg": "API usage exceeded",
        "retry-after": 28.5});
    vec![
        (PushAnswer::new(429, limit.to_string()), "busy", seconds(28.5)),
        (PushAnswer::new(429, "").with("retry-after", "7"), "busy", seconds(7.0)),
        (PushAnswer::new(429, "").with("x-ratelimit-reset", "9999999999"), "busy", seconds(3600.0)),
        (PushAnswer::new(429, ""), "busy", None),
        (error(401, "INVALID_API_KEY", "Invalid API key"), "credential", None),
        (error(401, "USER_DEACTIVATED", "Account is deactivated"), "credential", None),
        (
            error(403, "REALM_DEACTIVATED", "This organization has been deactivated"),
            "credential",
            None,
        ),
        (error(400, "STREAM_DOES_NOT_EXIST", "Channel 'x' does not exist"), "target", None),
        (error(400, "BAD_REQUEST", "Not authorized to send to channel 'x'"), "target", None),
        (error(400, "BAD_REQUEST", "Invalid character in topic"), "thread", None),
        (error(400, "REQUEST_VARIABLE_MISSING", "Missing 'content' argument"), "payload", None),
        (PushAnswer::new(413, "<html>"), "payload", None),
        (PushAnswer::new(404, "<html>no such organization"), "retryable", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, r#"{"result":"success"}"#), "unknown", None),
        (PushAnswer::new(200, r#"{"result":"error","id":1}"#), "unknown", None),
    ]
}

/// A part about a task, for a subscription without a thread.
fn about(bench: &super::contract::Bench, title: &str) -> Parcel {
    let fact = Fact { board: "b".into(), task: "t_0a1b2c3d".into(), event: 1, kind: "completed" };
    let spans =
        vec![Span::ours("(may be a repeat) "), Span::quoted(title), Span::ours(" is done.")];
    let message = Message { spans, facts: vec![fact], ..Message::default() };
    let destination = to(&SUBJECT, "");
    let body = bench.channel.encode(&destination, &message);
    Parcel::new(destination, "kgw-1".to_owned(), body)
}

#[tokio::test]
async fn a_task_has_its_topic_unless_one_is_set() {
    let long = "very long title ".repeat(9);
    for (title, topic) in [
        ("Build *it*", "Build *it* (t_0a1b2c3d)"),
        ("a\tb\nc", "a b c (t_0a1b2c3d)"),
        // Signs that Unicode keeps free, and Zulip refuses.
        ("a\u{ffff}b\u{fdd0}c\u{1fffe}", "a b c (t_0a1b2c3d)"),
        ("", "(t_0a1b2c3d)"),
        (&long, "very long title very long title very long title (t_0a1b2c3d)"),
    ] {
        let bench = bench(&SUBJECT).await;
        assert_eq!(bench.channel.send(&about(&bench, title)).await.name(), "delivered");
        assert_eq!(bench.server.seen()[0].thread, topic);
    }
    let settings = &[("email", "kanban-bot@example.org"), ("api_key", KEY), ("topic", "all of it")];
    let bench = bench(&Subject { settings, ..SUBJECT }).await;
    bench.channel.send(&about(&bench, "x")).await;
    assert_eq!(bench.server.seen()[0].thread, "all of it");
}

/// As `test-send` sends one: it is about no task.
#[tokio::test]
async fn a_message_about_nothing_has_a_topic_too() {
    let bench = bench(&SUBJECT).await;
    let subject = Subject { thread: "", ..SUBJECT };
    let sent = parcel(&subject, &*bench.channel, vec![Span::ours("test message")]);
    assert_eq!(bench.channel.send(&sent).await.name(), "delivered");
    assert_eq!(bench.server.seen()[0].thread, "kanban");
}

#[tokio::test]
async fn a_chat_is_a_channel_by_name_or_number_or_a_person() {
    for (chat, verdict) in [
        ("7", "delivered"),
        ("ann@example.org", "delivered"),
        ("bob@example.org", "target"),
        ("[\"ops\"]", "target"),
        ("8", "target"),
        (" ", "target"),
    ] {
        let bench = bench(&SUBJECT).await;
        let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
        if let Destination::Chat { chat: to, .. } = &mut parcel.destination {
            *to = chat.to_owned();
        }
        assert_eq!(bench.channel.send(&parcel).await.name(), verdict, "{chat}");
        assert!(bench.server.seen().iter().all(|message| message.chat == chat));
    }
}

#[tokio::test]
async fn a_limit_is_one_of_the_bot_also_where_the_last_answer_was_good() {
    for (answer, first) in [
        (error(429, "RATE_LIMIT_HIT", "x").with("retry-after", "60"), "busy"),
        (
            PushAnswer::new(200, r#"{"result":"success","id":1}"#)
                .with("x-ratelimit-remaining", "0")
                .with("x-ratelimit-reset", "9999999999"),
            "delivered",
        ),
    ] {
        let bench = bench(&SUBJECT).await;
        bench.server.play([PushAct::Answer(answer)]);
        let mut parcel = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
        assert_eq!(bench.channel.send(&parcel).await.name(), first);
        if let Destination::Chat { chat, .. } = &mut parcel.destination {
            *chat = "7".to_owned();
        }
        let verdict = bench.channel.send(&parcel).await;
        assert!(hint(&verdict) > Some(Duration::from_secs(50)), "{verdict:?}");
        assert_eq!(bench.server.requests().len(), 1);
    }
}
