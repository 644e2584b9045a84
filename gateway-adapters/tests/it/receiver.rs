//! The receiver's own contract: that of the server it stands in for.

use std::time::Duration;

use gateway_adapters::{
    http::{HttpClient, Response},
    receiver::{How, Receiver, ReceiverConfig, ReceiverEvent},
};
use http::Method;
use serde_json::{Value, json};

use crate::support::{LIMITS, SHORT, client, get, request};

const BEARER: (&str, &str) = ("authorization", "Bearer receiver-key-0123456789");

struct Peer {
    receiver: Receiver,
    client: HttpClient,
}

impl Peer {
    async fn new(config: ReceiverConfig) -> Self {
        Self { receiver: Receiver::start(config).await.unwrap(), client: client() }
    }

    async fn with(script: &str) -> Self {
        Self::new(ReceiverConfig { script: script.parse().unwrap(), ..ReceiverConfig::default() })
            .await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.receiver.url())
    }

    async fn post(&self, headers: &[(&'static str, &str)], body: &str) -> Response {
        let request = request(Method::POST, &self.url("/v1/chat/completions"), headers, body);
        self.client.fetch(request, LIMITS, 1 << 20).await.unwrap()
    }

    async fn wake(&self, session: &str, key: &str, text: &str) -> u16 {
        let headers = [BEARER, ("x-hermes-session-id", session), ("idempotency-key", key)];
        self.post(&headers, &said(text)).await.status.as_u16()
    }
}

fn said(text: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

fn code(response: &Response) -> (u16, Value) {
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    (response.status.as_u16(), body["error"]["code"].clone())
}

#[tokio::test]
async fn checks_come_in_the_order_of_the_real_server() {
    let peer =
        Peer::new(ReceiverConfig { max_body: 200, max_runs: 1, ..ReceiverConfig::default() }).await;
    peer.receiver.drain(true);
    peer.receiver.hold();
    let big = said(&"x".repeat(300));
    let wrong = ("authorization", "Bearer wrong");
    let bad_session = ("x-hermes-session-id", "../x");

    let origin = peer.post(&[("origin", "http://h"), wrong], &big).await;
    // The client sends no origin, whatever it is told.
    assert_eq!(code(&origin), (413, json!("body_too_large")));
    let key = peer.post(&[wrong, bad_session], "").await;
    assert_eq!(code(&key), (401, json!("invalid_api_key")));
    let drain = peer.post(&[BEARER, bad_session], "").await;
    assert_eq!(code(&drain), (503, json!("gateway_draining")));
    assert_eq!(drain.headers["retry-after"], "1");
    peer.receiver.drain(false);

    let json = peer.post(&[BEARER, bad_session], "no").await;
    assert_eq!(code(&json), (400, Value::Null));
    for body in [r#"{}"#, r#"{"messages":[]}"#, &said(" ")] {
        let empty = peer.post(&[BEARER, bad_session], body).await;
        assert_eq!(code(&empty), (400, Value::Null), "{body}");
    }
    for (session, said_back) in [
        ("../x", "Invalid session ID"),
        ("c:x", "Invalid session ID"),
        (&*"x".repeat(257), "Session ID too long"),
    ] {
        let refused = peer.post(&[BEARER, ("x-hermes-session-id", session)], &said("a")).await;
        let body: Value = serde_json::from_slice(&refused.body).unwrap();
        assert_eq!(body["error"]["message"], said_back);
    }
    assert!(peer.receiver.sessions().is_empty());

    let busy = async {
        peer.receiver.until_running(1).await;
        let limited = peer.post(&[BEARER], "no").await;
        assert_eq!(code(&limited), (429, json!("rate_limit_exceeded")));
        assert_eq!(limited.headers["retry-after"], "1");
        peer.receiver.release(1);
    };
    let (status, ()) = tokio::join!(peer.wake("s", "k", "a"), busy);
    assert_eq!(status, 200);
}

#[tokio::test]
async fn equal_requests_join_one_turn_whatever_session_they_name() {
    let peer = Peer::with("200").await;
    peer.receiver.hold();
    let release = async {
        peer.receiver.until_running(1).await;
        while peer.receiver.wakes().len() < 4 {
            peer.receiver.next_wake().await;
        }
        peer.receiver.release(1);
    };
    let (a, b, c, d, ()) = tokio::join!(
        peer.wake("s", "k", "a"),
        peer.wake("s", "k", "a"),
        peer.wake("s", "k", "a"),
        peer.wake("t", "k", "a"),
        release,
    );
    assert_eq!([a, b, c, d], [200; 4]);
    assert_eq!(peer.receiver.turns("s") + peer.receiver.turns("t"), 1);

    let mut events = peer.receiver.events();
    peer.receiver.release_all();
    assert_eq!(peer.wake("s", "k", "a").await, 200);
    assert_eq!(peer.wake("s", "k", "other text").await, 200);
    assert_eq!(peer.wake("s", "k2", "a").await, 200);
    let mut how = Vec::new();
    while how.len() < 3 {
        if let ReceiverEvent::Answered(answered) = events.recv().await.unwrap() {
            how.push(answered.how);
        }
    }
    assert_eq!(how, [How::Replayed, How::Ran, How::Ran]);
}

#[tokio::test]
async fn a_failed_turn_is_replayed_and_one_that_raised_is_not() {
    let peer = Peer::with("502,200,500,200").await;
    assert_eq!(peer.wake("s", "k", "a").await, 502);
    assert_eq!(peer.wake("s", "k", "a").await, 502);
    assert_eq!(peer.wake("s", "k2", "a").await, 500);
    assert_eq!(peer.wake("s", "k2", "a").await, 200);
    assert_eq!(peer.receiver.turns("s"), 3);
    let roles: Vec<String> = peer.receiver.rows("s").into_iter().map(|row| row.role).collect();
    assert_eq!(roles, ["user", "user", "user", "assistant"]);
}

#[tokio::test]
async fn results_are_forgotten_after_their_time_and_beyond_their_number() {
    let peer =
        Peer::new(ReceiverConfig { key_ttl: Duration::ZERO, ..ReceiverConfig::default() }).await;
    peer.wake("s", "k", "a").await;
    peer.wake("s", "k", "a").await;
    assert_eq!(peer.receiver.turns("s"), 2);

    let peer = Peer::new(ReceiverConfig { key_entries: 1, ..ReceiverConfig::default() }).await;
    for key in ["k1", "k2", "k2", "k1"] {
        peer.wake("s", key, "a").await;
    }
    assert_eq!(peer.receiver.turns("s"), 3);
}

#[tokio::test]
async fn no_client_stops_a_turn() {
    let peer = Peer::with("200").await;
    peer.receiver.hold();
    let mut events = peer.receiver.events();
    let headers = [BEARER, ("x-hermes-session-id", "s")];
    let url = peer.url("/v1/chat/completions");
    let left = request(Method::POST, &url, &headers, &said("a"));
    assert!(peer.client.fetch(left, SHORT, 0).await.is_err());
    let answered = loop {
        if let ReceiverEvent::Answered(answered) = events.recv().await.unwrap() {
            break answered;
        }
    };
    assert_eq!((answered.status, answered.how), (None, How::Left));
    assert_eq!(peer.receiver.running(), 1);
    assert_eq!(peer.receiver.rows("s").len(), 1, "the user row is there");
    peer.receiver.release_all();
    peer.receiver.until_running(0).await;
    assert_eq!(peer.receiver.rows("s").len(), 2);
}

#[tokio::test]
async fn dropped_runs_the_turn_and_lost_does_not() {
    let peer = Peer::with("drop,lose,504").await;
    let url = peer.url("/v1/chat/completions");
    for _ in 0..2 {
        let headers = [BEARER, ("x-hermes-session-id", "s")];
        let request = request(Method::POST, &url, &headers, &said("a"));
        assert!(peer.client.fetch(request, LIMITS, 0).await.is_err());
    }
    peer.receiver.until_running(0).await;
    assert_eq!(peer.receiver.turns("s"), 1);
    assert_eq!(peer.wake("s", "k", "a").await, 504);
    assert_eq!(peer.receiver.turns("s"), 2);
}

#[tokio::test]
async fn killed_it_finishes_turns_and_forgets_keys() {
    let peer = Peer::with("200").await;
    peer.receiver.hold();
    let headers = [BEARER, ("x-hermes-session-id", "s"), ("idempotency-key", "k")];
    let url = peer.url("/v1/chat/completions");
    let post = || peer.client.fetch(request(Method::POST, &url, &headers, &said("a")), LIMITS, 0);
    let kill = async {
        peer.receiver.until_running(1).await;
        peer.receiver.kill().await;
    };
    let (cut, ()) = tokio::join!(post(), kill);
    assert!(cut.is_err());
    assert!(post().await.is_err(), "the port is closed");
    peer.receiver.release_all();
    peer.receiver.until_running(0).await;
    assert_eq!(peer.receiver.rows("s").len(), 2, "the turn was finished");

    peer.receiver.restart().await.unwrap();
    assert_eq!(post().await.unwrap().status, 200);
    assert_eq!(peer.receiver.turns("s"), 2, "the key is forgotten");
}

#[tokio::test]
async fn crashed_it_leaves_turns_open() {
    let peer = Peer::with("200").await;
    peer.receiver.hold();
    let headers = [BEARER, ("x-hermes-session-id", "s")];
    let url = peer.url("/v1/chat/completions");
    let post = request(Method::POST, &url, &headers, &said("a"));
    let crash = async {
        peer.receiver.until_running(1).await;
        peer.receiver.crash().await;
    };
    let (cut, ()) = tokio::join!(peer.client.fetch(post, LIMITS, 0), crash);
    assert!(cut.is_err());
    assert_eq!(peer.receiver.running(), 0);
    peer.receiver.release_all();
    peer.receiver.restart().await.unwrap();
    assert_eq!(peer.receiver.rows("s").len(), 1);
    assert_eq!(peer.wake("s", "k", "b").await, 200);
}

#[tokio::test]
async fn sessions_are_read_with_the_key_only() {
    let peer = Peer::with("200").await;
    peer.wake("a b", "k", "hello").await;
    for (path, status) in [
        ("/health", 200),
        ("/v1/health", 200),
        ("/v1/models", 401),
        ("/api/sessions", 401),
        ("/api/sessions/a%20b", 401),
        ("/api/sessions/a%20b/messages", 401),
        ("/api/other", 404),
    ] {
        let response = peer.client.fetch(get(&peer.url(path)), LIMITS, 0).await.unwrap();
        assert_eq!(response.status, status, "{path}");
    }
    let read = |path: &str| {
        let request = request(Method::GET, &peer.url(path), &[BEARER], "");
        peer.client.fetch(request, LIMITS, 1 << 20)
    };
    let messages = read("/api/sessions/a%20b/messages").await.unwrap();
    let messages: Value = serde_json::from_slice(&messages.body).unwrap();
    assert_eq!(messages["session_id"], "a b");
    assert_eq!(messages["data"][0]["content"], "hello");
    assert_eq!(messages["data"][1]["content"], "Noted.");
    assert!(messages["data"][1]["timestamp"].is_f64());
    let session = read("/api/sessions/a%20b").await.unwrap();
    let session: Value = serde_json::from_slice(&session.body).unwrap();
    assert_eq!(session["session"]["message_count"], 2);
    let missing = read("/api/sessions/nobody/messages").await.unwrap();
    assert_eq!(code(&missing), (404, json!("session_not_found")));
    let models = read("/v1/models").await.unwrap();
    assert_eq!(models.status, 200);
}

#[tokio::test]
async fn a_taken_port_is_said() {
    let peer = Peer::with("200").await;
    let again =
        Receiver::start(ReceiverConfig { addr: peer.receiver.addr(), ..ReceiverConfig::default() })
            .await;
    let error = again.unwrap_err().to_string();
    assert!(error.starts_with("listening at 127.0.0.1:"), "{error}");
}

/// The only HTTP that we serve ourselves.
#[tokio::test]
async fn report_98_a_key_counts_in_its_header_only() {
    let peer = Peer::new(ReceiverConfig::default()).await;
    let key = "receiver-key-0123456789";
    for query in [format!("token={key}"), format!("api_key={key}"), format!("key={key}")] {
        let url = peer.url(&format!("/v1/chat/completions?{query}"));
        let headers = [("x-hermes-session-id", "sess-abc")];
        let request = request(Method::POST, &url, &headers, &said("x"));
        let answer = peer.client.fetch(request, LIMITS, 1 << 20).await.unwrap();
        assert_eq!(code(&answer), (401, json!("invalid_api_key")), "{query}");
        assert!(!String::from_utf8_lossy(&answer.body).contains(key));
    }
    assert!(peer.receiver.sessions().is_empty());
}
