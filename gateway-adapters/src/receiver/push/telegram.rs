//! A Bot API that takes what the real one takes, and refuses everything else in its words.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{FormField, Heard, Platform, PushAnswer, PushMessage, form, multipart};

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
        Some(method @ ("sendPhoto" | "sendDocument" | "sendMediaGroup")) => {
            match files(method, heard) {
                Ok(message) => {
                    let one = json!({"message_id": 8});
                    let result = if method == "sendMediaGroup" { json!([one]) } else { one };
                    let sent = json!({"ok": true, "result": result});
                    (PushAnswer::new(200, sent.to_string()), Some(message))
                }
                Err((413, reason)) => (refused(413, reason), None),
                Err((code, reason)) => (refused(code, &format!("Bad Request: {reason}")), None),
            }
        }
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
    Ok(PushMessage { chat, thread, text: text.to_owned(), rich, ..PushMessage::default() })
}

/// What a form of files shows, or why it is refused.
fn files(method: &str, heard: &Heard) -> Result<PushMessage, (u16, &'static str)> {
    let bad = |reason| (400, reason);
    if heard.body.len() > 50_000_000 {
        return Err((413, "Request Entity Too Large"));
    }
    let fields = multipart(heard).ok_or(bad("can't parse the form"))?;
    let (files, texts): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| field.filename.is_some());
    let text = |name: &str| texts.iter().find(|field| field.name == name).and_then(FormField::text);
    let known = ["chat_id", "message_thread_id", "caption", "media"];
    if texts.iter().any(|field| !known.contains(&field.name.as_str())) {
        return Err(bad("there is a field that nobody knows"));
    }
    let chat = text("chat_id").filter(|chat| chat.parse::<i64>().is_ok() || chat.starts_with('@'));
    let chat = chat.ok_or(bad("chat not found"))?.to_owned();
    let thread = text("message_thread_id").unwrap_or_default().to_owned();
    if !thread.is_empty() && !thread.parse::<i64>().is_ok_and(|topic| topic > 1) {
        return Err(bad("message thread not found"));
    }
    let expected = match method {
        "sendMediaGroup" => {
            files.iter().enumerate().all(|(at, one)| one.name == format!("file{at}"))
        }
        "sendPhoto" => files.len() == 1 && files.iter().all(|one| one.name == "photo"),
        _ => files.len() == 1 && files.iter().all(|one| one.name == "document"),
    };
    let mut caption = text("caption").unwrap_or_default().to_owned();
    let mut are_photos = method == "sendPhoto";
    if method == "sendMediaGroup" {
        let media: Vec<Value> = text("media")
            .and_then(|media| serde_json::from_str(media).ok())
            .ok_or(bad("can't parse media JSON"))?;
        if !(2..=10).contains(&media.len()) || media.len() != files.len() {
            return Err(bad("a group has 2 to 10 files"));
        }
        let kinds: Vec<&str> = media.iter().filter_map(|one| one.get("type")?.as_str()).collect();
        let is_attached = media.iter().enumerate().all(|(at, one)| {
            one.get("media").and_then(Value::as_str) == Some(&format!("attach://file{at}"))
        });
        are_photos = kinds.iter().all(|kind| *kind == "photo");
        let are_documents = kinds.iter().all(|kind| *kind == "document");
        if kinds.len() != files.len() || !is_attached || !(are_photos || are_documents) {
            return Err(bad("wrong media"));
        }
        let first = media.first().and_then(|one| one.get("caption")?.as_str());
        caption = first.unwrap_or_default().to_owned();
    }
    if !expected {
        return Err(bad("there is no document in the request"));
    }
    if caption.encode_utf16().count() > 1_024 {
        return Err(bad("message caption is too long"));
    }
    // What is no image begins otherwise.
    let is_photo = |bytes: &[u8]| bytes.starts_with(b"\x89PNG") && bytes.len() <= 10_000_000;
    if are_photos && !files.iter().all(|one| is_photo(&one.bytes)) {
        return Err(bad("IMAGE_PROCESS_FAILED"));
    }
    if files.iter().any(|one| one.bytes.is_empty()) {
        return Err(bad("file must be non-empty"));
    }
    let files = files.into_iter().map(|one| (one.filename.unwrap_or_default(), one.bytes));
    let files = files.collect();
    Ok(PushMessage { chat, thread, text: caption, files, ..PushMessage::default() })
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
