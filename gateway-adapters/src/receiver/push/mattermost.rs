//! A Mattermost server with one bot and one webhook: what is markup there must be meant.

use std::sync::Mutex;

use ::http::Method;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, lock, multipart::unescaped};

/// The API for the bot with this token.
///
/// It does not drop what it is sent twice: messages have their key, so that a test can see it.
pub fn mattermost(token: &str) -> Platform {
    let authorization = format!("Bearer {token}");
    let kept: Mutex<Vec<(String, Bytes)>> = Mutex::default();
    Box::new(move |heard| {
        if heard.header("authorization") != authorization {
            let error = "Invalid or expired session, please login again.";
            return (refused(401, "api.context.session_expired.app_error", error), None);
        }
        if let Some(query) = heard.path.strip_prefix("/api/v4/files?") {
            return (keep(&mut lock(&kept), heard, query), None);
        }
        match (&heard.method, heard.path.as_str()) {
            (&Method::GET, "/api/v4/users/me") => {
                (PushAnswer::new(200, json!({"id": ID, "is_bot": true}).to_string()), None)
            }
            (&Method::POST, "/api/v4/posts") => answer(post(heard, &lock(&kept)), || {
                let sent: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
                let post = json!({"id": ID, "user_id": ID, "message": sent.get("message")});
                PushAnswer::new(201, post.to_string())
            }),
            _ => (refused(404, "api.context.404.app_error", "Page not found"), None),
        }
    })
}

/// The incoming webhook with this key.
pub fn mattermost_hook(key: &str) -> Platform {
    let path = format!("/hooks/{key}");
    Box::new(move |heard| {
        if heard.method != Method::POST || !heard.path.starts_with("/hooks/") {
            return (PushAnswer::new(404, "<html>Page not found</html>"), None);
        }
        if heard.path != path {
            return (
                refused(400, "web.incoming_webhook.invalid.app_error", "Invalid webhook."),
                None,
            );
        }
        answer(hook(heard), || PushAnswer::new(200, "ok").with("content-type", "text/plain"))
    })
}

const ID: &str = "4xp9fdt77pncbef59f4k1qe83o";
const LIMIT: usize = 16_383;
/// The most bytes of a file.
const FILE: usize = 100 << 20;

type Made = Result<PushMessage, PushAnswer>;

fn answer(made: Made, accepted: impl Fn() -> PushAnswer) -> (PushAnswer, Option<PushMessage>) {
    match made {
        Ok(message) => (accepted(), Some(message)),
        Err(answer) => (answer, None),
    }
}

fn refused(status: u16, id: &str, message: &str) -> PushAnswer {
    let body = json!({"id": id, "message": message, "request_id": "r", "status_code": status});
    PushAnswer::new(status, body.to_string())
}

fn fields(heard: &Heard, known: &[&str]) -> Result<Map<String, Value>, PushAnswer> {
    let invalid = || refused(400, "api.context.invalid_body_param.app_error", "Invalid post.");
    if heard.header("content-type") != "application/json" {
        return Err(invalid());
    }
    let body: Map<String, Value> = serde_json::from_slice(&heard.body).map_err(|_| invalid())?;
    let is_known = body
        .iter()
        .all(|(key, value)| known.contains(&&**key) && (value.is_string() || key == "file_ids"));
    if is_known { Ok(body) } else { Err(invalid()) }
}

/// Keeps a file, and tells its id.
fn keep(kept: &mut Vec<(String, Bytes)>, heard: &Heard, query: &str) -> PushAnswer {
    let invalid = || refused(400, "api.context.invalid_url_param.app_error", "Invalid parameter.");
    let parts = query.strip_prefix("channel_id=").and_then(|rest| rest.split_once("&filename="));
    let name = parts.filter(|(channel, _)| is_id(channel)).and_then(|(_, name)| unescaped(name));
    let is_sized = heard.header("content-length") == heard.body.len().to_string();
    let is_fit = heard.method == Method::POST && is_sized && !heard.body.is_empty();
    match name.filter(|name| is_fit && !name.is_empty()) {
        None => invalid(),
        Some(_) if heard.body.len() > FILE => {
            let id = "api.file.upload_file.too_large_detailed.app_error";
            refused(413, id, "Unable to upload file. File is too large.")
        }
        Some(name) => {
            let id = format!("{:026}", kept.len());
            kept.push((name.clone(), heard.body.clone()));
            let info = json!({"id": id, "name": name, "size": heard.body.len()});
            let body = json!({"file_infos": [info], "client_ids": []});
            PushAnswer::new(201, body.to_string())
        }
    }
}

fn is_id(id: &str) -> bool {
    id.len() == 26 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn post(heard: &Heard, kept: &[(String, Bytes)]) -> Made {
    let known = ["channel_id", "message", "root_id", "pending_post_id", "file_ids"];
    let body = fields(heard, &known)?;
    let no_file = || refused(400, "model.post.is_valid.file_ids.app_error", "Invalid file ids.");
    let ids = body.get("file_ids").map(|ids| ids.as_array().ok_or_else(no_file)).transpose()?;
    let file = |id: &Value| kept.get(id.as_str()?.parse::<usize>().ok()?).cloned();
    let files: Option<Vec<_>> = ids.into_iter().flatten().map(file).collect();
    let files = files.filter(|files| files.len() <= 10).ok_or_else(no_file)?;
    let text_of = |key| body.get(key).and_then(Value::as_str).unwrap_or_default();
    let channel = text_of("channel_id");
    if !is_id(channel) {
        let message = "You do not have the appropriate permissions.";
        return Err(refused(403, "api.context.permissions.app_error", message));
    }
    let root = text_of("root_id");
    if !root.is_empty() && !is_id(root) {
        let id = "api.post.create_post.root_id.app_error";
        return Err(refused(400, id, "Invalid RootId parameter."));
    }
    let key = text_of("pending_post_id");
    if key.is_empty() {
        return Err(refused(400, "test.no_key", "There is no key."));
    }
    let message = match text_of("message") {
        "" if !files.is_empty() => PushMessage::default(),
        written => shown(written)?,
    };
    let (chat, thread, key) = (channel.into(), root.into(), key.into());
    Ok(PushMessage { chat, thread, key, files, ..message })
}

fn hook(heard: &Heard) -> Made {
    let body = fields(heard, &["channel", "text"])?;
    let text_of = |key| body.get(key).and_then(Value::as_str).unwrap_or_default();
    if text_of("text").is_empty() {
        return Err(refused(400, "web.incoming_webhook.text.app_error", "No text specified."));
    }
    let channel = text_of("channel");
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = channel.strip_prefix(['@', '#']).unwrap_or(channel);
    if name.is_empty() || !name.chars().all(is_name) {
        let id = "web.incoming_webhook.channel.app_error";
        return Err(refused(404, id, "Couldn't find the channel."));
    }
    Ok(PushMessage { chat: channel.into(), ..shown(text_of("text"))? })
}

/// What people see. Markup other than bold was not meant, nor is a sign that may be the beginning of any.
fn shown(written: &str) -> Made {
    if written.chars().count() > LIMIT {
        let id = "model.post.is_valid.message_length.app_error";
        return Err(refused(400, id, "Post Message property is longer than the maximum."));
    }
    let meant = |what: &str| refused(400, "test.markup", &format!("{what} was not meant"));
    let (mut text, mut rich, mut chars) = (String::new(), false, written.chars().peekable());
    // A line that begins with text is no heading and no list.
    let is_mark = |c: &char| matches!(c, '#' | '-' | '+' | '>' | '|' | '=');
    let mut is_beginning = true;
    while let Some(c) = chars.next() {
        if is_beginning && is_mark(&c) {
            return Err(meant("a block"));
        }
        is_beginning = c == '\n';
        match c {
            '\\' => match chars.next() {
                Some(c) if "\\`*{}[]()#+-.!_>~|".contains(c) => text.push(c),
                _ => return Err(meant("an escape that not every client knows")),
            },
            '*' if chars.next_if_eq(&'*').is_some() => rich = true,
            '*' | '_' | '`' | '[' | ']' | '|' => return Err(meant("markup")),
            '@' | '<' | '&' | '~' => {
                let rest: String = chars.clone().take(5).collect();
                if c == '&' && rest == "#124;" {
                    text.push('|');
                    chars.by_ref().take(5).for_each(drop);
                } else if chars.next_if_eq(&'\u{200b}').is_some() {
                    text.push(c);
                    if c == '@' {
                        text.push('\u{200b}');
                    }
                } else {
                    return Err(meant("a mention, a link or an entity"));
                }
            }
            '\u{200b}' => {}
            c => text.push(c),
        }
    }
    if text.trim().is_empty() {
        return Err(refused(400, "test.empty", "There is no text."));
    }
    Ok(PushMessage { text, rich, ..PushMessage::default() })
}
