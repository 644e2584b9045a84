//! Discord's API for one bot, and one webhook of it: codes beside the status, limits told in each answer.

use ::http::Method;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{FormField, Heard, Platform, PushAnswer, PushMessage, multipart, unescaped};

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
const BOT: [&str; 8] = [
    "content",
    "components",
    "tts",
    "allowed_mentions",
    "flags",
    "nonce",
    "enforce_nonce",
    "attachments",
];
const HOOK: [&str; 6] =
    ["content", "components", "tts", "allowed_mentions", "flags", "attachments"];
/// The most bytes of a file, and of a request.
const FILE: usize = 10 << 20;
const REQUEST: usize = 25 << 20;

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
        Err((40_005, reason)) => return (refused(413, 40_005, reason), None),
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
    if heard.method != Method::POST {
        return Err(malformed);
    }
    let (body, files) = if heard.header("content-type").starts_with("application/json") {
        (heard.body.clone(), Vec::new())
    } else {
        with_files(heard)?
    };
    let body: Map<String, Value> = serde_json::from_slice(&body)
        .map_err(|_| (50_109, "The request body contains invalid JSON."))?;
    let named = |(at, file): (usize, &FormField)| json!({"id": at, "filename": file.filename});
    let attachments = Value::from_iter(files.iter().enumerate().map(named));
    if body.get("attachments").is_some_and(|named| *named != attachments)
        || (!files.is_empty() && !body.contains_key("attachments"))
    {
        return Err(malformed);
    }
    // The real one passes over fields that it does not know; a misspelt one would have no effect there.
    if body.keys().any(|key| !known.contains(&key.as_str())) {
        return Err(malformed);
    }
    let content = body.get("content").and_then(Value::as_str).ok_or(malformed)?.trim();
    if content.is_empty() && files.is_empty() {
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
    let files =
        files.into_iter().map(|one| (one.filename.unwrap_or_default(), one.bytes)).collect();
    Ok(PushMessage { text, files, key: nonce.to_owned(), ..PushMessage::default() })
}

/// The JSON of a form, and its files.
fn with_files(heard: &Heard) -> Result<(Bytes, Vec<FormField>), (u32, &'static str)> {
    let malformed = (50_035, "Invalid Form Body");
    let mut fields = multipart(heard).ok_or(malformed)?.into_iter();
    let payload = fields.next().filter(|field| {
        field.name == "payload_json" && field.kind == "application/json" && field.filename.is_none()
    });
    let files: Vec<FormField> = fields.collect();
    let is_fit = |(at, file): (usize, &FormField)| {
        file.name == format!("files[{at}]") && file.filename.is_some()
    };
    if !(1..=10).contains(&files.len()) || !files.iter().enumerate().all(is_fit) {
        return Err(malformed);
    }
    if heard.body.len() > REQUEST || files.iter().any(|file| file.bytes.len() > FILE) {
        return Err((40_005, "Request entity too large"));
    }
    Ok((payload.ok_or(malformed)?.bytes, files))
}
