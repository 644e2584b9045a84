//! A Matrix server with one user, who has a password, a token and one room.

use std::sync::Mutex;

use ::http::Method;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, lock};

/// A server for the user `bot` with this token, which a login with this password answers too.
///
/// It does not drop what it is sent twice: messages have their key, so that a test can see it.
pub fn matrix(token: &str, password: &str) -> Platform {
    let authorization = format!("Bearer {token}");
    let (token, password) = (token.to_owned(), password.to_owned());
    let kept: Mutex<Vec<Bytes>> = Mutex::default();
    Box::new(move |heard| {
        let upload = heard.path.strip_prefix("/_matrix/media/v3/upload?filename=");
        let path = heard.path.strip_prefix("/_matrix/client/v3").or(upload);
        let Some(path) = path else {
            return (refused(404, "M_UNRECOGNIZED", "Unrecognized request"), None);
        };
        if (&heard.method, path) == (&Method::POST, "/login") {
            return (login(heard, &token, &password), None);
        }
        match heard.header("authorization") {
            "" => return (refused(401, "M_MISSING_TOKEN", "Missing access token"), None),
            given if given != authorization => {
                return (refused(401, "M_UNKNOWN_TOKEN", "Invalid access token passed."), None);
            }
            _ => {}
        }
        if let Some(name) = upload {
            return (keep(&mut lock(&kept), heard, name), None);
        }
        match (&heard.method, path.split('/').collect::<Vec<_>>().as_slice()) {
            (&Method::GET, ["", "account", "whoami"]) => {
                (PushAnswer::new(200, r#"{"user_id":"@bot:localhost"}"#), None)
            }
            (&Method::PUT, ["", "rooms", room, "send", "m.room.message", key]) => {
                match message(heard, room, key, &lock(&kept)) {
                    Ok(message) => {
                        let event = json!({"event_id": format!("${key}")});
                        (PushAnswer::new(200, event.to_string()), Some(message))
                    }
                    Err(answer) => (answer, None),
                }
            }
            _ => (refused(404, "M_UNRECOGNIZED", "Unrecognized request"), None),
        }
    })
}

fn refused(status: u16, code: &str, error: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"errcode": code, "error": error}).to_string())
}

fn login(heard: &Heard, token: &str, password: &str) -> PushAnswer {
    let body: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
    let text = |pointer| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/type") != "m.login.password" || text("/identifier/type") != "m.id.user" {
        return refused(400, "M_UNKNOWN", "Unknown login type");
    }
    if !["bot", "@bot:localhost"].contains(&text("/identifier/user"))
        || text("/password") != password
    {
        return refused(403, "M_FORBIDDEN", "Invalid username or password");
    }
    if text("/device_id").is_empty() {
        return refused(400, "M_MISSING_PARAM", "every login would be a device of its own");
    }
    let device = text("/device_id");
    let body = json!({"user_id": "@bot:localhost", "access_token": token, "device_id": device});
    PushAnswer::new(200, body.to_string())
}

const FIELDS: [&str; 6] =
    ["msgtype", "body", "format", "formatted_body", "m.mentions", "m.relates_to"];
const OF_FILES: [&str; 6] = ["msgtype", "body", "filename", "url", "info", "m.mentions"];
/// The most bytes of a file.
const FILE: usize = 50 << 20;
/// A complete event has 65,536 bytes; what a server adds to the content takes some of them.
const CONTENT: usize = 64_000;

/// Keeps a file, and tells its place.
fn keep(kept: &mut Vec<Bytes>, heard: &Heard, name: &str) -> PushAnswer {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    let is_sized = heard.header("content-length") == heard.body.len().to_string();
    let is_named = !name.is_empty() && name.bytes().all(is_fit);
    if heard.method != Method::POST || heard.header("content-type").is_empty() || !is_sized {
        return refused(400, "M_UNKNOWN", "Request must specify a Content-Length");
    }
    if !is_named || heard.body.len() > FILE {
        return refused(413, "M_TOO_LARGE", "Upload request body is too large");
    }
    kept.push(heard.body.clone());
    let place = format!("mxc://localhost/{}", kept.len().saturating_sub(1));
    PushAnswer::new(200, json!({"content_uri": place}).to_string())
}

/// The file that an event shows.
fn file(body: &Map<String, Value>, kept: &[Bytes]) -> Option<(String, Bytes)> {
    let text_of = |key| body.get(key).and_then(Value::as_str);
    let number: usize = text_of("url")?.strip_prefix("mxc://localhost/")?.parse().ok()?;
    let content = kept.get(number)?.clone();
    let info = body.get("info")?;
    let size = info.get("size")?.as_u64().and_then(|size| usize::try_from(size).ok())?;
    let kind = info.get("mimetype")?.as_str()?;
    let is_image = text_of("msgtype") == Some("m.image");
    let is_whole = size == content.len() && kind.starts_with("image/") == is_image;
    is_whole.then(|| Some((text_of("filename")?.to_owned(), content)))?
}

fn message(
    heard: &Heard,
    room: &str,
    key: &str,
    kept: &[Bytes],
) -> Result<PushMessage, PushAnswer> {
    let bad = |reason| refused(400, "M_BAD_JSON", reason);
    // `!` in a path is escaped.
    let room = room.strip_prefix("%21").filter(|room| !room.is_empty());
    let Some(room) = room else {
        let reason = "User @bot:localhost not in room";
        return Err(refused(403, "M_FORBIDDEN", reason));
    };
    if heard.header("content-type") != "application/json" {
        return Err(refused(400, "M_NOT_JSON", "Content not JSON."));
    }
    let body: Map<String, Value> = serde_json::from_slice(&heard.body)
        .map_err(|_| refused(400, "M_NOT_JSON", "Content not JSON."))?;
    if heard.body.len() > CONTENT {
        return Err(refused(413, "M_TOO_LARGE", "event too large"));
    }
    let text_of = |key| body.get(key).and_then(Value::as_str);
    let (known, files) = match text_of("msgtype") {
        Some("m.text" | "m.notice") => (FIELDS, Vec::new()),
        Some("m.file" | "m.image") => {
            (OF_FILES, vec![file(&body, kept).ok_or_else(|| bad("no such file"))?])
        }
        _ => return Err(bad("no msgtype")),
    };
    let is_known = |key: &str| known.contains(&key) || key == "m.relates_to";
    if !body.keys().all(|key| is_known(key)) {
        return Err(bad("there is a field that nobody knows"));
    }
    if body.get("m.mentions") != Some(&json!({})) {
        return Err(bad("somebody would be called"));
    }
    let text = text_of("body").filter(|text| !text.is_empty()).ok_or_else(|| bad("no body"))?;
    let rich = match (text_of("format"), text_of("formatted_body")) {
        (None, None) => false,
        (Some("org.matrix.custom.html"), Some(html)) if shown(html).as_deref() == Some(text) => {
            true
        }
        _ => return Err(bad("the formatted body is another text")),
    };
    let thread = match body.get("m.relates_to") {
        None => "",
        Some(relation) => root(relation)
            .ok_or_else(|| refused(400, "M_UNKNOWN", "Can't send relation to unknown event"))?,
    };
    Ok(PushMessage {
        chat: format!("!{}", room.replace("%3A", ":")),
        thread: thread.to_owned(),
        // Under a file that has no text of its own stands its name.
        text: if text_of("filename") == Some(text) { String::new() } else { text.to_owned() },
        files,
        rich,
        key: key.replace("%2F", "/"),
    })
}

/// The root of a thread, if it is well told, for clients without threads too.
fn root(relation: &Value) -> Option<&str> {
    let text = |pointer| relation.pointer(pointer).and_then(Value::as_str);
    let root = text("/event_id").filter(|root| root.starts_with('$'))?;
    let is_whole = text("/rel_type") == Some("m.thread")
        && text("/m.in_reply_to/event_id") == Some(root)
        && relation.pointer("/is_falling_back") == Some(&Value::Bool(true));
    is_whole.then_some(root)
}

/// What people see of HTML with no tags but these; `None` for broken HTML.
fn shown(html: &str) -> Option<String> {
    let text = html.replace("<br>", "\n").replace("<strong>", "").replace("</strong>", "");
    let is_even = html.matches("<strong>").count() == html.matches("</strong>").count();
    let is_text = !text.contains(['<', '>', '"']);
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    (is_even && is_text).then(|| plain.replace("&amp;", "&"))
}
