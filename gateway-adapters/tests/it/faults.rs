//! Answers that no honest server gives, and secrets that no text may show.

use gateway_adapters::{
    api_server::ApiServerLimits,
    receiver::{RawAct, RawServer},
};
use kanban_notify::{
    ports::Channel as _,
    verdict::{Detail, Verdict},
};

use crate::support::{KEY, api, hasty, parcel};

async fn answer(acts: Vec<RawAct>, limits: ApiServerLimits) -> Verdict {
    let server = RawServer::start(vec![acts]).await.unwrap();
    let api = api(&server.url(), KEY, limits);
    api.send(&parcel(&api, "s", "k")).await
}

async fn says(status: &str, headers: &str, body: &str) -> Verdict {
    let acts = vec![RawAct::ReadRequest, RawAct::respond(status, headers, body)];
    answer(acts, ApiServerLimits::default()).await
}

fn completion(rest: &str) -> String {
    format!(r#"{{"id":"c1","choices":[{{"index":0,{rest}}}]}}"#)
}

const TEXT: &str = r#""message":{"role":"assistant","content":"Noted."}"#;

#[tokio::test]
async fn w7_what_counts_as_an_answer() {
    let text = completion(TEXT);
    let error = completion(&format!(r#"{TEXT},"finish_reason":"error""#));
    let with = |hermes: &str| {
        let open = error.strip_suffix('}').unwrap();
        format!(r#"{open},"hermes":{hermes}}}"#)
    };
    let null = completion(r#""message":{"role":"assistant","content":null}"#);
    let blank = completion(r#""message":{"role":"assistant","content":" \n"}"#);
    let parts = completion(r#""message":{"content":[{"type":"text","text":"Noted."}]}"#);
    let huge =
        completion(&format!(r#""message":{{"content":"Noted. {}"}}"#, "x".repeat(5_000_000)));
    for (body, expected) in [
        (text.as_str(), "delivered"),
        (&parts, "delivered"),
        (&huge, "delivered"),
        // An agent at the end of its budget has text and is not failed.
        (&with(r#"{"completed":false,"failed":false}"#), "delivered"),
        (&with(r#"{"completed":false,"failed":true}"#), "failed_turn"),
        (&error, "failed_turn"),
        (&null, "unknown"),
        (&blank, "unknown"),
        ("", "unknown"),
        ("{}", "unknown"),
        ("[]", "unknown"),
        ("\"Noted.\"", "unknown"),
        ("<html>login</html>", "unknown"),
        (text.strip_suffix('}').unwrap(), "unknown"),
        (r#"{"error":{"message":"x","code":"agent_incomplete"}}"#, "unknown"),
        (r#"{"ok":true}"#, "unknown"),
    ] {
        let verdict = says("200 OK", "", body).await;
        let start: String = body.chars().take(80).collect();
        assert_eq!(verdict.name(), expected, "{start}: {verdict:?}");
    }
}

#[tokio::test]
async fn w7_a_502_without_the_servers_word_is_unknown() {
    for body in [
        "",
        "<html>Bad Gateway</html>",
        r#"{"error":{"code":"other"}}"#,
        r#"{"error":{"code":"agent_incomplete"}"#,
        r#"{"error":"agent_incomplete"}"#,
    ] {
        assert_eq!(says("502 Bad", "", body).await.name(), "unknown", "{body}");
    }
    let own = r#"{"error":{"message":"no text","code":"agent_incomplete"}}"#;
    assert_eq!(says("502 Bad", "", own).await.name(), "failed_turn");
}

#[tokio::test]
async fn w7_a_400_about_the_session_is_the_targets_fault() {
    for (body, expected) in [
        (r#"{"error":{"message":"Invalid session ID"}}"#, "target"),
        (r#"{"error":{"message":"Session ID too long"}}"#, "target"),
        (r#"{"error":{"code":"invalid_session_id"}}"#, "target"),
        (r#"{"error":{"message":"Invalid JSON in request body"}}"#, "payload"),
        ("", "payload"),
    ] {
        assert_eq!(says("400 Bad", "", body).await.name(), expected, "{body}");
    }
}

#[tokio::test]
async fn d7_faults_on_the_wire() {
    let ok = RawAct::Write(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"id\"".to_vec());
    let busy = RawAct::Write(b"HTTP/1.1 429 No\r\ncontent-length: 99\r\n\r\n{\"er".to_vec());
    let chunked = RawAct::Write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec());
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000)).into_bytes();
    let bounded = ApiServerLimits { answer_bytes: 1 << 20, ..ApiServerLimits::default() };
    let read = || RawAct::ReadRequest;
    for (acts, limits, expected) in [
        (vec![RawAct::ReadHead, RawAct::Reset], bounded, "unknown"),
        (vec![read(), RawAct::Reset], bounded, "unknown"),
        (vec![read()], bounded, "unknown"),
        (vec![read(), ok.clone()], bounded, "unknown"),
        (vec![read(), ok, RawAct::Hold], hasty(), "unknown"),
        (vec![read(), RawAct::Hold], hasty(), "unknown"),
        (vec![read(), chunked, RawAct::WriteForever(chunk)], bounded, "unknown"),
        // The head alone says that nothing happened.
        (vec![read(), busy], bounded, "busy"),
    ] {
        let verdict = answer(acts.clone(), limits).await;
        assert_eq!(verdict.name(), expected, "{acts:?}: {verdict:?}");
    }
}

/// Two answers to one request: the second must not be taken for the answer to the next one.
#[tokio::test]
async fn d7_an_answer_that_nobody_asked_for_answers_nothing() {
    let body = completion(TEXT);
    let twice = match RawAct::respond("200 OK", "", &body) {
        RawAct::Write(bytes) => RawAct::Write(bytes.repeat(2)),
        other => other,
    };
    // Whoever asks on the same connection is never answered again.
    let play = vec![RawAct::ReadRequest, twice, RawAct::ReadRequest, RawAct::Hold];
    let server = RawServer::start(vec![play]).await.unwrap();
    let api = api(&server.url(), KEY, ApiServerLimits::default());
    for number in 1..=50 {
        let verdict = api.send(&parcel(&api, "s", &number.to_string())).await;
        assert_eq!(verdict.name(), "delivered", "{verdict:?}");
        assert_eq!(server.requests().len(), number, "each answer has its request");
    }
    assert_eq!(server.accepted(), 50, "a connection that says too much is not used again");
}

#[tokio::test]
async fn a_name_that_could_not_be_asked_for_is_no_alias() {
    let body = completion(TEXT);
    for (header, expected) in [
        ("X-Hermes-Session-Id: s2\r\n", Some("s2")),
        ("X-Hermes-Session-Id: ../s\r\n", None),
        ("", None),
    ] {
        match says("200 OK", header, &body).await {
            Verdict::Delivered(receipt) => assert_eq!(receipt.session.as_deref(), expected),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn no_text_shows_the_key_an_address_or_a_flood() {
    let long = "é\u{1b}[31m\n".repeat(100_000);
    for status in ["200 OK", "400 Bad", "401 No", "404 No", "429 No", "500 Oops", "502 Bad"] {
        for body in [
            format!(r#"{{"error":{{"message":"wrong key {KEY} at https://u:p@h/x?t=1"}}}}"#),
            format!(r#"{{"error":{{"code":"{KEY}","message":"Bearer abcdef123456"}}}}"#),
            format!(r#"{{"error":{{"message":{}}}}}"#, serde_json::json!(long)),
            format!("not JSON {KEY}"),
        ] {
            let verdict = says(status, "", &body).await;
            let shown = format!("{verdict:?}");
            let secrets = [KEY, "u:p", "t=1", "abcdef123456"];
            assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
            assert!(verdict.detail().chars().count() <= Detail::MAX_CHARS);
            assert!(!verdict.detail().chars().any(char::is_control));
        }
    }
    let api = api("https://h.example/base", KEY, ApiServerLimits::default());
    assert!(!format!("{api:?}").contains(KEY));
}

/// Names and words of an answer are kept up to a length; a secret may stand where they are cut.
#[tokio::test]
async fn no_text_shows_the_beginning_of_a_key_that_was_cut() {
    for before in (80..130).step_by(4).chain((540..600).step_by(7)) {
        // Wide letters: few characters for many bytes, so that the end of what is kept is shown.
        let filler = "日".repeat(before / 3) + &"x".repeat(before % 3);
        for body in [
            serde_json::json!({"error": {"code": format!("{filler}{KEY}"), "message": "no"}}),
            serde_json::json!({"error": {"message": format!("{filler}{KEY}")}}),
        ] {
            let detail = says("500 Oops", "", &body.to_string()).await.detail().to_owned();
            assert!(!detail.contains(&KEY[..6]), "{before}: {detail}");
        }
    }
}

#[tokio::test]
async fn a_400_tells_the_servers_reason() {
    let verdict = says(
        "400 Bad",
        "",
        r#"{"error":{"message":"Missing or invalid 'messages' field","code":null}}"#,
    )
    .await;
    assert_eq!(verdict.detail(), "HTTP 400: Missing or invalid 'messages' field");
}
