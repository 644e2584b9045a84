//! A Gotify server with one application.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage};

/// A server whose application has this token.
pub fn gotify(token: &str) -> Platform {
    let token = token.to_owned();
    Box::new(move |heard| match (&heard.method, heard.path.as_str()) {
        _ if heard.header("x-gotify-key") != token => {
            let description =
                "you need to provide a valid access token or user credentials to access this api";
            (refused(401, "Unauthorized", description), None)
        }
        (&Method::POST, "/message") => match message(heard) {
            Ok(message) => {
                let sent =
                    json!({"id": 25, "appid": 5, "message": message.text, "title": "kanban"});
                (PushAnswer::new(200, sent.to_string()), Some(message))
            }
            Err(description) => (refused(400, "Bad Request", &description), None),
        },
        _ => (refused(404, "Not Found", "page not found"), None),
    })
}

fn refused(status: u16, error: &str, description: &str) -> PushAnswer {
    let body = json!({"error": error, "errorCode": status, "errorDescription": description});
    PushAnswer::new(status, body.to_string())
}

fn message(heard: &Heard) -> Result<PushMessage, String> {
    if heard.header("content-type") != "application/json" {
        return Err("invalid content type".to_owned());
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&heard.body).map_err(|error| error.to_string())?;
    if let Some(unknown) = body.keys().find(|key| !["message", "priority"].contains(&&***key)) {
        return Err(format!("nobody knows the field {unknown}"));
    }
    if body.get("priority").is_some_and(|priority| !priority.is_u64()) {
        return Err("Field 'priority' is no number".to_owned());
    }
    let text = body.get("message").and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() {
        return Err("Field 'message' is required".to_owned());
    }
    // What a column of MySQL keeps.
    if text.len() > 65_535 {
        return Err("Data too long for column 'message'".to_owned());
    }
    Ok(PushMessage { chat: CHAT.to_owned(), text: text.to_owned(), ..PushMessage::default() })
}

/// An application is the chat of all that is sent with its token.
const CHAT: &str = "app";
