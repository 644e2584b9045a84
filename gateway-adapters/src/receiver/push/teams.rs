//! A workflow of Microsoft Teams that posts the cards it is sent: it accepts, and posts them later.

use ::http::Method;
use serde_json::{Map, Value, json};

use super::{Heard, Platform, PushAnswer, PushMessage};

/// A workflow that is called with this signature.
pub fn teams(signature: &'static str) -> Platform {
    Box::new(move |heard| match message(heard, signature) {
        Ok(message) => (PushAnswer::new(202, ""), Some(message)),
        Err(answer) => (answer, None),
    })
}

/// Where the workflow is; the parameters besides the signature are always the same.
const PATH: &str = "/workflows/0a1b2c/triggers/manual/paths/invoke";
const PARAMETERS: [(&str, &str); 3] =
    [("api-version", "2016-06-01"), ("sp", "/triggers/manual/run"), ("sv", "1.0")];
/// In bytes, of the whole request.
const LIMIT: usize = 28 << 10;

fn refused(status: u16, code: &str, message: &str) -> PushAnswer {
    PushAnswer::new(status, json!({"error": {"code": code, "message": message}}).to_string())
}

fn message(heard: &Heard, signature: &str) -> Result<PushMessage, PushAnswer> {
    let (path, mut query) = heard.target();
    if path != PATH {
        let message = "The workflow could not be found.";
        return Err(refused(404, "WorkflowNotFound", message));
    }
    let signed = query.iter().position(|(name, _)| *name == "sig");
    let Some((_, signed)) = signed.map(|at| query.remove(at)) else {
        let message = "The request must be authenticated only by Shared Access scheme.";
        return Err(refused(401, "DirectApiAuthorizationRequired", message));
    };
    let is_whole = query.iter().map(|(name, value)| (*name, value.as_str())).eq(PARAMETERS);
    if signed != signature || !is_whole {
        let message = "The provided Shared Access signature is invalid.";
        return Err(refused(401, "AuthorizationFailed", message));
    }
    if heard.method != Method::POST {
        let message = format!("expected 'POST' and actual '{}'.", heard.method);
        return Err(refused(400, "TriggerRequestMethodNotValid", &message));
    }
    if heard.body.len() > LIMIT {
        return Err(PushAnswer::new(413, "Request Entity Too Large"));
    }
    let text = card(heard).and_then(shown);
    let text = text.map_err(|message| refused(400, "InvalidRequestContent", message))?;
    Ok(PushMessage { chat: "the workflow's".to_owned(), text, ..PushMessage::default() })
}

type Shown<T> = Result<T, &'static str>;

/// The texts of a message that is one card of texts, each its own line.
fn card(heard: &Heard) -> Shown<Vec<String>> {
    let body: Map<String, Value> = serde_json::from_slice(&heard.body)
        .ok()
        .filter(|_| heard.header("content-type") == "application/json")
        .ok_or("The request content is not valid JSON.")?;
    let attachments = body.get("attachments").and_then(Value::as_array);
    let [attachment] = attachments.ok_or("'attachments' is of type 'Null'.")?.as_slice() else {
        return Err("test: one card is enough");
    };
    let content = attachment.get("content").and_then(Value::as_object);
    let content = content.ok_or("the attachment is no card")?;
    let is = |object: &Map<String, Value>, key: &str, value: &str| {
        object.get(key).and_then(Value::as_str) == Some(value)
    };
    let is_card = is(&body, "type", "message")
        && body.len() == 2
        && attachment.as_object().is_some_and(|attachment| {
            is(attachment, "contentType", "application/vnd.microsoft.card.adaptive")
                && attachment.get("contentUrl") == Some(&Value::Null)
                && attachment.len() == 3
        })
        && is(content, "type", "AdaptiveCard")
        && is(content, "version", "1.4")
        && content.len() == 3;
    let blocks = content.get("body").and_then(Value::as_array).filter(|_| is_card);
    let blocks = blocks.ok_or("the attachment is no card of version 1.4")?;
    let text = |block: &Value| {
        let block = block.as_object()?;
        let is_block = is(block, "type", "TextBlock")
            && block.get("wrap") == Some(&Value::Bool(true))
            && is(block, "spacing", "None")
            && block.len() == 4;
        block.get("text").and_then(Value::as_str).filter(|_| is_block).map(str::to_owned)
    };
    blocks.iter().map(text).collect::<Option<_>>().ok_or("a block is no text that wraps")
}

/// What people see: of Markdown, a text block knows bold, italic, lists, links and a little more.
fn shown(lines: Vec<String>) -> Shown<String> {
    let lines: Vec<String> = lines.iter().map(|line| one(line)).collect::<Result<_, _>>()?;
    let text = lines.join("\n");
    if text.trim().is_empty() { Err("there is no text") } else { Ok(text) }
}

fn one(line: &str) -> Shown<String> {
    if line.starts_with(['-', '+', '#', '>', ' ', '=']) || line.starts_with(char::is_numeric) {
        return Err("test: a list or a block was not meant");
    }
    let mut chars = line.strip_prefix(BREAK).unwrap_or(line).chars().peekable();
    let mut seen = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c) if "\\*_[]`".contains(c) => seen.push(c),
                _ => return Err("test: an escape that not every client knows"),
            },
            '<' | '&' | '~' if chars.next_if_eq(&BREAK).is_some() => seen.push(c),
            '*' | '_' | '[' | ']' | '`' | '<' | '&' | '~' => {
                return Err("test: markup was not meant");
            }
            '\n' => return Err("test: a line break that is not shown"),
            c => seen.push(c),
        }
    }
    Ok(seen)
}

/// A mark of no width.
const BREAK: char = '\u{200b}';
