//! A Zulip organization with one bot and one channel: what is markup there was not meant.

use ::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, form};

/// An organization that knows this bot; `ops` is its channel, number 7.
pub fn zulip(email: &str, key: &str) -> Platform {
    let authorization = format!("Basic {}", STANDARD.encode(format!("{email}:{key}")));
    Box::new(move |heard| {
        let path = heard.path.split('?').next().unwrap_or_default();
        if (&heard.method, path) == (&Method::GET, "/api/v1/server_settings") {
            let settings = json!({"zulip_version": "10.4", "zulip_feature_level": 372});
            return (success(settings), None);
        }
        if heard.header("authorization") != authorization {
            return (refused(401, "INVALID_API_KEY", "Invalid API key"), None);
        }
        match (&heard.method, path) {
            (&Method::GET, "/api/v1/users/me") => (success(json!({"user_id": 9})), None),
            (&Method::POST, "/api/v1/messages") => match message(heard) {
                Ok(message) => (success(json!({"id": 42})), Some(message)),
                Err((code, words)) => (refused(400, code, words), None),
            },
            _ => (refused(404, "NOT_FOUND", "Not found"), None),
        }
    })
}

fn success(mut body: Value) -> PushAnswer {
    if let Some(fields) = body.as_object_mut() {
        fields.insert("result".to_owned(), "success".into());
        fields.insert("msg".to_owned(), "".into());
    }
    PushAnswer::new(200, body.to_string())
        .with("x-ratelimit-limit", "200")
        .with("x-ratelimit-remaining", "199")
        .with("x-ratelimit-reset", "1800000000")
}

fn refused(status: u16, code: &str, words: &str) -> PushAnswer {
    let body = json!({"result": "error", "code": code, "msg": words});
    PushAnswer::new(status, body.to_string())
}

fn message(heard: &Heard) -> Result<PushMessage, (&'static str, &'static str)> {
    let fields = form(heard).ok_or(("REQUEST_VARIABLE_MISSING", "Missing 'type' argument"))?;
    let text_of = |key: &str| fields.get(key).map(String::as_str).unwrap_or_default();
    if fields.keys().any(|key| !["type", "to", "topic", "content"].contains(&key.as_str())) {
        return Err(("test.unknown", "there is a field that nobody knows"));
    }
    let to = text_of("to");
    let to: Value = serde_json::from_str(to).unwrap_or_else(|_| to.into());
    let chat = match (text_of("type"), &to) {
        ("stream" | "channel", Value::String(name)) if name == "ops" => name.clone(),
        ("stream" | "channel", Value::Number(id)) if id.as_u64() == Some(7) => id.to_string(),
        ("stream" | "channel", _) => {
            return Err(("STREAM_DOES_NOT_EXIST", "Channel does not exist"));
        }
        ("direct", Value::Array(people)) if people.iter().all(|one| *one == "ann@example.org") => {
            "ann@example.org".to_owned()
        }
        ("direct", _) => return Err(("BAD_REQUEST", "Invalid email")),
        _ => return Err(("REQUEST_VARIABLE_INVALID", "Invalid type")),
    };
    let topic = text_of("topic");
    if text_of("type") != "direct" && topic.is_empty() {
        return Err(("BAD_REQUEST", "Topics are required in this organization"));
    }
    // What cannot be printed, by Zulip's own list.
    let is_free =
        |c: char| matches!(u32::from(c), 0xfdd0..=0xfdef) || u32::from(c) & 0xfffe == 0xfffe;
    if topic.chars().any(|c| c.is_control() || is_free(c)) || topic.chars().count() > 60 {
        return Err(("BAD_REQUEST", "Invalid character in topic"));
    }
    let content = text_of("content");
    if content.trim().is_empty() {
        return Err(("BAD_REQUEST", "Message must not be empty"));
    }
    // It would be cut; nobody would know.
    if content.chars().count() > 10_000 {
        return Err(("test.cut", "the message is too long"));
    }
    let text = shown(content).ok_or(("test.markup", "markup was not meant"))?;
    Ok(PushMessage { chat, thread: topic.to_owned(), text, ..PushMessage::default() })
}

/// What people see; `None` where there is markup.
fn shown(content: &str) -> Option<String> {
    let (mut text, mut rest) = (String::new(), content);
    while let Some(sign) = rest.chars().next() {
        let after = rest.get(sign.len_utf8()..)?;
        if let Some(number) = rest.strip_prefix("&#") {
            let (number, left) = number.split_once(';')?;
            text.push(char::from_u32(number.parse().ok()?)?);
            rest = left;
            continue;
        }
        if "*`#@<>[]|~$:./+-&".contains(sign) {
            return None;
        }
        text.push(sign);
        rest = after;
    }
    Some(text)
}
