//! Looks into sessions (laws W4, W6).

use std::time::Duration;

use gateway_adapters::{
    api_server::ApiServerLimits,
    receiver::{RawAct, RawServer, Receiver, ReceiverConfig},
};
use kanban_notify::{
    history::SessionView,
    ports::{Channel as _, LookError},
    time::Timestamp,
};
use serde_json::{Value, json};

use crate::support::{KEY, api, api_of, hasty, nobody, parcel};

async fn look_at(status: &str, body: &str) -> Result<SessionView, LookError> {
    let play = vec![RawAct::ReadRequest, RawAct::respond(status, "", body)];
    let server = RawServer::start(vec![play]).await.unwrap();
    let api = api(&server.url(), KEY, ApiServerLimits::default());
    api.look("s", Some("ref-1".to_owned())).await
}

async fn view(rows: Value) -> SessionView {
    let body = json!({"object": "list", "session_id": "s", "data": rows});
    look_at("200 OK", &body.to_string()).await.unwrap()
}

fn at(micros: i64) -> Option<Timestamp> {
    Some(Timestamp::from_micros(micros))
}

#[tokio::test]
async fn w6_a_wake_is_found_with_its_answer() {
    let user = json!({"role": "user", "content": "x [ref-1] y", "timestamp": 1764466123.25});
    let answer = json!({"role": "assistant", "content": "Noted.", "timestamp": 1764466124});
    let open = view(json!([user])).await;
    assert_eq!(open.session.as_deref(), Some("s"));
    assert_eq!(open.open_since, at(1_764_466_123_250_000));
    assert_eq!(open.oldest, open.open_since);
    assert!(!open.reference.unwrap().answered);

    let answered = view(json!([user, answer])).await;
    assert_eq!(answered.open_since, None);
    let seen = answered.reference.unwrap();
    assert!(seen.answered);
    assert_eq!(seen.at, at(1_764_466_123_250_000));
}

#[tokio::test]
async fn w6_content_comes_as_text_list_or_nothing() {
    for content in [
        json!("a ref-1 b"),
        json!([{"type": "text", "text": "a"}, {"type": "text", "text": "ref-1"}]),
        json!(["a", "ref-1"]),
        json!([{"type": "image_url", "image_url": {"url": "x"}}, {"text": "ref-1"}]),
    ] {
        let view = view(json!([{"role": "user", "content": content}])).await;
        assert!(view.reference.is_some(), "{content}");
    }
    for content in [json!(null), json!([]), json!(7), json!({"url": "ref-1"})] {
        let view = view(json!([{"role": "user", "content": content}])).await;
        assert_eq!(view.reference, None, "{content}");
    }
}

#[tokio::test]
async fn w4_a_row_that_calls_tools_is_no_end() {
    let call = json!([{"id": "c", "function": {"name": "f", "arguments": "{\"a\":[]}"}}]);
    for (calls, is_open) in [
        (json!(null), false),
        (json!([]), false),
        (json!("[]"), false),
        (json!(""), false),
        (call.clone(), true),
        (json!(call.to_string()), true),
        (json!([null]), true),
        (json!({"id": "c"}), true),
    ] {
        let row =
            json!({"role": "assistant", "content": "wait", "tool_calls": calls, "timestamp": 5.5});
        let view = view(json!([row])).await;
        assert_eq!(view.open_since.is_some(), is_open, "{calls}");
    }
    let tool = view(json!([{"role": "tool", "content": "out", "timestamp": 5}])).await;
    assert_eq!(tool.open_since, at(5_000_000));
}

#[tokio::test]
async fn odd_rows_spoil_nothing() {
    let view = view(json!([
        7,
        null,
        {"role": null, "content": "?", "timestamp": "soon", "data": [{"role": "user"}]},
        {"timestamp": -3, "role": "user", "content": "ref-1"},
        {"role": "assistant", "content": "yes", "timestamp": 1e300},
    ]))
    .await;
    assert!(view.reference.unwrap().answered);
    assert_eq!(view.open_since, None);
}

#[tokio::test]
async fn rows_of_any_size_are_read_in_bounded_memory() {
    let big = "ü\n".repeat(1_000_000);
    let view = view(json!([
        {"role": "user", "content": format!("ref-1 {big}"), "timestamp": 1},
        {"role": "assistant", "content": null, "tool_calls": [{"arguments": big}], "timestamp": 2},
        {"role": "tool", "content": big, "timestamp": 3},
        {"role": "assistant", "content": "done", "timestamp": 4},
    ]))
    .await;
    assert_eq!(view.oldest, at(1_000_000));
    assert_eq!(view.open_since, None);
    assert!(view.reference.unwrap().answered);
}

#[tokio::test]
async fn the_order_of_keys_does_not_matter() {
    let body = r#"{"data":[{"content":"ref-1","role":"user"}],"session_id":"new"}"#;
    let view = look_at("200 OK", body).await.unwrap();
    assert_eq!(view.session.as_deref(), Some("new"));
    assert!(view.reference.is_some());
    let body = r#"{"session_id":"../x","data":[]}"#;
    let view = look_at("200 OK", body).await.unwrap();
    assert_eq!((view.session, view.exists), (None, true));
}

#[tokio::test]
async fn a_look_that_saw_nothing_says_why() {
    let missing = r#"{"error":{"message":"Session not found: s","code":"session_not_found"}}"#;
    let view = look_at("404 Not Found", missing).await.unwrap();
    assert_eq!(view, SessionView::default());
    for (status, body) in
        [("404 Not Found", "404: Not Found"), ("404 Not Found", ""), ("405 Method Not Allowed", "")]
    {
        assert_eq!(look_at(status, body).await, Err(LookError::Unsupported));
    }
    let whole = r#"{"session_id":"s","data":[]}"#;
    for (status, body) in [
        ("429 No", ""),
        ("500 Oops", ""),
        ("503 No", missing),
        ("302 Found", whole),
        ("200 OK", ""),
        ("200 OK", "<html>"),
        ("200 OK", "{}"),
        ("200 OK", r#"{"data":{}}"#),
        ("200 OK", &whole[..20]),
        ("200 OK", r#"{"data":[]} {"data":[]}"#),
    ] {
        let seen = look_at(status, body).await;
        assert!(matches!(seen, Err(LookError::Failed(_))), "{body}: {seen:?}");
    }
}

#[tokio::test]
async fn a_cut_slow_or_endless_history_is_a_failed_look() {
    let head =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{\"data\":[{\"a\":1}\r\n";
    let start = [RawAct::ReadRequest, RawAct::Write(head.to_vec())];
    let more = RawAct::WriteForever(b"8\r\n,{\"a\":1}\r\n".repeat(1000));
    let small = ApiServerLimits { history_bytes: 1 << 20, ..ApiServerLimits::default() };
    for (end, limits) in [(None, small), (Some(RawAct::Hold), hasty()), (Some(more), small)] {
        let acts = start.iter().cloned().chain(end).collect();
        let server = RawServer::start(vec![acts]).await.unwrap();
        let seen = api(&server.url(), KEY, limits).look("s", None).await;
        assert!(matches!(seen, Err(LookError::Failed(_))), "{seen:?}");
    }
    let away = api(&nobody(), KEY, small);
    let seen = away.look("s", None).await;
    assert!(matches!(seen, Err(LookError::Unreachable(_))), "{seen:?}");
}

#[tokio::test]
async fn a_session_is_asked_for_by_its_whole_name() {
    let receiver = Receiver::start(ReceiverConfig::default()).await.unwrap();
    let server = api_of(&receiver);
    for session in ["a b?c#d%e", "agent:main:日本", "."] {
        server.send(&parcel(&server, session, session)).await;
        let view = server.look(session, Some("t_1".to_owned())).await.unwrap();
        assert_eq!(view.session.as_deref(), Some(session));
        assert!(view.reference.unwrap().answered);
    }
    assert!(!server.look("other", None).await.unwrap().exists);
    let connections = receiver.connections();
    for refused in ["", "../x", "a/b"] {
        assert!(!server.look(refused, None).await.unwrap().exists);
    }
    assert_eq!(receiver.connections(), connections);
}

#[tokio::test]
async fn w4_a_running_turn_is_seen_and_w3_a_rotated_session_is_followed() {
    let receiver = Receiver::start(ReceiverConfig::default()).await.unwrap();
    let server = api_of(&receiver);
    receiver.hold();
    let parcel = parcel(&server, "s", "k");
    let send = server.send(&parcel);
    let watch = async {
        receiver.until_running(1).await;
        let view = server.look("s", None).await.unwrap();
        assert!(view.open_since.is_some());
        receiver.release_all();
    };
    let (verdict, ()) = tokio::join!(send, watch);
    assert_eq!(verdict.name(), "delivered");
    assert_eq!(server.look("s", None).await.unwrap().open_since, None);

    receiver.rotate("s", "s2");
    receiver.push_row("s2", "user", "later", false, 99.5);
    let view = server.look("s", None).await.unwrap();
    assert_eq!(view.session.as_deref(), Some("s2"));
    assert_eq!(view.oldest.unwrap().micros(), 99_500_000);
}

#[tokio::test]
async fn d8_a_look_with_the_wrong_key_is_a_refused_credential_that_says_whose_key_it_was() {
    let receiver = Receiver::start(ReceiverConfig::default()).await.unwrap();
    let wrong = api(&receiver.url(), "wrong-key-0123456789", hasty());
    match wrong.look("s", None).await {
        Err(LookError::Credential(detail)) => assert_eq!(
            detail.as_str(),
            "the key of `api_server` for profile default, in the tests: \
             HTTP 401 invalid_api_key: Invalid API key"
        ),
        other => panic!("{other:?}"),
    }
    assert!(hasty().look < Duration::from_secs(1));
    // A wake and a probe say the same.
    let words = "the key of `api_server` for profile default, in the tests: HTTP 401";
    assert!(wrong.probe().await.detail().starts_with(words));
    assert!(matches!(look_at("403 No", "").await, Err(LookError::Credential(_))));
}
