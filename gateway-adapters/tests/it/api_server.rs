//! Wakes against the receiver: what is sent, and the verdict on every status (laws W1, W2, W7).

use gateway_adapters::{
    api_server::ApiServerLimits,
    receiver::{Receiver, ReceiverConfig},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::Channel as _,
    verdict::Verdict,
};

use crate::support::{KEY, api, api_of, hasty, name, nobody, parcel, to};

async fn receiver(script: &str) -> Receiver {
    Receiver::start(ReceiverConfig { script: script.parse().unwrap(), ..ReceiverConfig::default() })
        .await
        .unwrap()
}

/// The names of the verdicts on as many wakes as the script has items, each with a key of its own.
async fn verdicts(script: &str) -> Vec<&'static str> {
    let receiver = receiver(script).await;
    let server = api_of(&receiver);
    let mut names = Vec::new();
    for n in 0..script.split(',').count() {
        let verdict = server.send(&parcel(&server, "s", &format!("k{n}"))).await;
        names.push(verdict.name());
    }
    names
}

#[tokio::test]
async fn w1_a_wake_is_one_user_turn_in_the_raw_session() {
    let receiver = receiver("200").await;
    let server = api_of(&receiver);
    let session = "agent:main séance";
    let verdict = server.send(&parcel(&server, session, "key-1")).await;
    let Verdict::Delivered(receipt) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(receipt.session.as_deref(), Some(session));
    assert_eq!(receipt.note.as_str(), "");
    assert!(receipt.remote_id.unwrap().starts_with("chatcmpl-"));

    let wake = receiver.next_wake().await;
    assert_eq!((wake.method.as_str(), wake.path.as_str()), ("POST", "/v1/chat/completions"));
    let bearer = format!("Bearer {KEY}");
    let length = wake.body.len().to_string();
    for (header, value) in [
        ("authorization", Some(bearer.as_str())),
        ("x-hermes-session-id", Some(session)),
        ("idempotency-key", Some("key-1")),
        ("content-type", Some("application/json")),
        ("content-length", Some(length.as_str())),
        ("transfer-encoding", None),
        ("origin", None),
    ] {
        assert_eq!(wake.header(header), value, "{header}");
    }
    assert_eq!(
        wake.body,
        r#"{"model":"hermes-agent","messages":[{"role":"user","content":"[kanban] t_1 completed"}],"stream":false}"#
    );
    assert_eq!(receiver.turns(session), 1);
}

#[tokio::test]
async fn d3_what_was_pinned_is_sent_byte_for_byte() {
    let receiver = receiver("200").await;
    let server = api_of(&receiver);
    let body = r#"{ "messages":[{"role":"user","content":"x"}],  "model":"old" }"#;
    let parcel = Parcel::new(to("s"), "k".to_owned(), body.to_owned());
    assert_eq!(server.send(&parcel).await.name(), "delivered");
    assert_eq!(receiver.next_wake().await.body, body);
}

#[tokio::test]
async fn w7_the_table_of_statuses() {
    for (script, expected) in [
        ("200", "delivered"),
        ("incomplete", "delivered"),
        ("failed", "failed_turn"),
        ("502", "failed_turn"),
        ("201", "unknown"),
        ("204", "unknown"),
        ("301", "retryable"),
        ("302", "retryable"),
        ("304", "retryable"),
        ("307", "retryable"),
        ("400", "payload"),
        ("401", "credential"),
        ("402", "retryable"),
        ("403", "credential"),
        ("404", "retryable"),
        ("405", "retryable"),
        ("408", "retryable"),
        ("409", "busy"),
        ("410", "retryable"),
        ("413", "payload"),
        ("422", "payload"),
        ("425", "retryable"),
        ("429", "busy"),
        ("500", "retryable"),
        ("501", "unknown"),
        ("503", "busy"),
        ("504", "unknown"),
        ("505", "unknown"),
        ("599", "unknown"),
        ("drop", "unknown"),
        ("lose", "unknown"),
    ] {
        assert_eq!(verdicts(script).await, [expected], "{script}");
    }
    assert_eq!(verdicts("500,500,200").await, ["retryable", "retryable", "delivered"]);
}

#[tokio::test]
async fn w7_an_incomplete_turn_is_delivered_and_noted() {
    let receiver = receiver("incomplete").await;
    let server = api_of(&receiver);
    let verdict = server.send(&parcel(&server, "s", "k")).await;
    assert_eq!((verdict.name(), verdict.detail()), ("delivered", "incomplete"));
}

#[tokio::test]
async fn w7_a_failed_turn_tells_why() {
    let receiver = receiver("failed,502").await;
    let server = api_of(&receiver);
    let failed = server.send(&parcel(&server, "s", "k1")).await;
    assert_eq!(failed.detail(), "HTTP 200: The model could not be reached.");
    let failed = server.send(&parcel(&server, "s", "k2")).await;
    assert_eq!(failed.detail(), "HTTP 502 agent_incomplete: Agent run did not produce a response.");
}

#[tokio::test]
async fn d8_busy_carries_the_hint() {
    let receiver = Receiver::start(ReceiverConfig {
        script: "429,503".parse().unwrap(),
        retry_after: "2.5".to_owned(),
        ..ReceiverConfig::default()
    })
    .await
    .unwrap();
    let server = api_of(&receiver);
    for _ in 0..2 {
        let verdict = server.send(&parcel(&server, "s", "k")).await;
        let Verdict::Busy { retry_after, .. } = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(retry_after.unwrap().as_millis(), 2500);
    }
    assert_eq!(receiver.turns("s"), 0);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let receiver = receiver("302,307,308").await;
    let server = api_of(&receiver);
    for _ in 0..3 {
        let verdict = server.send(&parcel(&server, "s", "k")).await;
        assert_eq!(verdict.name(), "retryable");
    }
    assert_eq!(receiver.requests().len(), 3);
}

#[tokio::test]
async fn w2_an_id_that_no_server_takes_is_not_sent() {
    let receiver = receiver("200").await;
    let server = api_of(&receiver);
    for session in ["", " ", " s", "a/b", "..", "c:x", "a\nb", &"x".repeat(257)] {
        let verdict = server.send(&parcel(&server, session, "k")).await;
        assert_eq!(verdict.name(), "target", "{session:?}");
        assert!(verdict.detail().contains("session id"), "{verdict:?}");
    }
    let chat = Destination::Chat { channel: name(), chat: "s".to_owned(), thread: String::new() };
    let chat = Parcel::new(chat, "k".to_owned(), "{}".to_owned());
    assert_eq!(server.send(&chat).await.name(), "target");
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn w3_the_session_that_took_the_turn_is_in_the_receipt() {
    let receiver = receiver("200").await;
    receiver.rotate("old", "new");
    let server = api_of(&receiver);
    let verdict = server.send(&parcel(&server, "old", "k")).await;
    let Verdict::Delivered(receipt) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(receipt.session.as_deref(), Some("new"));
    assert_eq!(receiver.rows("new").len(), 2);
}

#[tokio::test]
async fn d7_time_out_is_unknown_and_the_same_key_joins_the_turn() {
    let receiver = receiver("200").await;
    receiver.hold();
    let server = api(&receiver.url(), KEY, hasty());
    let verdict = server.send(&parcel(&server, "s", "k")).await;
    assert_eq!(verdict.name(), "unknown", "{verdict:?}");
    assert_eq!(receiver.running(), 1, "no client stops a turn");

    receiver.release_all();
    let patient = api_of(&receiver);
    let verdict = patient.send(&parcel(&patient, "s", "k")).await;
    assert_eq!(verdict.name(), "delivered", "{verdict:?}");
    assert_eq!(receiver.turns("s"), 1);
    assert_eq!(receiver.wakes().len(), 2);
}

#[tokio::test]
async fn d7_nobody_there_is_unreachable() {
    let server = api(&nobody(), KEY, ApiServerLimits::default());
    assert_eq!(server.send(&parcel(&server, "s", "k")).await.name(), "unreachable");
    assert_eq!(server.probe().await.name(), "unreachable");
}

#[tokio::test]
async fn d8_a_probe_tries_the_key_and_starts_no_turn() {
    let receiver = receiver("200").await;
    assert_eq!(api_of(&receiver).probe().await.name(), "delivered");
    let wrong = api(&receiver.url(), "wrong-key-0123456789", ApiServerLimits::default());
    assert_eq!(wrong.probe().await.name(), "credential");
    assert_eq!(wrong.send(&parcel(&wrong, "s", "k")).await.name(), "credential");
    assert!(receiver.sessions().is_empty());
    let lost = api(&format!("{}/p/nowhere", receiver.url()), KEY, ApiServerLimits::default());
    assert_eq!(lost.probe().await.name(), "retryable");
}

#[tokio::test]
async fn many_wakes_share_few_connections() {
    let receiver = receiver("200,500,429,413,401,200").await;
    let server = api_of(&receiver);
    for n in 0..8 {
        server.send(&parcel(&server, "s", &n.to_string())).await;
    }
    assert_eq!(receiver.connections(), 1);
}

#[test]
fn encoding_is_pure_and_escapes() {
    let server = api("http://127.0.0.1:1", KEY, ApiServerLimits::default());
    let message = Message {
        spans: vec![Span::ours("a \"b\"\n\u{1f600}")],
        facts: Vec::new(),
        ..Message::default()
    };
    let body: serde_json::Value = serde_json::from_str(&server.encode(&to("s"), &message)).unwrap();
    assert_eq!(body["messages"][0]["content"], message.text());
    assert_eq!(server.name(), &ChannelName::api_server("default"));
}
