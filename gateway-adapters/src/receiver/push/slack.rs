//! A Web API of Slack and an incoming webhook: almost every refusal of the former is a 200.

mod files;

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage};

/// A workspace: the token of its bot, and the channels it may write to.
pub type Workspace = (&'static str, &'static [&'static str]);

/// A Web API with these workspaces.
pub fn slack(workspaces: &'static [Workspace]) -> Platform {
    let shelf = files::Shelf::default();
    Box::new(move |heard| {
        if let Some(answer) = shelf.put(heard) {
            return (answer, None);
        }
        let token = heard.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
        let known = workspaces.iter().find(|(known, _)| *known == token);
        let (refused, message) = match (known, &heard.method, heard.path.as_str()) {
            (_, &Method::POST, path) if METHODS.contains(&path) && token.is_empty() => {
                ("not_authed", None)
            }
            (None, &Method::POST, path) if METHODS.contains(&path) => ("invalid_auth", None),
            (Some(_), &Method::POST, "/auth.test") => ("", None),
            (Some(_), &Method::POST, "/files.getUploadURLExternal") => match shelf.place(heard) {
                Ok(place) => return (PushAnswer::new(200, place.to_string()), None),
                Err(reason) => (reason, None),
            },
            (Some((_, channels)), &Method::POST, path) if METHODS.contains(&path) => {
                let message = match path {
                    "/chat.postMessage" => message(heard, &API, channels),
                    _ => shelf.show(heard, channels),
                };
                match message {
                    Ok(message) => ("", Some(message)),
                    Err(reason) => (reason, None),
                }
            }
            _ => ("unknown_method", None),
        };
        let body = match (&message, refused) {
            (Some(message), _) => json!({"ok": true, "channel": message.chat, "ts": TIME,
                "message": {"type": "message", "subtype": "bot_message", "ts": TIME, "text": message.text}}),
            (None, "") => {
                json!({"ok": true, "url": "https://example.slack.com/", "team": "Example",
                "user": "bot", "team_id": "T1", "user_id": "U1", "bot_id": "B1"})
            }
            (None, error) => json!({"ok": false, "error": error}),
        };
        let answer = PushAnswer::new(200, body.to_string())
            .with("content-type", "application/json; charset=utf-8")
            .with("x-oauth-scopes", "chat:write,channels:read");
        (answer, message)
    })
}

/// An incoming webhook at this path, for the channel `C1`.
pub fn slack_webhook(path: &'static str) -> Platform {
    Box::new(move |heard| {
        if heard.path != path {
            return (PushAnswer::new(404, "no_service"), None);
        }
        if heard.method != Method::POST {
            return (PushAnswer::new(405, "invalid_method"), None);
        }
        match message(heard, &HOOK, &["C1"]) {
            Ok(message) => (PushAnswer::new(200, "ok"), Some(message)),
            // It has one word for whatever is malformed.
            Err(reason) if reason.starts_with("invalid_") => {
                (PushAnswer::new(400, "invalid_payload"), None)
            }
            Err(reason) => (PushAnswer::new(400, reason), None),
        }
    })
}

const METHODS: [&str; 4] = [
    "/auth.test",
    "/chat.postMessage",
    "/files.getUploadURLExternal",
    "/files.completeUploadExternal",
];
const TIME: &str = "1503435956.000247";
/// Longer texts are not refused by the real one, but it is advised against them.
const LIMIT: usize = 4_000;

const API: [&str; 8] = [
    "channel",
    "text",
    "mrkdwn",
    "parse",
    "link_names",
    "unfurl_links",
    "unfurl_media",
    "thread_ts",
];
const HOOK: [&str; 6] =
    ["text", "mrkdwn", "link_names", "unfurl_links", "unfurl_media", "thread_ts"];

fn message(heard: &Heard, known: &[&str], chats: &[&str]) -> Result<PushMessage, &'static str> {
    if !heard.header("content-type").starts_with("application/json") {
        return Err("invalid_post_type");
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&heard.body).map_err(|_| "invalid_json")?;
    if body.keys().any(|key| !known.contains(&key.as_str())) {
        return Err("invalid_arguments");
    }
    let text_of = |key| match body.get(key) {
        None => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err("invalid_arguments"),
    };
    let is_off = |key| matches!(body.get(key), None | Some(Value::Bool(false)));
    let chat = match known.contains(&"channel") {
        true => text_of("channel")?,
        false => chats.first().copied().unwrap_or_default(),
    };
    if !chats.contains(&chat) {
        return Err("channel_not_found");
    }
    let written = text_of("text")?;
    if written.trim().is_empty() {
        return Err("no_text");
    }
    if written.encode_utf16().count() > LIMIT {
        return Err("msg_too_long");
    }
    // With markup, or with names looked for, a title would not be shown as it is.
    let is_plain = body.get("mrkdwn") == Some(&Value::Bool(false)) && is_off("link_names");
    if !is_plain || !matches!(text_of("parse")?, "" | "none") {
        return Err("invalid_arguments");
    }
    let thread = text_of("thread_ts")?;
    if !thread.is_empty() && !is_time(thread) {
        return Err("invalid_thread_ts");
    }
    let text = shown(written).ok_or("invalid_arguments")?;
    let (chat, thread) = (chat.to_owned(), thread.to_owned());
    Ok(PushMessage { chat, thread, text, ..PushMessage::default() })
}

fn is_time(text: &str) -> bool {
    let (seconds, rest) = text.split_once('.').unwrap_or_default();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    seconds.len() == 10 && rest.len() == 6 && digits(seconds) && digits(rest)
}

/// The text as people see it; `None` where a sign is left that begins a mention, a link or an entity.
fn shown(text: &str) -> Option<String> {
    if text.contains(['<', '>']) {
        return None;
    }
    let mut pieces = text.split('&');
    let mut shown = pieces.next()?.to_owned();
    for piece in pieces {
        let (entity, rest) = piece.split_once(';')?;
        shown.push_str(match entity {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            _ => return None,
        });
        shown.push_str(rest);
    }
    Some(shown)
}
