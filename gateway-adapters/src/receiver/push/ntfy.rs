//! An ntfy server with one user: what is too long becomes a file, as it does there.

use ::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{Heard, Platform, PushAnswer, PushMessage};

/// The most bytes of a file.
const FILE: usize = 15 << 20;

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
            (&Method::PUT, path) => file(heard, path.trim_start_matches('/')),
            (&Method::POST, path) => message(heard, path.trim_start_matches('/')),
            _ => (refused(404, 40_401, "page not found"), None),
        }
    })
}

fn refused(status: u16, code: u32, error: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"code": code, "http": status, "error": error}).to_string())
}

fn is_topic(topic: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&topic.len()) && topic.bytes().all(is_fit)
}

/// A file, whose name and text are in headers as RFC 2047 writes them.
fn file(heard: &Heard, topic: &str) -> (PushAnswer, Option<PushMessage>) {
    let word = |name: &str| {
        let coded = heard.header(name).strip_prefix("=?UTF-8?B?")?.strip_suffix("?=")?;
        String::from_utf8(STANDARD.decode(coded).ok()?).ok()
    };
    if !is_topic(topic) {
        return (refused(400, 40_009, "invalid request: topic invalid"), None);
    }
    let is_sized = heard.header("content-length") == heard.body.len().to_string();
    let Some(name) = word("filename").filter(|name| is_sized && !name.is_empty()) else {
        return (refused(400, 40_001, "invalid request"), None);
    };
    if heard.body.len() > FILE {
        return (refused(413, 41_301, "attachment too large, or bandwidth limit reached"), None);
    }
    let text = word("message").unwrap_or_default();
    let shown = if text.is_empty() { format!("You received a file: {name}") } else { text.clone() };
    let sent = json!({"id": "sPs71M8A2U", "event": "message", "topic": topic, "message": shown,
        "attachment": {"name": name, "size": heard.body.len()}});
    let files = vec![(name, heard.body.clone())];
    let message = PushMessage { chat: topic.to_owned(), text, files, ..PushMessage::default() };
    (PushAnswer::new(200, sent.to_string()), Some(message))
}

fn message(heard: &Heard, topic: &str) -> (PushAnswer, Option<PushMessage>) {
    if !is_topic(topic) {
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
