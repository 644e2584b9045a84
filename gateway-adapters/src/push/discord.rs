//! Discord: messages of a bot, in a channel or in a thread, which is a channel there.

mod answers;
mod files;
mod webhook;

use std::{sync::Arc, time::Duration};

use ::http::{HeaderValue, Request, Uri, header};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Field, FieldKind, MAX_LENGTH, Platform, Settings,
    attach::carry,
    call::{Caller, Lost, get, post_json, sensitive},
    escape::markdown,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files},
    split::{Format, Unit, split},
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{
        HttpClient,
        base::{base, route},
    },
};

use answers::Answers;
pub use webhook::PLATFORM as WEBHOOK;

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "discord",
    fields: &[
        Field {
            name: "token",
            kind: FieldKind::Secret,
            variable: "DISCORD_BOT_TOKEN",
            default: "",
            about: "The bot's token.",
        },
        Field {
            name: "url",
            kind: FieldKind::Text,
            variable: "",
            default: DEFAULT_URL,
            about: "Where the API is.",
        },
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["token"],
    // It forgets what it was sent within minutes.
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    make,
};

const DEFAULT_URL: &str = "https://discord.com/api/v10";
/// The unit is not documented: this one is never the smaller count.
const LIMIT: usize = 2_000;
const DEFAULT_LENGTH: &str = "2000";
const PARTS: usize = 10;
/// Fifty requests a second for a bot.
const TOKEN: Cap = Cap::new(50, Duration::from_millis(20));
/// A start: what counts is told by each answer.
const CHAT: Cap = Cap::new(5, Duration::from_secs(1));
/// The longest nonce.
const NONCE: usize = 25;
/// No previews of links.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// In the form that is asked for; others may be kept out before the API sees them.
const USER_AGENT: &str = concat!("DiscordBot (kanban-gateway, ", env!("CARGO_PKG_VERSION"), ")");

/// One bot.
struct Discord {
    name: ChannelName,
    base: String,
    authorization: HeaderValue,
    format: Format,
    answers: Answers,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.secret(&name, "token")?;
    Ok(Arc::new(Discord {
        base: base(name.as_str(), settings.text("url").unwrap_or(DEFAULT_URL))?,
        authorization: sensitive(&name, &format!("Bot {}", token.expose_secret()))?,
        format: format(settings),
        answers: Answers {
            caller: Caller::new(client, [token]),
            pace: Pace::new(TOKEN),
            origin: settings.origin().to_owned(),
        },
        name,
    }))
}

fn format(settings: &Settings) -> Format {
    Format {
        unit: Unit::Utf16,
        part: settings.count(MAX_LENGTH, LIMIT),
        parts: PARTS,
        ours: markdown,
        quoted: markdown,
    }
}

/// Markup cannot be switched off and is never refused: all is escaped, and there is no other form.
fn encode(message: &Message, format: &Format) -> String {
    let parts = split(&message.spans, format);
    let text = |spans: &Vec<Span>| spans.iter().map(written).collect();
    let parts = parts.iter().map(|spans| Part { text: text(spans), rich: None });
    pin_files(parts.collect(), files::GROUPS.of(&message.files))
}

fn written(span: &Span) -> String {
    markdown(span.text())
}

/// What both ways to post have in common.
fn body(next: &Next) -> Value {
    said(&format!("{}{}", next.before, next.part.text))
}

fn said(content: &str) -> Value {
    json!({
        "content": content,
        "allowed_mentions": {"parse": []},
        "flags": SUPPRESS_EMBEDS,
    })
}

fn post(uri: Uri, body: &Value) -> Request<Bytes> {
    agent(post_json(uri, body))
}

fn agent<B>(mut request: Request<B>) -> Request<B> {
    request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    request
}

/// Whether this is an id, as channels and threads have one.
fn is_id(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Refuses what is no id of a thread.
fn check_thread(thread: &str) -> Result<(), Verdict> {
    if thread.is_empty() || is_id(thread) {
        return Ok(());
    }
    let detail = Detail::new("the thread is no id");
    Err(Verdict::Permanent { fault: Fault::Thread, detail })
}

/// The end of the key, where the number of the part is.
fn nonce(parcel: &Parcel) -> String {
    let key = parcel.part_key();
    let skip = key.chars().count().saturating_sub(NONCE);
    key.chars().skip(skip).collect()
}

impl Discord {
    /// Where messages to a channel are made.
    fn address(&self, to: &str) -> Result<Uri, Verdict> {
        let target =
            |reason| Verdict::Permanent { fault: Fault::Target, detail: Detail::new(reason) };
        if !is_id(to) {
            return Err(target("the chat is no id of a channel"));
        }
        route(self.name.as_str(), &self.base, &format!("/channels/{to}/messages"))
            .map_err(|_| target("the chat does not fit an address"))
    }

    fn keyed(parcel: &Parcel, mut body: Value) -> Value {
        if let Some(fields) = body.as_object_mut() {
            fields.insert("nonce".to_owned(), nonce(parcel).into());
            fields.insert("enforce_nonce".to_owned(), true.into());
        }
        body
    }

    /// Sends the files of a part.
    async fn upload(
        &self,
        (to, threaded): (&str, bool),
        parcel: &Parcel,
        next: &Next,
        (files, caption): (Vec<OpenFile>, String),
    ) -> Result<Verdict, Lost> {
        let body = Self::keyed(parcel, said(&caption));
        let request = self.authorized(files::post(self.address(to)?, body, files));
        self.answers.pace.wait(to, CHAT).await?;
        let answer = self.answers.caller.upload(request).await?;
        Ok(self.answers.judge(to, threaded, next, &answer))
    }

    fn authorized<B>(&self, mut request: Request<B>) -> Request<B> {
        request.headers_mut().insert(header::AUTHORIZATION, self.authorization.clone());
        request
    }
}

#[async_trait]
impl Channel for Discord {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        encode(message, &self.format)
    }

    #[tracing::instrument(level = "debug", name = "discord.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { chat, thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no channel");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let to = if thread.is_empty() { chat } else { thread };
        let mut next = match check_thread(thread).and_then(|()| next(parcel)) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let (now, at) = (next.clone(), (to.as_str(), !thread.is_empty()));
        let upload = |files, caption| self.upload(at, parcel, &now, (files, caption));
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let request = match self.address(to) {
            Ok(uri) => self.authorized(post(uri, &Self::keyed(parcel, body(&next)))),
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.answers.pace.wait(to, CHAT).await {
            return busy;
        }
        match self.answers.caller.call(request).await {
            Ok(answer) => self.answers.judge(to, !thread.is_empty(), &next, &answer),
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        let uri = match route(self.name.as_str(), &self.base, "/applications/@me") {
            Ok(uri) => uri,
            Err(error) => return Verdict::Unreachable { detail: Detail::new(&error.to_string()) },
        };
        match self.answers.caller.call(self.authorized(agent(get(uri)))).await {
            Ok(answer) if answer.text_at("/id").is_empty() => self.answers.refused(false, &answer),
            Ok(_) => Verdict::Delivered(Receipt::default()),
            Err(verdict) => verdict,
        }
    }
}
