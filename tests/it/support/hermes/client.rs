//! A small client for the real API server.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(60);

/// Speaks to one API server with one key.
#[derive(Clone, Debug)]
pub struct Client {
    port: u16,
    key: String,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The answer of a turn.
    pub fn answer(&self) -> String {
        self.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
    }

    /// The reply, if its status is 200.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// One user row of a session and what followed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What the user, or a wake, said.
    pub user: String,
    /// The last assistant text without tool calls, if there is one.
    pub answer: Option<String>,
    /// The names of the tools it called.
    pub tools: Vec<String>,
}

/// The turns with an answer whose user row contains `text`.
pub fn answered(turns: &[Turn], text: &str) -> usize {
    turns.iter().filter(|turn| turn.answer.is_some() && turn.user.contains(text)).count()
}

impl Client {
    /// For the server at `port` of the loopback.
    pub fn new(port: u16, key: &str) -> Self {
        Self { port, key: key.to_owned() }
    }

    /// The same server with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self::new(self.port, key)
    }

    /// Whether `/health` answers 200.
    pub async fn healthy(&self) -> bool {
        self.request("GET", "/health", &[], None).await.is_ok_and(|reply| reply.status == 200)
    }

    /// A turn in `session`, as the wake does it.
    ///
    /// # Panics
    /// When the connection is refused or cut, or no answer comes in a minute.
    #[track_caller]
    pub fn post_turn(&self, session: &str, text: &str) -> impl Future<Output = Reply> + use<> {
        let caller = std::panic::Location::caller();
        let (client, session, text) = (self.clone(), session.to_owned(), text.to_owned());
        async move {
            client
                .try_turn(&session, &text, None)
                .await
                .unwrap_or_else(|e| panic!("{caller}: turn in {session}: {e}"))
        }
    }

    /// A turn with an `Idempotency-Key`; a lost connection is an error.
    pub async fn try_turn(
        &self,
        session: &str,
        text: &str,
        key: Option<&str>,
    ) -> Result<Reply, String> {
        let body = json!({
            "model": "hermes-agent",
            "messages": [{"role": "user", "content": text}],
            "stream": false,
        });
        let mut headers = vec![("X-Hermes-Session-Id", session)];
        headers.extend(key.map(|key| ("Idempotency-Key", key)));
        let body = Some(body.to_string().into_bytes());
        self.request("POST", "/v1/chat/completions", &headers, body).await
    }

    /// `GET /api/sessions/{id}/messages`, whatever it answers.
    pub async fn messages_reply(&self, session: &str) -> Reply {
        let path = format!("/api/sessions/{}/messages", escaped(session));
        self.request("GET", &path, &[], None).await.expect("the server answers")
    }

    /// The rows of a session; none if it does not exist.
    pub async fn messages(&self, session: &str) -> Vec<Value> {
        let reply = self.messages_reply(session).await;
        if reply.status == 404 {
            return Vec::new();
        }
        reply.ok().json()["data"].as_array().cloned().unwrap_or_default()
    }

    /// The rows of a session, told as turns.
    pub async fn turns(&self, session: &str) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for row in self.messages(session).await {
            let text = row["content"].as_str().unwrap_or_default().to_owned();
            match (row["role"].as_str(), turns.last_mut()) {
                (Some("user"), _) => {
                    turns.push(Turn { user: text, answer: None, tools: Vec::new() });
                }
                (Some("assistant"), Some(turn)) => match row["tool_calls"].as_array() {
                    Some(calls) if !calls.is_empty() => {
                        turn.tools.extend(calls.iter().map(|call| {
                            call["function"]["name"].as_str().unwrap_or_default().to_owned()
                        }))
                    }
                    _ if !text.is_empty() => turn.answer = Some(text),
                    _ => {}
                },
                _ => {}
            }
        }
        turns
    }

    /// `GET /api/sessions/{id}`.
    pub async fn session(&self, session: &str) -> Reply {
        let path = format!("/api/sessions/{}", escaped(session));
        self.request("GET", &path, &[], None).await.expect("the server answers")
    }

    /// All sessions, over all pages.
    pub async fn sessions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let path =
                format!("/api/sessions?limit=200&include_children=true&offset={}", all.len());
            let page = self.request("GET", &path, &[], None).await.expect("sessions").ok().json();
            all.extend(page["data"].as_array().cloned().unwrap_or_default());
            if page["has_more"] != true {
                return all;
            }
        }
    }

    /// Any request, with the bearer key.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Reply, String> {
        tokio::time::timeout(LIMIT, self.exchange(method, path, headers, body))
            .await
            .map_err(|_| format!("{method} {path}: no answer in {LIMIT:?}"))?
            .map_err(|e| format!("{method} {path}: {e}"))
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Reply, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let mut request = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("Host", format!("127.0.0.1:{}", self.port))
            .header("Connection", "close")
            .header("Authorization", format!("Bearer {}", self.key));
        if body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default())))?;
        let answer = async move {
            let response = sender.send_request(request).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            let headers = head
                .headers
                .iter()
                .map(|(name, value)| {
                    (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect();
            Ok(Reply { status: head.status.as_u16(), headers, body })
        };
        // Both in one future, so that a dropped request drops its connection.
        tokio::pin!(connection, answer);
        let mut open = true;
        loop {
            tokio::select! {
                reply = &mut answer => return reply,
                end = &mut connection, if open => { open = false; end?; }
            }
        }
    }
}

fn escaped(segment: &str) -> String {
    let mut out = String::new();
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
