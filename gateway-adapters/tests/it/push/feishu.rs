//! Feishu, over a strict custom bot that checks signatures.

use std::time::Duration;

use gateway_adapters::{
    push::split::Unit,
    receiver::push::{PushAct, PushAnswer, feishu},
};
use kanban_notify::message::{Parcel, Span};
use serde_json::json;

use super::contract::{Answers, Subject, bench, contract, parcel, to};

const TOKEN: &str = "FAKEtoken-4d1b-a994-790f21fc8d30";

const SUBJECT: Subject = Subject {
    name: "feishu_webhook",
    server: || feishu(TOKEN, "FAKEsecret"),
    settings: &[
        ("url", "{url}/open-apis/bot/v2/hook/FAKEtoken-4d1b-a994-790f21fc8d30"),
        ("secret", "FAKEsecret"),
    ],
    secret: "FAKE",
    chat: "group",
    thread: "",
    unit: Unit::Bytes,
    limit: 19_500,
    markup: false,
    mentions: false,
    answers,
};

contract!(SUBJECT);

fn code(code: i32, msg: &str) -> PushAnswer {
    PushAnswer::new(200, json!({"code": code, "msg": msg, "data": {}}).to_string())
}

const LIMITED: &str = "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]";

fn answers() -> Answers {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let signature = "sign match fail or timestamp is not within one hour from current time";
    vec![
        (code(0, "success"), "delivered", None),
        (PushAnswer::new(200, r#"{"Extra":null,"StatusCode":0}"#), "delivered", None),
        (code(11_232, LIMITED), "busy", None),
        (code(11_220, "too many requests"), "busy", None),
        (code(2_200, "internal service error"), "busy", None),
        (code(9_499, "too many request"), "busy", None),
        (PushAnswer::new(429, "{}").with("retry-after", "7"), "busy", seconds(7)),
        (code(19_001, "param invalid: incoming webhook access token invalid"), "credential", None),
        (code(19_003, "app bot is not in chat"), "credential", None),
        (code(19_021, signature), "credential", None),
        (code(19_022, "Ip Not Allowed"), "credential", None),
        (code(19_024, "Key Words Not Found"), "payload", None),
        (code(9_499, "Bad Request"), "payload", None),
        (PushAnswer { status: 400, ..code(9_499, "Bad Request") }, "payload", None),
        (code(19_002, "params error, msg_type need"), "payload", None),
        (code(19_036, "request body size too large"), "payload", None),
        (code(19_999, "an error that is new"), "retryable", None),
        (PushAnswer { status: 502, ..code(1, "bad gateway") }, "unknown", None),
        (PushAnswer::new(401, "{}"), "credential", None),
        (PushAnswer::new(404, "404 page not found"), "retryable", None),
        (PushAnswer::new(500, ""), "retryable", None),
        (PushAnswer::new(502, "<html>"), "unknown", None),
        (PushAnswer::new(503, ""), "busy", None),
        (PushAnswer::new(200, "<html>a login page</html>"), "unknown", None),
        (PushAnswer::new(200, "{}"), "unknown", None),
    ]
}

#[tokio::test]
async fn a_secret_that_is_wrong_or_missing_is_a_refused_credential() {
    const NONE: Subject = Subject { settings: &[SUBJECT.settings[0]], ..SUBJECT };
    const WRONG: Subject =
        Subject { settings: &[SUBJECT.settings[0], ("secret", "FAKEwrong")], ..SUBJECT };
    for wrong in [NONE, WRONG] {
        let bench = bench(&wrong).await;
        let first = parcel(&wrong, &*bench.channel, vec![Span::quoted("x")]);
        for verdict in [bench.channel.send(&first).await, bench.channel.probe().await] {
            assert_eq!(verdict.name(), "credential");
            assert!(verdict.detail().contains("19021"), "{verdict:?}");
        }
    }
}

#[tokio::test]
async fn report_99_limits_that_are_told_in_a_200_are_no_success() {
    let bench = bench(&SUBJECT).await;
    bench.server.play([code(11_232, LIMITED), code(2_200, "busy")].map(PushAct::Answer));
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    for verdict in ["busy", "busy", "delivered"] {
        assert_eq!(bench.channel.send(&first).await.name(), verdict);
    }
    assert_eq!(bench.server.seen().len(), 1);
}

#[tokio::test]
async fn report_77_a_title_calls_nobody_and_styles_nothing() {
    let bench = bench(&SUBJECT).await;
    let title = "<at user_id=\"all\">all</at> **b** ~~s~~ [click](https://example.org)";
    bench.channel.send(&parcel(&SUBJECT, &*bench.channel, vec![Span::quoted(title)])).await;
    assert_eq!(bench.server.seen()[0].text.replace('\u{200b}', ""), title);
}

#[tokio::test]
async fn a_bot_has_no_threads() {
    let bench = bench(&SUBJECT).await;
    let first = parcel(&SUBJECT, &*bench.channel, vec![Span::quoted("x")]);
    let sent = Parcel { destination: to(&SUBJECT, "om_1"), ..first };
    assert_eq!(bench.channel.send(&sent).await.name(), "thread");
    assert!(bench.server.requests().is_empty());
}
