//! A receiver of signed webhooks: it takes what is signed for it, fresh, and of the documented shape.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::{Heard, Platform, PushAnswer, PushMessage};

/// A receiver whose secret has this base64 behind its `whsec_`.
pub fn signed_webhook(secret: &str) -> Platform {
    let key = STANDARD.decode(secret).unwrap_or_default();
    Box::new(move |heard| match check(heard, &key).and_then(|()| message(heard)) {
        Ok(message) => (PushAnswer::new(204, ""), Some(message)),
        Err((status, reason)) => (PushAnswer::new(status, reason), None),
    })
}

type Refusal = (u16, &'static str);

/// As the standard has it: method, the three headers of each family, the time, the signature.
fn check(heard: &Heard, key: &[u8]) -> Result<(), Refusal> {
    if heard.method != Method::POST {
        return Err((405, "method not allowed"));
    }
    if heard.header("content-type") != "application/json" {
        return Err((415, "not application/json"));
    }
    for name in ["id", "timestamp", "signature"] {
        let [ours, older] =
            ["webhook", "svix"].map(|family| heard.header(&format!("{family}-{name}")));
        if ours.is_empty() || ours != older {
            return Err((401, "missing required headers"));
        }
    }
    let seconds =
        heard.header("webhook-timestamp").parse().map_err(|_| (401, "invalid timestamp"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now.abs_diff(Duration::from_secs(seconds)) > Duration::from_secs(300) {
        return Err((401, "message timestamp too old"));
    }
    let signed = [
        heard.header("webhook-id").as_bytes(),
        b".",
        heard.header("webhook-timestamp").as_bytes(),
        b".",
        &heard.body,
    ]
    .concat();
    let mut signatures = heard.header("webhook-signature").split(' ');
    let is_valid = signatures.any(|signature| {
        let bytes = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        let mac = Hmac::<Sha256>::new_from_slice(key).ok();
        bytes
            .zip(mac)
            .is_some_and(|(bytes, mac)| mac.chain_update(&signed).verify_slice(&bytes).is_ok())
    });
    is_valid.then_some(()).ok_or((401, "no matching signature found"))
}

const DATA: [&str; 7] = ["chat", "events", "part", "parts", "possible_repeat", "text", "thread"];
const EVENT: [&str; 4] = ["board", "event", "kind", "task"];

fn message(heard: &Heard) -> Result<PushMessage, Refusal> {
    if heard.body.len() > 20_000 {
        return Err((413, "larger than 20 kB"));
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&heard.body).map_err(|_| (400, "no JSON object"))?;
    let shape = (422, "not of the documented shape");
    let has = |object: &Map<String, Value>, keys: &[&str]| object.keys().eq(keys.iter().copied());
    let kind = body.get("type").and_then(Value::as_str).unwrap_or_default();
    let data = body.get("data").and_then(Value::as_object).ok_or(shape)?;
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned).ok_or(shape);
    let number = |key: &str| data.get(key).and_then(Value::as_u64).ok_or(shape);
    let events = data.get("events").and_then(Value::as_array).ok_or(shape)?;
    let is_event = |event: &Value| event.as_object().is_some_and(|event| has(event, &EVENT));
    let is_whole = has(&body, &["data", "type"])
        && has(data, &DATA)
        && kind.starts_with("kanban.")
        && events.iter().all(is_event)
        && data.get("possible_repeat").is_some_and(Value::is_boolean)
        && (1..=number("parts")?).contains(&number("part")?);
    if !is_whole {
        return Err(shape);
    }
    Ok(PushMessage {
        chat: text("chat")?,
        thread: text("thread")?,
        text: text("text")?,
        rich: false,
        key: heard.header("webhook-id").to_owned(),
        ..PushMessage::default()
    })
}
