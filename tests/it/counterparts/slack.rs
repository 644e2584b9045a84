//! slack_sdk against our stand-ins for the Web API and for an incoming webhook.

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushServer, slack, slack_webhook};
use serde_json::{Value, json};

use crate::support::counterpart::{python, told};

const TOKEN: &str = "xoxb-FAKE-1";

async fn web_api() -> PushServer {
    PushServer::start(slack(&[(TOKEN, &["C1"])])).await.unwrap()
}

/// What the library made of the answers to these messages; an empty one asks who the token is.
///
/// Without a token the address is that of a webhook.
async fn calls(url: &str, token: &str, calls: Value) -> Option<Vec<Value>> {
    let home = tempfile::tempdir().unwrap();
    let arguments = [url, token, &calls.to_string()];
    Some(told(&python()?, include_str!("slack_client.py"), &arguments, home.path()).await)
}

fn message(channel: &str, text: &str) -> Value {
    json!({"channel": channel, "text": text, "mrkdwn": false, "link_names": false})
}

#[tokio::test]
async fn what_the_library_sends_is_accepted_and_what_is_wrong_is_refused_by_names_it_knows() {
    let server = web_api().await;
    let mut threaded = message("C1", "Build &lt;b&gt; \u{1f600}");
    threaded["thread_ts"] = "1700000000.000100".into();
    let mut astray = message("C1", "x");
    astray["thread_ts"] = "17".into();
    let messages = json!([
        {},
        threaded,
        message("C9", "x"),
        message("C1", " "),
        message("C1", &"a".repeat(4_001)),
        astray,
    ]);
    let Some(told) = calls(&server.url(), TOKEN, messages).await else { return };
    assert_eq!(told[0]["team"], "Example", "{told:?}");
    assert_eq!(
        (&told[1]["sent"], &told[1]["channel"]),
        (&json!("1503435956.000247"), &json!("C1"))
    );
    let names = ["channel_not_found", "no_text", "msg_too_long", "invalid_thread_ts"];
    for (told, name) in told[2..].iter().zip(names) {
        let refused =
            json!({"raised": "SlackApiError", "status": 200, "error": name, "retry_after": null});
        assert_eq!(*told, refused);
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].text, "Build <b> \u{1f600}");
    assert_eq!((seen[0].chat.as_str(), seen[0].thread.as_str()), ("C1", "1700000000.000100"));
}

#[tokio::test]
async fn each_refusal_is_an_error_with_its_name_and_a_limit_with_its_seconds() {
    let server = web_api().await;
    let refused = |status, name: &str| {
        PushAnswer::new(status, json!({"ok": false, "error": name}).to_string())
    };
    server.play(
        [
            refused(429, "ratelimited").with("retry-after", "30"),
            refused(200, "is_archived"),
            refused(200, "token_revoked"),
            refused(200, "internal_error"),
            refused(503, "service_unavailable"),
        ]
        .map(PushAct::Answer),
    );
    let messages = json!(vec![message("C1", "x"); 6]);
    let Some(told) = calls(&server.url(), TOKEN, messages).await else { return };
    for (told, (status, name, retry_after)) in told.iter().zip([
        (429, "ratelimited", json!("30")),
        (200, "is_archived", Value::Null),
        (200, "token_revoked", Value::Null),
        (200, "internal_error", Value::Null),
        (503, "service_unavailable", Value::Null),
    ]) {
        let error = json!({"raised": "SlackApiError", "status": status, "error": name, "retry_after": retry_after});
        assert_eq!(*told, error);
    }
    assert_eq!(told[5]["channel"], "C1");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_token_of_nobody_is_one_for_the_library_too() {
    let server = web_api().await;
    let Some(told) = calls(&server.url(), "xoxb-FAKE-9", json!([{}, message("C1", "x")])).await
    else {
        return;
    };
    assert!(told.iter().all(|told| told["error"] == "invalid_auth"), "{told:?}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_webhook_answers_the_library_in_plain_words() {
    let server = PushServer::start(slack_webhook("/services/T0/B0/FAKEhook")).await.unwrap();
    let limited = PushAnswer::new(429, "rate_limited").with("retry-after", "1");
    server.play([PushAct::Honest, PushAct::Honest, PushAct::Answer(limited)]);
    let good = json!({"text": "Build", "mrkdwn": false});
    let messages = json!([good, {"text": "x", "mrkdwn": false, "blocks": 7}, good]);
    let url = format!("{}/services/T0/B0/FAKEhook", server.url());
    let Some(told) = calls(&url, "", messages).await else { return };
    assert_eq!(
        told,
        [
            json!({"status": 200, "body": "ok"}),
            json!({"status": 400, "body": "invalid_payload"}),
            json!({"status": 429, "body": "rate_limited"}),
        ]
    );
    let gone = json!([good]);
    let Some(told) = calls(&format!("{}/services/T0/B0/no", server.url()), "", gone).await else {
        return;
    };
    assert_eq!(told, [json!({"status": 404, "body": "no_service"})]);
    assert_eq!(server.seen().len(), 1);
}
