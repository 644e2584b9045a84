//! WeCom, over a strict bot of a group.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, wecom},
};
use kanban_notify::message::{Parcel, Span};
use serde_json::json;

use super::contract::{Answers, Subject, bench, contract, hint, parcel, to};

const KEY: &str = "73febdcb-FAKE-4d1b-FAKE-790f21fc8d30";

const SUBJECT: Subject = Subject {
    name: "wecom_webhook",
    server: || wecom(KEY),
    settings: &[("url", "{url}/cgi-bin/webhook/send?key=73febdcb-FAKE-4d1b-FAKE-790f21fc8d30")],
    secret: "FAKE",
    chat: "group",
    thread: "",
    unit: Unit::Bytes,
    limit: 2_048,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn code(code: i32, words: &str) -> PushAnswer {
    PushAnswer::new(200, json!({"errcode": code, "errmsg": words}).to_string())
}

const LIMITED: &str = "api freq out of limit";

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let mut answers = vec![
        (code(0, "ok"), "delivered", None),
        (code(45_009, LIMITED), "busy", seconds(60)),
        (code(45_033, "api concurrent out of limit"), "busy", seconds(60)),
        (code(-1, "system error"), "busy", None),
        (PushAnswer::new(429, "").with("retry-after", "7"), "busy", seconds(7)),
        (code(99, "an error that is new"), "retryable", None),
        (PushAnswer::new(401, "{}"), "credential", None),
        (PushAnswer::new(404, "<html>"), "retryable", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, ""), "unknown", None),
    ];
    for (number, words, verdict) in [
        (93_000, "invalid webhook url, hint: [1592021214_50_551f]", "credential"),
        (93_004, "robot is stopped", "credential"),
        (93_008, "not in group", "credential"),
        (93_000, "Invalid input : content exceed max length. invalid Request Parameter", "payload"),
        (40_058, "text.content exceed max length 2048. invalid Request Parameter", "payload"),
        (40_008, "invalid message type", "payload"),
        (40_035, "invalid parameter", "payload"),
        (44_004, "empty content", "payload"),
        (45_002, "content size out of limit", "payload"),
        (47_001, "data format error", "payload"),
    ] {
        answers.push((code(number, words), verdict, None));
    }
    answers
}

#[tokio::test]
async fn a_bot_that_has_no_room_is_left_alone_for_a_minute() {
    let bench = bench(&SUBJECT).await;
    bench.server.play([PushAct::Answer(code(45_009, LIMITED))]);
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    assert_eq!(hint(&bench.channel.send(&first).await), Some(Duration::from_secs(60)));
    let again = bench.channel.send(&first).await;
    assert!(hint(&again).is_some_and(|wait| wait > Duration::from_secs(50)), "{again:?}");
    assert_eq!(bench.server.requests().len(), 1, "it is not asked again");
}

#[tokio::test]
async fn report_108_an_address_that_is_refused_is_not_repeated_anywhere() {
    let settings = &[("url", "{url}/cgi-bin/webhook/send?key=FAKE-wrong-0000-0000-0000")];
    let wrong = Subject { settings, ..SUBJECT };
    let bench = bench(&wrong).await;
    let first = parcel(&wrong, &*bench.channel, vec![Span::quoted("x")]);
    for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
        assert_eq!(verdict.name(), "credential");
        assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
    }
    let words =
        "no FAKE-wrong-0000-0000-0000 at /cgi-bin/webhook/send?key=FAKE-wrong-0000-0000-0000";
    bench.server.play([PushAct::Answer(code(93_000, words))]);
    let verdict = bench.channel.send(&first).await;
    assert!(!format!("{verdict:?}").contains("FAKE"), "{verdict:?}");
}

#[tokio::test]
async fn a_bot_has_no_threads() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let sent = Parcel { destination: to(&SUBJECT, "msg1"), ..first };
    assert_eq!(bench.channel.send(&sent).await.name(), "thread");
    assert!(bench.server.requests().is_empty());
}
