//! An ntfy server with one user: what is too long becomes a file, as it does there.

use ::http::Method;
use serde_json::json;

use super::{Heard, Platform, PushAnswer, PushMessage};

/// A server that lets those in who send this `Authorization`.
pub fn ntfy(authorization: &str) -> Platform {
    let authorization = authorization.to_owned();
    Box::new(move |heard| {
        if heard.header("authorization") != authorization {
            return (refused(401, 40_101, "unauthorized"), None);
        }
        match (&heard.method, heard.path.as_str()) {
            (&Method::GET, "/v1/account") => (PushAnswer::new(200, r#"{"username":"a"}"#), None),
            (&Method::GET, "/v1/health") => (PushAnswer::new(200, r#"{"healthy":true}"#), None),
            (&Method::POST, path) => message(heard, path.trim_start_matches('/')),
            _ => (refused(404, 40_401, "page not found"), None),
        }
    })
}

fn refused(status: u16, code: u32, error: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"code": code, "http": status, "error": error}).to_string())
}

fn message(heard: &Heard, topic: &str) -> (PushAnswer, Option<PushMessage>) {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if topic.is_empty() || topic.len() > 64 || !topic.bytes().all(is_fit) {
        return (refused(400, 40_009, "invalid request: topic invalid"), None);
    }
    let text = std::str::from_utf8(&heard.body).ok().filter(|text| text.len() <= 4_096);
    let text = text.unwrap_or("You received a file: attachment.txt");
    let rich = ["yes", "true", "1"].contains(&heard.header("markdown"));
    let message = PushMessage {
        chat: topic.to_owned(),
        text: text.to_owned(),
        rich,
        ..PushMessage::default()
    };
    let sent = json!({"id": "sPs71M8A2T", "event": "message", "topic": topic, "message": text});
    (PushAnswer::new(200, sent.to_string()), Some(message))
}
