//! A wake: its checks, its turn, its answer.

use std::sync::Arc;

use ::http::{HeaderName, StatusCode, header};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    idempotency::{Ending, Known, fingerprint},
    log::{How, Recorded},
    reply::{self, Closed, Reply},
    script::Scripted,
    shared::{Run, Shared},
};

/// How a turn ended, before a status is made of it.
pub(super) struct Outcome {
    end: End,
    session: String,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Answer,
    Incomplete,
    Failed,
    NoText,
    Raised,
}

impl Outcome {
    /// Whether it is given again for the same key.
    pub(super) fn is_kept(&self) -> bool {
        self.end != End::Raised
    }
}

/// Answers a wake that passed the checks of its head.
pub(super) async fn wake(
    shared: &Arc<Shared>,
    recorded: &Recorded,
) -> (Result<Reply, Closed>, How) {
    let scripted = shared.script().next();
    match refused(shared, recorded, scripted) {
        Some(reply) => (reply, How::Refused),
        None => run(shared, recorded, scripted).await,
    }
}

/// The text of the last message, if it is one of a user or an assistant.
pub(super) fn last_text(body: &Value) -> Option<String> {
    let spoken = |message: &&Value| {
        let role = message.get("role").and_then(Value::as_str);
        matches!(role, Some("user" | "assistant"))
    };
    let messages = body.get("messages")?.as_array()?;
    match messages.iter().rfind(spoken)?.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The checks in their order: concurrency, content, session; a scripted refusal goes first.
fn refused(
    shared: &Shared,
    recorded: &Recorded,
    scripted: Scripted,
) -> Option<Result<Reply, Closed>> {
    match scripted {
        Scripted::Lose => return Some(Err(Closed)),
        Scripted::Refuse(status) => return Some(Ok(scripted_refusal(shared, status))),
        _ => {}
    }
    let limit = shared.config.max_runs;
    if limit > 0 && *shared.running.borrow() >= limit {
        return Some(Ok(scripted_refusal(shared, 429)));
    }
    let Ok(body) = serde_json::from_str::<Value>(&recorded.body) else {
        return Some(Ok(reply::invalid(None, "Invalid JSON in request body")));
    };
    let has_messages =
        body.get("messages").and_then(Value::as_array).is_some_and(|messages| !messages.is_empty());
    if !has_messages {
        let message = "Missing or invalid 'messages' field";
        return Some(Ok(reply::invalid(None, message)));
    }
    if last_text(&body).is_none_or(|text| text.trim().is_empty()) {
        let message = "No user message found in messages";
        return Some(Ok(reply::invalid(None, message)));
    }
    if body.get("stream").and_then(Value::as_bool) == Some(true) {
        let message = "This receiver does not stream";
        return Some(Ok(reply::invalid(Some("unsupported_stream"), message)));
    }
    let session = recorded.session().unwrap_or_default().trim();
    if !session.is_empty() && shared.config.key.expose_secret().is_empty() {
        return Some(Ok(reply::error(
            StatusCode::FORBIDDEN,
            "invalid_request_error",
            None,
            "Session continuation requires API key authentication.",
        )));
    }
    session_fault(session).map(|message| Ok(reply::invalid(None, message)))
}

fn session_fault(session: &str) -> Option<&'static str> {
    let mut chars = session.chars();
    let is_drive = chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some(':');
    if is_drive || session.contains("..") || session.contains(['/', '\\', '\0']) {
        Some("Invalid session ID")
    } else if session.chars().count() > 256 {
        Some("Session ID too long")
    } else {
        None
    }
}

fn scripted_refusal(shared: &Shared, status: u16) -> Reply {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        413 => ("invalid_request_error", Some("body_too_large")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        503 => ("invalid_request_error", Some("gateway_draining")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    };
    let code_of = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let reply = reply::error(code_of, kind, code, "Refused by the script");
    match status {
        300..400 => reply::with(reply, header::LOCATION, "/elsewhere"),
        429 | 503 => reply::with(reply, header::RETRY_AFTER, &shared.config.retry_after),
        _ => reply,
    }
}

async fn run(
    shared: &Arc<Shared>,
    recorded: &Recorded,
    scripted: Scripted,
) -> (Result<Reply, Closed>, How) {
    let end = match scripted {
        Scripted::Incomplete => End::Incomplete,
        Scripted::Failed => End::Failed,
        Scripted::NoText => End::NoText,
        Scripted::Raise => End::Raised,
        _ => End::Answer,
    };
    let (ending, how) = begin(shared, recorded, end);
    match scripted {
        Scripted::Drop => return (Err(Closed), how),
        Scripted::GaveUp => {
            let html = "<html><body>Gateway Time-out</body></html>";
            let mut reply = Reply::new(bytes::Bytes::from_static(html.as_bytes()).into());
            *reply.status_mut() = StatusCode::GATEWAY_TIMEOUT;
            return (Ok(reply), how);
        }
        _ => {}
    }
    let outcome = match ending {
        Known::Ended(outcome) => Some(outcome),
        Known::Running(mut ending) => match ending.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone(),
            Err(_) => None,
        },
        Known::Nothing => None,
    };
    let reply = outcome.map(|outcome| answer(shared, recorded, &outcome));
    (reply.ok_or(Closed), how)
}

/// Starts a turn, unless the key knows one.
fn begin(shared: &Arc<Shared>, recorded: &Recorded, end: End) -> (Known, How) {
    let body: Value = serde_json::from_str(&recorded.body).unwrap_or_default();
    let text = last_text(&body).unwrap_or_default();
    let session = match recorded.session().unwrap_or_default().trim() {
        "" => format!("api-{:016x}", recorded.number),
        named => named.to_owned(),
    };
    let key = recorded
        .key()
        .filter(|key| !key.is_empty())
        .map(|key| (key.to_owned(), fingerprint(&body)));
    let Some((key, print)) = key else {
        let turn = Turn { session, text, end };
        return (Known::Running(start(shared, turn, None)), How::Ran);
    };
    // Held until the turn is noted, so that of two equal requests one joins the other.
    let mut keys = shared.keys();
    match keys.find(&key, &print) {
        Known::Ended(outcome) => (Known::Ended(outcome), How::Replayed),
        Known::Running(ending) => (Known::Running(ending), How::Joined),
        Known::Nothing => {
            let turn = Turn { session, text, end };
            let ending = start(shared, turn, Some((keys.life(), key.clone(), print.clone())));
            keys.begin(&key, &print, ending.clone());
            (Known::Running(ending), How::Ran)
        }
    }
}

struct Turn {
    session: String,
    text: String,
    end: End,
}

/// The user row is stored at once, the answer when the turn ends; no client can stop it.
fn start(shared: &Arc<Shared>, turn: Turn, key: Option<(u64, String, String)>) -> Ending {
    let holder = shared.sessions().begin(&turn.session, &turn.text);
    let run = Run::new(shared);
    let (sender, ending) = watch::channel(None);
    let ours = Arc::clone(shared);
    shared.spawn(async move {
        ours.pass_gate().await;
        tokio::time::sleep(ours.config.delay).await;
        let text = match turn.end {
            End::Answer | End::Incomplete => ours.config.answer.clone(),
            End::Failed => "The model could not be reached.".to_owned(),
            End::NoText | End::Raised => String::new(),
        };
        if matches!(turn.end, End::Answer | End::Incomplete) {
            ours.sessions().answer(&holder, &text);
        }
        let outcome = Arc::new(Outcome { end: turn.end, session: holder, text });
        if let Some((life, key, print)) = key {
            ours.keys().end(life, (&key, &print), &outcome);
        }
        drop(run);
        sender.send_replace(Some(outcome));
    });
    ending
}

const SESSION_ID: HeaderName = HeaderName::from_static("x-hermes-session-id");
const COMPLETED: HeaderName = HeaderName::from_static("x-hermes-completed");

fn answer(shared: &Shared, recorded: &Recorded, outcome: &Outcome) -> Reply {
    let failed = matches!(outcome.end, End::Failed | End::NoText);
    let hermes = json!({"completed": false, "partial": false, "failed": failed,
        "error": failed.then_some("The model could not be reached."), "error_code": "agent_error"});
    let reply = match outcome.end {
        End::Raised => {
            let message = "Internal server error: scripted";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return reply::error(status, "server_error", None, message);
        }
        End::NoText => {
            let body = json!({"error": {"message": "Agent run did not produce a response.",
                "type": "server_error", "param": null, "code": "agent_incomplete", "hermes": hermes}});
            reply::json(StatusCode::BAD_GATEWAY, &body)
        }
        End::Answer | End::Incomplete | End::Failed => {
            let finish = if failed { "error" } else { "stop" };
            let mut body = json!({
                "id": format!("chatcmpl-{:029x}", recorded.number),
                "object": "chat.completion",
                "created": recorded.at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs(),
                "model": shared.config.model,
                "choices": [{"index": 0, "finish_reason": finish,
                    "message": {"role": "assistant", "content": outcome.text}}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            });
            if outcome.end != End::Answer
                && let Some(body) = body.as_object_mut()
            {
                body.insert("hermes".to_owned(), hermes);
            }
            reply::json(StatusCode::OK, &body)
        }
    };
    let reply = reply::with(reply, SESSION_ID, &outcome.session);
    match outcome.end {
        End::Answer => reply,
        _ => reply::with(reply, COMPLETED, "false"),
    }
}
