//! WeCom's side of a group bot: whatever it says is a 200, and its own code says what became of the message.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage};

/// The bot with this key.
pub fn wecom(key: &'static str) -> Platform {
    Box::new(move |heard| {
        let (path, query) = heard.target();
        if heard.method != Method::POST || path != "/cgi-bin/webhook/send" {
            return (PushAnswer::new(404, "<html>404 Not Found</html>"), None);
        }
        if query != [("key", key.to_owned())] {
            return (refused(93_000, "invalid webhook url"), None);
        }
        match text(heard) {
            Ok(text) => {
                let message =
                    PushMessage { chat: "group".to_owned(), text, ..PushMessage::default() };
                (PushAnswer::new(200, r#"{"errcode":0,"errmsg":"ok"}"#), Some(message))
            }
            Err((code, words)) => (refused(code, words), None),
        }
    })
}

/// In bytes of UTF-8, of the text alone.
const LIMIT: usize = 2_048;

fn refused(code: u32, words: &str) -> PushAnswer {
    let more = format!("https://open.work.weixin.qq.com/devtool/query?e={code}");
    let words = format!(
        "{words}, hint: [1716264347466642364852488], from ip: 192.0.2.1, more info at {more}"
    );
    PushAnswer::new(200, json!({"errcode": code, "errmsg": words}).to_string())
}

fn text(heard: &Heard) -> Result<String, (u32, &'static str)> {
    let invalid = |words| (40_058, words);
    if heard.header("content-type") != "application/json" {
        return Err((44_004, "empty content"));
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&heard.body).map_err(|_| (47_001, "data format error"))?;
    if body.is_empty() {
        return Err((44_004, "empty content"));
    }
    if body.get("msgtype").and_then(Value::as_str) != Some("text") {
        return Err((40_008, "invalid message type"));
    }
    let content = body.get("text").and_then(Value::as_object).filter(|_| body.len() == 2);
    let content = content.filter(|content| content.len() == 1);
    let content = content.ok_or(invalid("test: a field that nobody knows"))?;
    let text = content.get("content").and_then(Value::as_str);
    let text = text.ok_or(invalid("text.content missing. invalid Request Parameter"))?;
    match text.len() {
        0 => Err((44_004, "empty content")),
        1..=LIMIT => Ok(text.to_owned()),
        _ => Err(invalid("text.content exceed max length 2048. invalid Request Parameter")),
    }
}
