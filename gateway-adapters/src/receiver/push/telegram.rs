//! A Bot API that takes what the real one takes, and refuses everything else in its words.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, form};

/// A Bot API for the bot with this token.
///
/// The length is counted in UTF-16 without markup; entities must lie in the text and cut no character.
pub fn telegram(token: &str) -> Platform {
    let path = format!("/bot{token}/");
    Box::new(move |heard| match heard.path.strip_prefix(&path) {
        None => (refused(401, "Unauthorized: invalid token specified"), None),
        Some("getMe") => {
            let me = json!({"ok": true, "result": {"id": 1, "is_bot": true, "first_name": "A bot",
                "username": "a_bot"}});
            (PushAnswer::new(200, me.to_string()), None)
        }
        Some("sendMessage") => match message(heard) {
            Ok(message) => {
                let chat =
                    json!({"id": message.chat.parse().unwrap_or(-1_000_i64), "type": "channel"});
                let sent = json!({"ok": true, "result": {"message_id": 7, "date": 1_800_000_000,
                    "chat": chat, "text": message.text}});
                (PushAnswer::new(200, ascii(&sent.to_string())), Some(message))
            }
            Err(reason) => (refused(400, &format!("Bad Request: {reason}")), None),
        },
        Some(_) => (refused(404, "Not Found: method not found"), None),
    })
}

/// JSON as the Bot API writes it: no letter outside of ASCII.
fn ascii(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        match c {
            c if c.is_ascii() => text.push(c),
            c => {
                let units = c
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}"))
                    .collect::<String>();
                text.push_str(&units);
            }
        }
    }
    text
}

fn refused(code: u16, description: &str) -> PushAnswer {
    let body = json!({"ok": false, "error_code": code, "description": description});
    PushAnswer::new(code, body.to_string())
}

const FIELDS: [&str; 5] =
    ["chat_id", "text", "message_thread_id", "entities", "link_preview_options"];

fn message(heard: &Heard) -> Result<PushMessage, &'static str> {
    if heard.method != Method::POST {
        return Err("method not allowed");
    }
    let body: Map<String, Value> = match heard.header("content-type") {
        "application/json" => {
            serde_json::from_slice(&heard.body).map_err(|_| "can't parse JSON")?
        }
        _ => form_fields(heard).ok_or("this is neither JSON nor a form")?,
    };
    if body.keys().any(|key| !FIELDS.contains(&key.as_str())) {
        return Err("there is a field that nobody knows");
    }
    let chat = match body.get("chat_id") {
        Some(Value::Number(id)) if id.is_i64() => id.to_string(),
        Some(Value::String(name)) if name.starts_with('@') => name.clone(),
        _ => return Err("chat not found"),
    };
    let thread = match body.get("message_thread_id") {
        None => String::new(),
        Some(Value::Number(id)) if id.as_i64().is_some_and(|id| id > 1) => id.to_string(),
        Some(_) => return Err("message thread not found"),
    };
    let text = body.get("text").and_then(Value::as_str).unwrap_or_default();
    let units: Vec<u16> = text.encode_utf16().collect();
    if text.trim().is_empty() {
        return Err("message text is empty");
    }
    if units.len() > 4_096 {
        return Err("message is too long");
    }
    let entities = body.get("entities").map(|list| list.as_array().ok_or("can't parse entities"));
    let entities = entities.transpose()?;
    for entity in entities.into_iter().flatten() {
        entity_in(entity, &units).ok_or("can't parse entities: one is not in the text")?;
    }
    let rich = entities.is_some_and(|list| !list.is_empty());
    Ok(PushMessage { chat, thread, text: text.to_owned(), rich, key: String::new() })
}

/// The fields of a form: what is no text is written as JSON in it.
fn form_fields(heard: &Heard) -> Option<Map<String, Value>> {
    let value = |name: &str, text: String| match name {
        "text" => Value::String(text),
        _ => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    };
    let fields = form(heard)?.into_iter();
    Some(fields.map(|(name, text)| (name.clone(), value(&name, text))).collect())
}

/// The text of an entity, if it is one.
fn entity_in(entity: &Value, units: &[u16]) -> Option<String> {
    let number = |key| usize::try_from(entity.get(key)?.as_u64()?).ok();
    let (offset, length) = (number("offset")?, number("length")?);
    let known = ["bold", "italic", "code", "pre"].contains(&entity.get("type")?.as_str()?);
    let covered = units.get(offset..offset.checked_add(length)?)?;
    // A surrogate by itself is no text.
    let text = String::from_utf16(covered).ok()?;
    (known && length > 0).then_some(text)
}
