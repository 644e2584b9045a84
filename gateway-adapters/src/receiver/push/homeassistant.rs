//! A Home Assistant with one user and one notify service.

use ::http::Method;
use serde_json::{Map, Value};

use super::{Heard, Platform, PushAnswer, PushMessage, unescaped};

/// An instance that knows this token and has this notify service.
///
/// Text that it would take for a template is refused: it is run where it is none of ours.
pub fn homeassistant(token: &str, service: &str) -> Platform {
    let authorization = format!("Bearer {token}");
    let service = service.to_owned();
    Box::new(move |heard| {
        if heard.header("authorization") != authorization {
            return (refused(401, "Unauthorized"), None);
        }
        let Some(called) = heard.path.strip_prefix("/api/services/") else {
            return match (&heard.method, heard.path.as_str()) {
                (&Method::GET, "/api/") => {
                    (PushAnswer::new(200, r#"{"message":"API running."}"#), None)
                }
                _ => (refused(404, "Not Found"), None),
            };
        };
        if heard.method != Method::POST {
            return (refused(405, "Method Not Allowed"), None);
        }
        let message = match called.strip_prefix("notify/") {
            _ if called == "persistent_notification/create" => notification(heard),
            Some(name) if name == service => notified(heard, name),
            _ => None,
        };
        match message {
            Some(message) => (PushAnswer::new(200, "[]"), Some(message)),
            None => (refused(400, "Bad Request"), None),
        }
    })
}

fn refused(status: u16, words: &str) -> PushAnswer {
    PushAnswer::new(status, format!("{status}: {words}"))
}

fn fields(heard: &Heard, known: &[&str]) -> Option<Map<String, Value>> {
    let body: Map<String, Value> = serde_json::from_slice(&heard.body).ok()?;
    let is_known = body.iter().all(|(key, value)| known.contains(&&**key) && value.is_string());
    let text = body.get("message").and_then(Value::as_str)?;
    let is_template = ["{{", "{%", "{#"].iter().any(|sign| text.contains(sign));
    (is_known && !text.is_empty() && !is_template).then_some(body)
}

fn notification(heard: &Heard) -> Option<PushMessage> {
    let body = fields(heard, &["message", "notification_id"])?;
    let text_of = |key| body.get(key).and_then(Value::as_str);
    let text = unescaped(text_of("message")?, "*_~`|<>#&[]{")?;
    let key = text_of("notification_id")?.to_owned();
    Some(PushMessage { chat: "panel".to_owned(), text, key, ..PushMessage::default() })
}

fn notified(heard: &Heard, service: &str) -> Option<PushMessage> {
    let body = fields(heard, &["message"])?;
    let text = body.get("message").and_then(Value::as_str)?.to_owned();
    Some(PushMessage { chat: service.to_owned(), text, ..PushMessage::default() })
}
