//! Feishu's side of a custom bot that takes signed requests only: the code in its answer says what became of each.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::{Heard, Platform, PushAnswer, PushMessage};

/// The bot with this token, whose requests are signed with this secret.
pub fn feishu(token: &'static str, secret: &'static str) -> Platform {
    Box::new(move |heard| {
        let sent = heard.path.strip_prefix("/open-apis/bot/v2/hook/");
        let Some(sent) = sent.filter(|_| heard.method == Method::POST) else {
            return (PushAnswer::new(404, "404 page not found"), None);
        };
        let made = if sent == token {
            fields(heard).and_then(|body| {
                check(&body, secret)?;
                message(&body)
            })
        } else {
            Err((19_001, "param invalid: incoming webhook access token invalid"))
        };
        match made {
            Ok(message) => {
                let body = json!({"StatusCode": 0, "StatusMessage": "success", "code": 0,
                    "data": {}, "msg": "success"});
                (PushAnswer::new(200, body.to_string()), Some(message))
            }
            Err((code, words)) => {
                let body = json!({"code": code, "msg": words, "data": {}});
                (PushAnswer::new(if code == 9_499 { 400 } else { 200 }, body.to_string()), None)
            }
        }
    })
}

type Refusal = (u32, &'static str);

/// In bytes, of the whole request.
const LIMIT: usize = 20_000;

fn fields(heard: &Heard) -> Result<Map<String, Value>, Refusal> {
    let body = serde_json::from_slice(&heard.body).ok();
    let body = body.filter(|_| heard.header("content-type") == "application/json");
    let body: Map<String, Value> = body.ok_or((9_499, "Bad Request"))?;
    match heard.body.len() {
        0..=LIMIT => Ok(body),
        _ => Err((19_036, "request body size too large")),
    }
}

/// The time and the time with the secret are the key; nothing is signed by it.
fn check(body: &Map<String, Value>, secret: &str) -> Result<(), Refusal> {
    let refused = (19_021, "sign match fail or timestamp is not within one hour from current time");
    let text = |key| body.get(key).and_then(Value::as_str).ok_or(refused);
    let (time, sign) = (text("timestamp")?, text("sign")?);
    let at = time.parse().map(Duration::from_secs).map_err(|_| refused)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mac = Hmac::<Sha256>::new_from_slice(format!("{time}\n{secret}").as_bytes()).ok();
    let is_signed = STANDARD
        .decode(sign)
        .ok()
        .zip(mac)
        .is_some_and(|(sign, mac)| mac.verify_slice(&sign).is_ok());
    let is_fresh = now.abs_diff(at) <= Duration::from_secs(3_600);
    (is_signed && is_fresh).then_some(()).ok_or(refused)
}

fn message(body: &Map<String, Value>) -> Result<PushMessage, Refusal> {
    if body.get("msg_type").and_then(Value::as_str) != Some("text") {
        return Err((19_002, "params error, msg_type need"));
    }
    if !body.keys().eq(["content", "msg_type", "sign", "timestamp"]) {
        return Err((9_499, "test: a field that nobody knows"));
    }
    let content = body.get("content").and_then(Value::as_object).filter(|text| text.len() == 1);
    let content = content.and_then(|text| text.get("text")).and_then(Value::as_str);
    let text = content.filter(|text| !text.is_empty()).ok_or((9_499, "fail to parse content"))?;
    // A mention, bold, struck out, a link: none of them was meant.
    for mark in ["<at", "<b", "<i", "<u", "**", "~~", "]("] {
        if text.contains(mark) {
            return Err((9_499, "test: markup was not meant"));
        }
    }
    Ok(PushMessage { chat: "group".to_owned(), text: text.to_owned(), ..PushMessage::default() })
}
