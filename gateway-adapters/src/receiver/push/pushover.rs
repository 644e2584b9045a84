//! The API of Pushover for one application and one user.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage, form};

/// An API that knows this application and this user.
pub fn pushover(token: &str, user: &str) -> Platform {
    let (token, user) = (token.to_owned(), user.to_owned());
    Box::new(move |heard| {
        let limits = format!("/1/apps/limits.json?token={token}");
        match (&heard.method, heard.path.as_str()) {
            (&Method::POST, "/1/messages.json") => match message(heard, &token, &user) {
                Ok(message) => (accepted(json!({})), Some(message)),
                Err((field, error)) => (refused(field, error), None),
            },
            (&Method::GET, path) if path == limits => {
                let left = json!({"limit": 10_000, "remaining": 7_496, "reset": RESET});
                (accepted(left), None)
            }
            (&Method::GET, path) if path.starts_with("/1/apps/limits.json?") => {
                (refused("token", "application token is invalid"), None)
            }
            _ => (PushAnswer::new(404, "<html>not found</html>"), None),
        }
    })
}

const RESET: u64 = 1_800_000_000;

fn accepted(more: Value) -> PushAnswer {
    let own = json!({"status": 1, "request": "647d2300-702c-4b38-8b2f-d56326ae460b"});
    let fields = [own, more].into_iter().filter_map(|part| part.as_object().cloned()).flatten();
    let body = Value::Object(Map::from_iter(fields));
    PushAnswer::new(200, body.to_string()).with("x-limit-app-reset", RESET.to_string())
}

fn refused(field: &str, error: &str) -> PushAnswer {
    let request = "5042853c-402d-4a18-abcb-168734a801de";
    let mut body = json!({"errors": [error], "status": 0, "request": request});
    if let Some(fields) = body.as_object_mut() {
        fields.insert(field.to_owned(), "invalid".into());
    }
    PushAnswer::new(400, body.to_string())
}

fn message(
    heard: &Heard,
    token: &str,
    user: &str,
) -> Result<PushMessage, (&'static str, &'static str)> {
    let fields = form(heard).ok_or(("message", "there is no form"))?;
    let text_of = |key: &str| fields.get(key).map(String::as_str).unwrap_or_default();
    if fields.keys().any(|key| !["token", "user", "message"].contains(&key.as_str())) {
        return Err(("message", "there is a field that nobody knows"));
    }
    if text_of("token") != token {
        return Err(("token", "application token is invalid"));
    }
    if text_of("user") != user {
        return Err(("user", "user identifier is not a valid user, group, or subscribed user key"));
    }
    let text = text_of("message");
    if text.trim().is_empty() {
        return Err(("message", "message cannot be blank"));
    }
    if text.chars().count() > 1_024 {
        return Err(("message", "message is too long"));
    }
    Ok(PushMessage { chat: user.to_owned(), text: text.to_owned(), ..PushMessage::default() })
}
