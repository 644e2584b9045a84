//! A model server on the loopback: `GET /v1/models` and `POST /v1/chat/completions`.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::process::free_port;
use super::rules::{Gate, Phase, Reaction, Rule, Script, Seen};

/// The stub model; it stops when dropped.
#[derive(Debug)]
pub struct StubModel {
    port: u16,
    script: Arc<Script>,
    server: Option<JoinHandle<()>>,
}

impl Drop for StubModel {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
        }
    }
}

impl StubModel {
    /// Serves on a free port.
    pub async fn start() -> Self {
        let mut stub = Self { port: free_port(), script: Arc::default(), server: None };
        stub.come_back().await;
        stub
    }

    /// The base URL for the configuration, with `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Adds a rule; the newest that matches wins.
    pub fn rule(&self, rule: Rule) {
        self.script.add(rule);
    }

    /// Forgets all rules.
    pub fn forget_rules(&self) {
        self.script.clear();
    }

    /// Holds requests whose user text contains `needle`: the turn runs until the gate opens.
    pub fn hold(&self, needle: &str, phase: Phase) -> Gate {
        let gate = Gate::new();
        self.script.add(Rule::new(needle).phase(phase).gate(&gate));
        gate
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.script.seen.lock().expect("seen").clone()
    }

    /// The turns so far whose user text contains `needle` (calls after a tool are not counted).
    pub fn turns(&self, needle: &str) -> usize {
        let begins = |seen: &&Seen| seen.phase() == Phase::Begin && seen.user.contains(needle);
        self.seen().iter().filter(begins).count()
    }

    /// Closes listener and connections: the model is unreachable (connection refused).
    pub async fn go_away(&mut self) {
        if let Some(server) = self.server.take() {
            server.abort();
            let _ = server.await;
        }
    }

    /// Serves again, on the same port.
    pub async fn come_back(&mut self) {
        self.go_away().await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await.expect("port");
        self.server = Some(tokio::spawn(serve(listener, self.script.clone())));
    }
}

async fn serve(listener: TcpListener, script: Arc<Script>) {
    // The connections end with this set, so with the task.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let script = script.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| answer(request, script.clone()));
            // A cut connection is an outcome a test asks for, not a failure of the stub.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Asked to close the connection without a word.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the stub model cuts the connection")
    }
}

impl std::error::Error for Cut {}

impl From<Infallible> for Cut {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

async fn answer(
    request: Request<Incoming>,
    script: Arc<Script>,
) -> Result<Response<Full<Bytes>>, Cut> {
    let path = request.uri().path().to_owned();
    if path == "/v1/models" {
        let model = json!({"id": "stub-model", "object": "model", "owned_by": "test"});
        return Ok(plain(200, &json!({"object": "list", "data": [model]})));
    }
    if path != "/v1/chat/completions" {
        return Ok(plain(404, &json!({"error": {"message": "no such route"}})));
    }
    let body = request.into_body().collect().await.map_err(|_| Cut)?.to_bytes();
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return Ok(plain(400, &json!({"error": {"message": "not JSON"}})));
    };
    match script.react(&request).await {
        Reaction::Cut => Err(Cut),
        Reaction::Status(status) => {
            let error = json!({"message": "the stub model was told to fail", "type": "stub"});
            Ok(plain(status, &json!({ "error": error })))
        }
        Reaction::Say(text) => Ok(complete(&request, "stop", json!({"content": text}))),
        Reaction::Truncate(text) => Ok(complete(&request, "length", json!({"content": text}))),
        Reaction::Call(calls) => {
            let calls: Vec<Value> = calls.iter().enumerate().map(tool_call).collect();
            let message = json!({"content": null, "tool_calls": calls});
            Ok(complete(&request, "tool_calls", message))
        }
    }
}

fn tool_call((index, (name, arguments)): (usize, &(String, Value))) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    json!({
        "index": index,
        "id": format!("call_{:08}", NEXT.fetch_add(1, Ordering::Relaxed)),
        "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()},
    })
}

/// One chat completion: an object, or its pieces as server-sent events.
fn complete(request: &Value, finish: &str, mut message: Value) -> Response<Full<Bytes>> {
    message["role"] = json!("assistant");
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let mut whole = json!({"id": "chatcmpl-stub", "created": 1, "model": "stub-model"});
    if request["stream"] != true {
        whole["object"] = json!("chat.completion");
        whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish}]);
        whole["usage"] = usage;
        return plain(200, &whole);
    }
    whole["object"] = json!("chat.completion.chunk");
    let mut events = String::new();
    let mut push = |choices: Value, usage: Value| {
        whole["choices"] = choices;
        whole["usage"] = usage;
        events.push_str(&format!("data: {whole}\n\n"));
    };
    push(json!([{"index": 0, "delta": message, "finish_reason": null}]), Value::Null);
    push(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null);
    push(json!([]), usage);
    events.push_str("data: [DONE]\n\n");
    respond(200, "text/event-stream", events)
}

fn plain(status: u16, body: &Value) -> Response<Full<Bytes>> {
    respond(status, "application/json", body.to_string())
}

fn respond(status: u16, kind: &str, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("Content-Type", kind)
        .body(Full::new(Bytes::from(body)))
        .expect("a response of the stub model")
}
