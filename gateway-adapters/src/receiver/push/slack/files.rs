//! Files at Slack: a place is asked for, taken, and only then shown in a channel.

use std::sync::Mutex;

use ::http::Method;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    super::{Heard, PushAnswer, PushMessage, lock, multipart::unescaped},
    is_time, shown,
};

/// The files that were asked for.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    name: String,
    length: usize,
    content: Option<Bytes>,
    is_shown: bool,
}

impl Shelf {
    /// A place for a file, as a form asks for it.
    pub(super) fn place(&self, heard: &Heard) -> Result<Value, &'static str> {
        if heard.header("content-type") != "application/x-www-form-urlencoded" {
            return Err("invalid_form_data");
        }
        let text = std::str::from_utf8(&heard.body).map_err(|_| "invalid_form_data")?;
        let (name, length) = text
            .strip_prefix("filename=")
            .and_then(|rest| rest.split_once("&length="))
            .ok_or("invalid_arguments")?;
        let name = unescaped(name).filter(|name| !name.is_empty()).ok_or("invalid_arguments")?;
        let length = length.parse().ok().filter(|length| *length > 0).ok_or("invalid_arguments")?;
        let mut kept = lock(&self.0);
        let number = kept.len();
        kept.push(Kept { name, length, content: None, is_shown: false });
        let place = format!("http://{}/upload/v1/{number}", heard.header("host"));
        Ok(json!({"ok": true, "upload_url": place, "file_id": format!("F{number}")}))
    }

    /// Takes a file at its place, if that is what is asked.
    pub(super) fn put(&self, heard: &Heard) -> Option<PushAnswer> {
        let number: usize = heard.path.strip_prefix("/upload/v1/")?.parse().ok()?;
        let mut kept = lock(&self.0);
        // Whoever has the place needs no token, and must not show one.
        let is_fit = heard.method == Method::POST && heard.header("authorization").is_empty();
        let file = kept.get_mut(number).filter(|file| is_fit && file.length == heard.body.len());
        Some(match file {
            Some(file) => {
                file.content = Some(heard.body.clone());
                PushAnswer::new(200, format!("OK - {}", heard.body.len()))
            }
            None => PushAnswer::new(400, "bad upload"),
        })
    }

    /// Shows files in a channel, each once.
    pub(super) fn show(&self, heard: &Heard, chats: &[&str]) -> Result<PushMessage, &'static str> {
        let body: Map<String, Value> =
            serde_json::from_slice(&heard.body).map_err(|_| "invalid_json")?;
        let known = ["files", "channel_id", "thread_ts", "initial_comment"];
        if body.keys().any(|key| !known.contains(&key.as_str())) {
            return Err("invalid_arguments");
        }
        let text_of = |key| body.get(key).and_then(Value::as_str).unwrap_or_default();
        let (chat, thread) = (text_of("channel_id").to_owned(), text_of("thread_ts").to_owned());
        if !chats.contains(&chat.as_str()) {
            return Err("channel_not_found");
        }
        if !thread.is_empty() && !is_time(&thread) {
            return Err("invalid_thread_ts");
        }
        let wanted = body.get("files").and_then(Value::as_array).ok_or("invalid_arguments")?;
        let mut kept = lock(&self.0);
        let mut files = Vec::new();
        for one in wanted {
            let id = one.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix('F'));
            let number: Option<usize> = id.and_then(|id| id.parse().ok());
            let file = number.and_then(|number| kept.get_mut(number));
            let file = file.filter(|file| !file.is_shown).ok_or("file_not_found")?;
            file.is_shown = true;
            let content = file.content.clone().ok_or("file_not_found")?;
            files.push((file.name.clone(), content));
        }
        let text = shown(text_of("initial_comment")).ok_or("invalid_arguments")?;
        Ok(PushMessage { chat, thread, text, files, ..PushMessage::default() })
    }
}
