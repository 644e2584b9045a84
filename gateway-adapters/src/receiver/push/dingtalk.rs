//! DingTalk's side of a custom bot that takes signed requests only: its own code in a 200 says what became of each.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::{Heard, Platform, PushAnswer, PushMessage};

/// The bot with this token, whose requests are signed with this secret.
pub fn dingtalk(token: &'static str, secret: &'static str) -> Platform {
    Box::new(move |heard| {
        let (path, query) = heard.target();
        if heard.method != Method::POST || path != "/robot/send" {
            return (PushAnswer::new(404, "<html>404 Not Found</html>"), None);
        }
        let made = check(&query, token, secret).and_then(|()| message(heard));
        match made {
            Ok(message) => (PushAnswer::new(200, r#"{"errcode":0,"errmsg":"ok"}"#), Some(message)),
            Err((code, words)) => {
                let body = json!({"errcode": code, "errmsg": words});
                (PushAnswer::new(200, body.to_string()), None)
            }
        }
    })
}

type Refusal = (u32, &'static str);

/// In bytes, of the whole request.
const LIMIT: usize = 20_000;

fn check(query: &[(&str, String)], token: &str, secret: &str) -> Result<(), Refusal> {
    let names: Vec<&str> = query.iter().map(|(name, _)| *name).collect();
    let [(_, sent), (_, time), (_, sign)] = query else {
        return Err(match names.first() {
            Some(&"access_token") => (310_000, "sign not match"),
            _ => (40_035, "缺少参数 access_token"),
        });
    };
    if names != ["access_token", "timestamp", "sign"] {
        return Err((310_000, "sign not match"));
    }
    if sent != token {
        return Err((300_005, "token is not exist"));
    }
    // In milliseconds; of seconds it would think that they are long past.
    let at = time.parse().map(Duration::from_millis).map_err(|_| (310_000, "invalid timestamp"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now.abs_diff(at) > Duration::from_secs(3_600) {
        return Err((310_000, "invalid timestamp"));
    }
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok();
    let mac = mac.map(|mac| mac.chain_update(format!("{time}\n{secret}")));
    let is_signed = STANDARD
        .decode(sign)
        .ok()
        .zip(mac)
        .is_some_and(|(sign, mac)| mac.verify_slice(&sign).is_ok());
    is_signed.then_some(()).ok_or((310_000, "sign not match"))
}

fn message(heard: &Heard) -> Result<PushMessage, Refusal> {
    if heard.header("content-type") != "application/json" {
        return Err((43_004, "invalid HTTP HEADER Content-Type"));
    }
    if heard.body.len() > LIMIT {
        return Err((460_101, "message too long, exceed 20000 bytes"));
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&heard.body).map_err(|_| (40_035, "不合法的参数"))?;
    if body.get("msgtype").and_then(Value::as_str) != Some("text") {
        return Err((400_105, "unsupported msgtype"));
    }
    if !body.keys().eq(["msgUuid", "msgtype", "text"]) {
        return Err((40_035, "test: a field that nobody knows"));
    }
    let content = body.get("text").and_then(Value::as_object).filter(|text| text.len() == 1);
    let content = content.and_then(|text| text.get("content")).and_then(Value::as_str);
    let text = content.filter(|text| !text.is_empty()).ok_or((40_035, "缺少参数 json"))?;
    let key = body.get("msgUuid").and_then(Value::as_str).filter(|key| !key.is_empty());
    Ok(PushMessage {
        chat: "group".to_owned(),
        text: text.to_owned(),
        key: key.ok_or((40_035, "test: no key"))?.to_owned(),
        ..PushMessage::default()
    })
}
