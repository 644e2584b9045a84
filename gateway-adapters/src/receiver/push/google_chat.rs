//! Google Chat's side of an incoming webhook: the address of one space, and what makes a message in it.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage};

/// The webhook of the space `AAAA` with this key and this token.
pub fn google_chat(key: &'static str, token: &'static str) -> Platform {
    Box::new(move |heard| match message(heard, key, token) {
        Ok(message) => {
            // The text comes back three times.
            let text = message.text.as_str();
            let made = json!({"name": "spaces/AAAA/messages/BBBB.BBBB", "text": text,
                "formattedText": text, "argumentText": text,
                "thread": {"name": "spaces/AAAA/threads/CCCC"}, "space": {"name": "spaces/AAAA"}});
            (PushAnswer::new(200, made.to_string()), Some(message))
        }
        Err(answer) => (answer, None),
    })
}

/// In bytes, of the whole message.
const LIMIT: usize = 32_000;
const PARAMETERS: [&str; 4] = ["key", "token", "requestId", "messageReplyOption"];

fn refused(code: u16, status: &str, message: &str, reason: &str) -> PushAnswer {
    let details = match reason {
        "" => json!([]),
        reason => json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
            "domain": "googleapis.com"}]),
    };
    let error = json!({"code": code, "message": message, "status": status, "details": details});
    PushAnswer::new(code, json!({"error": error}).to_string())
}

fn invalid(message: &str) -> PushAnswer {
    refused(400, "INVALID_ARGUMENT", message, "")
}

fn message(heard: &Heard, key: &str, token: &str) -> Result<PushMessage, PushAnswer> {
    let (path, query) = heard.target();
    let parameter = |name| {
        let found = query.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    if path != "/v1/spaces/AAAA/messages" || heard.method != Method::POST {
        return Err(PushAnswer::new(404, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>"));
    }
    if parameter("key") != key {
        let message = "API key not valid. Please pass a valid API key.";
        return Err(refused(400, "INVALID_ARGUMENT", message, "API_KEY_INVALID"));
    }
    if parameter("token") != token {
        let message = "The caller does not have permission";
        return Err(refused(403, "PERMISSION_DENIED", message, ""));
    }
    if let Some((name, _)) = query.iter().find(|(name, _)| !PARAMETERS.contains(name)) {
        let message = format!("Unknown name \"{name}\": Cannot bind query parameter.");
        return Err(invalid(&format!("Invalid JSON payload received. {message}")));
    }
    let body: Map<String, Value> = serde_json::from_slice(&heard.body)
        .ok()
        .filter(|_| heard.header("content-type").starts_with("application/json"))
        .ok_or_else(|| invalid("Invalid JSON payload received. Unexpected token."))?;
    if let Some(name) = body.keys().find(|name| !["text", "thread"].contains(&name.as_str())) {
        let message = format!("Unknown name \"{name}\": Cannot find field.");
        return Err(invalid(&format!("Invalid JSON payload received. {message}")));
    }
    let text = body.get("text").and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        let message = "Message cannot be empty. Discarding empty create message request";
        return Err(invalid(&format!("{message} in spaces/AAAA.")));
    }
    if heard.body.len() > LIMIT {
        return Err(invalid("Message is too long. Discarding create message request."));
    }
    // The only signs that begin more than a style of letters: a mention, or a link with other words.
    let mut signs =
        text.match_indices('<').map(|(at, sign)| text.get(at.saturating_add(sign.len())..));
    if !signs.all(|rest| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\u{200b}'))) {
        return Err(invalid("test: a mention or a link was not meant"));
    }
    let request = parameter("requestId");
    if request.is_empty() {
        return Err(invalid("test: without a request's id, a repeat is shown twice"));
    }
    let thread = thread(&body).map_err(invalid)?;
    // Without this option a thread is passed over.
    let is_kept = parameter("messageReplyOption") == "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD";
    Ok(PushMessage {
        chat: "AAAA".to_owned(),
        thread: if is_kept { thread.to_owned() } else { String::new() },
        text: text.to_owned(),
        key: request.to_owned(),
        ..PushMessage::default()
    })
}

/// The key of the thread, or the thread's own name; empty for none.
fn thread(body: &Map<String, Value>) -> Result<&str, &'static str> {
    let Some(thread) = body.get("thread") else { return Ok("") };
    let fields = thread.as_object().filter(|fields| fields.len() == 1);
    let (name, value) = fields.and_then(|fields| fields.iter().next()).ok_or("Invalid thread")?;
    let value = value.as_str().filter(|value| (1..=4_000).contains(&value.chars().count()));
    match (name.as_str(), value) {
        ("threadKey", Some(key)) => Ok(key),
        ("name", Some(name)) if name.starts_with("spaces/AAAA/threads/") => Ok(name),
        _ => Err("Invalid thread resource name"),
    }
}
