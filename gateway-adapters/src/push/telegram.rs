//! Telegram: `sendMessage` of the Bot API, as plain text with entities, so that no title can be broken markup.

mod files;

use std::{sync::Arc, time::Duration};

use ::http::Uri;
use async_trait::async_trait;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use self::files::Files;
use super::{
    AT_LEAST_ONCE, Field, FieldKind, MAX_LENGTH, Platform, Settings,
    attach::carry,
    call::{Answer, Caller, of_credential, post_json},
    escape::mentions,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files},
    split::{Format, Unit, split},
};
use crate::{
    AdapterError,
    http::{
        HttpClient,
        base::{base, route},
        retry_after::{clamp, seconds},
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "telegram",
    fields: &[
        Field {
            name: "token",
            kind: FieldKind::Secret,
            variable: "TELEGRAM_BOT_TOKEN",
            default: "",
            about: "The bot's token.",
        },
        Field {
            name: "url",
            kind: FieldKind::Text,
            variable: "",
            default: DEFAULT_URL,
            about: "Where the Bot API is; another address for a server of your own.",
        },
        max_length("4096"),
    ],
    wanted_by: &["token"],
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    make,
};

const DEFAULT_URL: &str = "https://api.telegram.org";
/// After entities are taken out. The unit is not documented; this one is never the smaller count.
const LIMIT: usize = 4_096;
const PARTS: usize = 10;
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
    name: ChannelName,
    origin: String,
    send: Uri,
    me: Uri,
    files: Files,
    format: Format,
    caller: Caller,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.secret(&name, "token")?;
    let base = base(name.as_str(), settings.text("url").unwrap_or(DEFAULT_URL))?;
    let method = |method: &str| {
        let token = in_path(&name, &token)?;
        route(name.as_str(), &base, &format!("/bot{token}/{method}"))
    };
    Ok(Arc::new(Telegram {
        send: method("sendMessage")?,
        me: method("getMe")?,
        files: Files {
            photo: method("sendPhoto")?,
            document: method("sendDocument")?,
            group: method("sendMediaGroup")?,
        },
        format: Format {
            unit: Unit::Utf16,
            part: settings.count(MAX_LENGTH, LIMIT),
            parts: PARTS,
            ours: str::to_owned,
            quoted: mentions,
        },
        caller: Caller::new(client, [token]),
        pace: Pace::new(TOKEN),
        origin: settings.origin().to_owned(),
        name,
    }))
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

impl Telegram {
    fn message(chat: &str, thread: &str, next: &Next) -> Result<Value, Verdict> {
        let text = format!("{}{}", next.before, next.part.text);
        let mut body = json!({
            "chat_id": chat.parse::<i64>().map_or_else(|_| Value::from(chat), Value::from),
            "text": text,
            "link_preview_options": {"is_disabled": true},
        });
        let mut set = |key: &str, value: Value| {
            if let Some(fields) = body.as_object_mut() {
                fields.insert(key.to_owned(), value);
            }
        };
        if let Some(entities) = next.part.rich.clone() {
            set("entities", entities);
        }
        if let Some(topic) = topic(thread)? {
            set("message_thread_id", topic.into());
        }
        Ok(body)
    }

    fn judge(&self, chat: &str, next: &Next, answer: &Answer) -> Verdict {
        if answer.status.is_success() && answer.json.pointer("/ok") == Some(&Value::Bool(true)) {
            let id = |at| answer.json.pointer(at).map(Value::to_string);
            // Of several in a group the first one.
            let id = id("/result/message_id").or_else(|| id("/result/0/message_id"));
            return next.accepted(id);
        }
        let words = answer.text_at("/description");
        let code = answer.json.pointer("/error_code").and_then(Value::as_u64);
        let code = code.unwrap_or_else(|| answer.status.as_u16().into());
        let lower = words.to_ascii_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
        let moved = answer.json.pointer("/parameters/migrate_to_chat_id").and_then(Value::as_i64);
        if let Some(to) = moved {
            let detail = self.caller.detail(answer.status, words);
            return Verdict::Moved { chat: to.to_string(), detail };
        }
        let fault = |fault| self.caller.fault(fault, answer, words);
        match code {
            429 => {
                let told = answer.json.pointer("/parameters/retry_after").map(Value::to_string);
                let told = told.and_then(|text| seconds(&text)).map(clamp);
                let retry_after = told.max(answer.retry_after);
                if let Some(wait) = retry_after {
                    self.pace.hold(chat, wait, cap(chat));
                }
                Verdict::Busy { retry_after, detail: self.caller.detail(answer.status, words) }
            }
            401 | 404 => of_credential(&self.origin, fault(Fault::Credential)),
            403 => fault(Fault::Target),
            400 if says(THREAD) => fault(Fault::Thread),
            400 if says(TARGET) => fault(Fault::Target),
            400 | 413 => fault(Fault::Payload),
            500 if says(&["immediately deleted"]) => next.accepted(None),
            _ => self.caller.refused(answer, words),
        }
    }
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

/// A text as it is sent.
fn written(span: &Span) -> String {
    match span {
        Span::Ours(text) => text.clone(),
        Span::Quoted(text) => mentions(text),
    }
}

/// The number of a topic. The general one has number 1 and must not be named.
fn topic(thread: &str) -> Result<Option<i64>, Verdict> {
    if matches!(thread, "" | "1") {
        return Ok(None);
    }
    let detail = || Detail::new("the thread is no number of a topic");
    let topic = thread.parse();
    topic.map(Some).map_err(|_| Verdict::Permanent { fault: Fault::Thread, detail: detail() })
}

fn cap(chat: &str) -> Cap {
    if chat.starts_with('-') { GROUP } else { CHAT }
}

#[async_trait]
impl Channel for Telegram {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let parts = split(&message.spans, &self.format);
        let parts = parts.iter().enumerate().map(|(number, spans)| {
            let text = written;
            // What it is about stands out.
            let subject =
                spans.first().filter(|span| number == 0 && matches!(span, Span::Quoted(_)));
            let length =
                subject.map(|span| Unit::Utf16.len(&text(span))).filter(|length| *length > 0);
            let rich =
                length.map(|length| json!([{"type": "bold", "offset": 0, "length": length}]));
            Part { text: spans.iter().map(text).collect(), rich }
        });
        pin_files(parts.collect(), files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "telegram.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { chat, thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no chat");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let mut next = match next(parcel) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let now = next.clone();
        let upload = |files, caption| self.upload(chat, thread, &now, files, caption);
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let body = match Self::message(chat, thread, &next) {
            Ok(body) => body,
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.pace.wait(chat, cap(chat)).await {
            return busy;
        }
        match self.caller.call(post_json(self.send.clone(), &body)).await {
            Ok(answer) => self.judge(chat, &next, &answer),
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        match self.caller.call(post_json(self.me.clone(), &json!({}))).await {
            Ok(answer) if answer.text_at("/result/username").is_empty() => {
                let words = answer.text_at("/description");
                match answer.status.as_u16() {
                    401 | 403 | 404 => {
                        let refused = self.caller.fault(Fault::Credential, &answer, words);
                        of_credential(&self.origin, refused)
                    }
                    _ => self.caller.refused(&answer, words),
                }
            }
            Ok(_) => Verdict::Delivered(kanban_notify::verdict::Receipt::default()),
            Err(verdict) => verdict,
        }
    }
}
