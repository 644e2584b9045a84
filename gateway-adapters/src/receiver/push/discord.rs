//! Discord's API for one bot, and one webhook of it: codes beside the status, limits told in each answer.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, unescaped};

/// A channel and its threads.
pub type Room = (&'static str, &'static [&'static str]);

/// The API for the bot with this token, which may write to these channels.
pub fn discord(token: &'static str, rooms: &'static [Room]) -> Platform {
    Box::new(move |heard| {
        if let Some(refused) = kept_out(heard) {
            return (refused, None);
        }
        if heard.header("authorization").strip_prefix("Bot ") != Some(token) {
            return (refused(401, 0, "401: Unauthorized"), None);
        }
        let channel =
            heard.path.strip_prefix("/channels/").and_then(|at| at.strip_suffix("/messages"));
        match (&heard.method, heard.path.strip_suffix("/@me"), channel) {
            (&Method::GET, Some("/applications" | "/oauth2/applications"), _) => {
                let app = json!({"id": "1000", "name": "kanban", "icon": null, "description": "",
                    "bot_public": false, "bot_require_code_grant": false, "verify_key": "00",
                    "owner": user(), "bot": user()});
                (answer(200, &app), None)
            }
            (&Method::GET, Some("/users"), _) => (answer(200, &user()), None),
            (&Method::POST, _, Some(id)) => match room(rooms, id) {
                Some((chat, thread)) => posted(heard, chat, thread, &BOT),
                None => (refused(404, 10_003, "Unknown Channel"), None),
            },
            _ => (refused(404, 0, "404: Not Found"), None),
        }
    })
}

/// A webhook at `/api/webhooks/200/<token>`, for the channel `100` and its threads.
pub fn discord_webhook(token: &'static str, threads: &'static [&'static str]) -> Platform {
    Box::new(move |heard| {
        let (path, query) = heard.path.split_once('?').unwrap_or((&heard.path, ""));
        let at = path.strip_prefix("/api/webhooks/").and_then(|at| at.split_once('/'));
        match at {
            Some(("200", given)) if given == token => {}
            Some(("200", _)) => return (refused(401, 50_027, "Invalid Webhook Token"), None),
            _ => return (refused(404, 10_015, "Unknown Webhook"), None),
        }
        if heard.method == Method::GET {
            let hook = json!({"id": "200", "type": 1, "channel_id": "100", "name": "kanban",
                "avatar": null, "guild_id": "1", "application_id": null, "token": token});
            return (answer(200, &hook), None);
        }
        let value = |name| query.split('&').find_map(|pair| pair.strip_prefix(name));
        let thread = value("thread_id=").unwrap_or_default();
        if !thread.is_empty() && !threads.contains(&thread) {
            return (refused(404, 10_003, "Unknown Channel"), None);
        }
        let (answer, message) = posted(heard, "100", thread, &HOOK);
        match value("wait=") {
            Some("true" | "1") => (answer, message),
            // Not even an error is told.
            _ => (PushAnswer::new(204, ""), message),
        }
    })
}

/// A message longer than that is refused.
const LIMIT: usize = 2_000;
const SENT: &str = "1100000000000000000";
const BOT: [&str; 7] =
    ["content", "components", "tts", "allowed_mentions", "flags", "nonce", "enforce_nonce"];
const HOOK: [&str; 5] = ["content", "components", "tts", "allowed_mentions", "flags"];

fn room<'a>(rooms: &[(&'a str, &[&'a str])], id: &str) -> Option<(&'a str, &'a str)> {
    let found = |(chat, threads): &(&'a str, &[&'a str])| match *chat == id {
        true => Some((*chat, "")),
        false => threads.iter().find(|thread| **thread == id).map(|thread| (*chat, *thread)),
    };
    rooms.iter().find_map(found)
}

fn user() -> Value {
    json!({"id": "1000", "username": "kanban", "discriminator": "0", "global_name": null,
        "avatar": null, "bot": true})
}

fn answer(status: u16, body: &Value) -> PushAnswer {
    PushAnswer::new(status, body.to_string()).with("content-type", "application/json")
}

fn refused(status: u16, code: u32, message: &str) -> PushAnswer {
    answer(status, &json!({"message": message, "code": code}))
}

/// What is kept out before the API sees it.
fn kept_out(heard: &Heard) -> Option<PushAnswer> {
    let agent = heard.header("user-agent").strip_prefix("DiscordBot (");
    let is_fit = agent.is_some_and(|rest| rest.contains([' ', ',']) && rest.contains(')'));
    (!is_fit).then(|| refused(403, 40_333, "internal network error"))
}

fn posted(
    heard: &Heard,
    chat: &str,
    thread: &str,
    known: &[&str],
) -> (PushAnswer, Option<PushMessage>) {
    let message = match message(heard, known) {
        Ok(message) => message,
        Err((code, reason)) => return (refused(400, code, reason), None),
    };
    let message = PushMessage { chat: chat.to_owned(), thread: thread.to_owned(), ..message };
    let at = if thread.is_empty() { chat } else { thread };
    let sent = json!({"id": SENT, "type": 0, "channel_id": at, "content": message.text,
        "author": user(), "attachments": [], "embeds": [], "mentions": [], "mention_roles": [],
        "mention_everyone": false, "pinned": false, "tts": false, "flags": 4, "components": [],
        "timestamp": "2026-11-30T12:00:00.000000+00:00", "edited_timestamp": null,
        "nonce": message.key});
    let answer = answer(200, &sent)
        .with("x-ratelimit-limit", "5")
        .with("x-ratelimit-remaining", "4")
        .with("x-ratelimit-reset-after", "5.0")
        .with("x-ratelimit-bucket", "abcd1234");
    (answer, Some(message))
}

fn message(heard: &Heard, known: &[&str]) -> Result<PushMessage, (u32, &'static str)> {
    let malformed = (50_035, "Invalid Form Body");
    if heard.method != Method::POST || !heard.header("content-type").starts_with("application/json")
    {
        return Err(malformed);
    }
    let body: Map<String, Value> = serde_json::from_slice(&heard.body)
        .map_err(|_| (50_109, "The request body contains invalid JSON."))?;
    // The real one passes over fields that it does not know; a misspelt one would have no effect there.
    if body.keys().any(|key| !known.contains(&key.as_str())) {
        return Err(malformed);
    }
    let content = body.get("content").and_then(Value::as_str).ok_or(malformed)?.trim();
    if content.is_empty() {
        return Err((50_006, "Cannot send an empty message"));
    }
    if content.encode_utf16().count() > LIMIT {
        return Err(malformed);
    }
    // Whatever is not listed here would be called.
    let calls_nobody = body.get("allowed_mentions") == Some(&json!({"parse": []}));
    let flags = body.get("flags").is_none_or(|flags| flags == 4)
        && body.get("tts").is_none_or(|tts| tts == false);
    let has_parts = body.get("components").is_some_and(|parts| parts != &json!([]));
    let nonce = match body.get("nonce") {
        None => "",
        Some(nonce) => nonce.as_str().filter(|nonce| nonce.len() <= 25).ok_or(malformed)?,
    };
    let enforced = body.get("enforce_nonce") == Some(&Value::Bool(true));
    if !calls_nobody || has_parts || !flags || enforced == nonce.is_empty() {
        return Err(malformed);
    }
    let text = unescaped(content, "*_~`|<>#").ok_or(malformed)?;
    Ok(PushMessage { text, key: nonce.to_owned(), ..PushMessage::default() })
}
