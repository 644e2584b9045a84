//! Telegram: `sendMessage` of the Bot API, as plain text with entities, so that no title can be broken markup.

mod files;

use std::{sync::Arc, time::Duration};

use ::http::{Request, Uri};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    ids::ChannelName,
    message::Span,
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use self::files::Files;
use super::{
    AT_LEAST_ONCE, Platform, Settings,
    attach::Groups,
    call::{Answer, Caller, Lost, post_json, set},
    escape::mentions,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, unfit},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{
        HttpClient,
        base::route,
        retry_after::{clamp, seconds},
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "telegram",
    fields: &[
        secret("token", "TELEGRAM_BOT_TOKEN", "The bot's token."),
        url("", DEFAULT_URL, "Where the Bot API is; another address for a server of your own."),
        max_length("4096"),
    ],
    wanted_by: &["token"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

const DEFAULT_URL: &str = "https://api.telegram.org";
/// After entities are taken out. The unit is not documented; this one is never the smaller count.
const LIMIT: usize = 4_096;
/// About 30 messages a second for a bot.
const TOKEN: Cap = Cap::new(30, Duration::from_millis(34));
/// One message a second in a chat; short bursts are tolerated.
const CHAT: Cap = Cap::new(5, Duration::from_secs(1));
/// Twenty messages a minute in a group.
const GROUP: Cap = Cap::new(5, Duration::from_secs(3));

/// One bot.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with `ok: true` | delivered |
/// | 429, by header or by body | busy; nothing goes to the chat meanwhile |
/// | 400 with `migrate_to_chat_id` | moved |
/// | 400 of a topic | permanent: thread |
/// | 403, 400 of a chat | permanent: target |
/// | 401, 404 | permanent: credential (the token is in the path) |
/// | other 400, 413 | permanent: payload |
/// | 500 "sent message was immediately deleted" | delivered, noted: another try would be deleted too |
struct Telegram {
    send: Uri,
    me: Uri,
    files: Files,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.secret(&name, "token")?;
    let base = settings.base_or(&name, DEFAULT_URL)?;
    let method = |method: &str| {
        let token = in_path(&name, &token)?;
        route(name.as_str(), &base, &format!("/bot{token}/{method}"))
    };
    Ok(channel(Telegram {
        send: method("sendMessage")?,
        me: method("getMe")?,
        files: Files {
            photo: method("sendPhoto")?,
            document: method("sendDocument")?,
            group: method("sendMediaGroup")?,
        },
        line: Line {
            format: Format::new(Unit::Utf16, settings.max_length(LIMIT), str::to_owned, mentions),
            caller: Caller::new(client, settings.origin(), [token]),
            pace: Pace::new(TOKEN),
            name,
        },
    }))
}

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    check(chat)
}

fn check(chat: &str) -> Result<(), &'static str> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name =
        chat.strip_prefix('@').is_some_and(|name| !name.is_empty() && name.bytes().all(is_fit));
    if is_name || chat.parse::<i64>().is_ok() {
        Ok(())
    } else {
        Err(
            "the chat is no number, such as 42 or -100123, and no @name of a public group or channel",
        )
    }
}

fn in_path<'a>(name: &ChannelName, token: &'a SecretString) -> Result<&'a str, AdapterError> {
    let token = token.expose_secret();
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-');
    if token.bytes().all(is_fit) {
        Ok(token)
    } else {
        let reason = "it has characters that no token of a bot has";
        Err(AdapterError::Key { channel: name.to_string(), reason })
    }
}

fn message(next: &Next<'_>) -> Result<Value, Verdict> {
    check(next.chat).map_err(|reason| unfit(Fault::Target, reason))?;
    let mut body = json!({
        "chat_id": next.chat.parse::<i64>().map_or_else(|_| Value::from(next.chat), Value::from),
        "text": next.text(),
        "link_preview_options": {"is_disabled": true},
    });
    if let Some(entities) = next.part.rich.clone() {
        set(&mut body, "entities", entities);
    }
    if let Some(topic) = topic(next.thread)? {
        set(&mut body, "message_thread_id", topic);
    }
    Ok(body)
}

/// The number of a topic. The general one has number 1 and must not be named.
fn topic(thread: &str) -> Result<Option<i64>, Verdict> {
    if matches!(thread, "" | "1") {
        return Ok(None);
    }
    let unfit = |_| unfit(Fault::Thread, "the thread is no number of a topic");
    thread.parse().map(Some).map_err(unfit)
}

/// What is said of a topic that cannot be written to, while its chat can.
const THREAD: &[&str] = &["thread not found", "topic_closed", "topic_deleted", "topic_id_invalid"];

/// What is said of a chat that cannot be written to.
const TARGET: &[&str] = &[
    "chat not found",
    "chat_id is empty",
    "user not found",
    "peer_id_invalid",
    "chat_write_forbidden",
    "chat_restricted",
    "not enough rights",
    "have no rights",
    "need administrator rights",
    "group chat was",
];

#[async_trait]
impl Post for Telegram {
    fn line(&self) -> &Line {
        &self.line
    }

    fn part(&self, number: usize, spans: &[Span]) -> Part {
        // What it is about stands out.
        let subject = spans.first().filter(|span| number == 0 && matches!(span, Span::Quoted(_)));
        let length = subject.map(|span| Unit::Utf16.len(&mentions(span.text())));
        let rich = length
            .filter(|length| *length > 0)
            .map(|length| json!([{"type": "bold", "offset": 0, "length": length}]));
        Part { text: self.line.format.written(spans), rich }
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, if next.chat.starts_with('-') { GROUP } else { CHAT })
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(self.send.clone(), &message(next)?))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        let caller = &self.line.caller;
        if answer.status.is_success() && answer.json.pointer("/ok") == Some(&Value::Bool(true)) {
            let id = |at| answer.json.pointer(at).map(Value::to_string);
            // Of several in a group the first one.
            return next.accepted(id("/result/message_id").or_else(|| id("/result/0/message_id")));
        }
        let words = answer.text_at("/description");
        let code = answer.json.pointer("/error_code").and_then(Value::as_u64);
        let code = code.unwrap_or_else(|| answer.status.as_u16().into());
        let lower = words.to_ascii_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
        let moved = answer.json.pointer("/parameters/migrate_to_chat_id").and_then(Value::as_i64);
        if let Some(to) = moved {
            let detail = caller.detail(answer.status, words);
            return Verdict::Moved { chat: to.to_string(), detail };
        }
        let fault = |fault| caller.fault(fault, answer, words);
        match code {
            429 => {
                let told = answer.json.pointer("/parameters/retry_after").map(Value::to_string);
                let told = told.and_then(|text| seconds(&text)).map(clamp);
                let detail = caller.detail(answer.status, words);
                Verdict::Busy { retry_after: told.max(answer.retry_after), detail }
            }
            401 | 404 => fault(Fault::Credential),
            403 => fault(Fault::Target),
            400 if says(THREAD) => fault(Fault::Thread),
            400 if says(TARGET) => fault(Fault::Target),
            400 | 413 => fault(Fault::Payload),
            500 if says(&["immediately deleted"]) => next.accepted(None),
            _ => caller.refused(answer, words),
        }
    }

    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn groups(&self) -> Groups {
        files::GROUPS
    }

    async fn upload(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        self.send_files(next, files, caption).await
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(self.me.clone(), &json!({})))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        if !answer.text_at("/result/username").is_empty() {
            return Ok(());
        }
        let words = answer.text_at("/description");
        Err(match answer.status.as_u16() {
            401 | 403 | 404 => self.line.caller.fault(Fault::Credential, answer, words),
            _ => self.line.caller.refused(answer, words),
        })
    }
}
