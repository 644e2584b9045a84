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
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    attach::Groups,
    call::{Answer, Caller, Lost, authorized, get, post_json, sensitive, set},
    escape::markdown,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, unfit},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{HttpClient, base::route},
};

use answers::{judge, refused};
pub use webhook::PLATFORM as WEBHOOK;

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "discord",
    fields: &[
        secret("token", "DISCORD_BOT_TOKEN", "The bot's token."),
        url("", DEFAULT_URL, "Where the API is."),
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["token"],
    needs_all: false,
    // It forgets what it was sent within minutes.
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

const DEFAULT_URL: &str = "https://discord.com/api/v10";
/// The unit is not documented: this one is never the smaller count.
const LIMIT: usize = 2_000;
const DEFAULT_LENGTH: &str = "2000";
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
    base: String,
    me: Uri,
    authorization: HeaderValue,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.secret(&name, "token")?;
    let base = settings.base_or(&name, DEFAULT_URL)?;
    Ok(channel(Discord {
        me: route(name.as_str(), &base, "/applications/@me")?,
        base,
        authorization: sensitive(&name, &format!("Bot {}", token.expose_secret()))?,
        line: Line {
            format: format(settings),
            caller: Caller::new(client, settings.origin(), [token]),
            pace: Pace::new(TOKEN),
            name,
        },
    }))
}

/// Markup cannot be switched off and is never refused: all is escaped, and there is no other form.
fn format(settings: &Settings) -> Format {
    Format::new(Unit::Utf16, settings.max_length(LIMIT), markdown, markdown)
}

/// What both ways to post have in common.
fn body(content: &str) -> Value {
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

const NO_CHANNEL: &str = "the chat is no id of a channel: those are digits";

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    if is_id(chat) { Ok(()) } else { Err(NO_CHANNEL) }
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
    Err(unfit(Fault::Thread, "the thread is no id"))
}

/// The end of the key, where the number of the part is.
fn nonce(key: &str) -> String {
    let skip = key.chars().count().saturating_sub(NONCE);
    key.chars().skip(skip).collect()
}

/// A thread is a channel of its own.
fn to<'a>(next: &Next<'a>) -> &'a str {
    if next.thread.is_empty() { next.chat } else { next.thread }
}

fn keyed(next: &Next<'_>, mut body: Value) -> Value {
    set(&mut body, "nonce", nonce(&next.key));
    set(&mut body, "enforce_nonce", true);
    body
}

impl Discord {
    /// Where messages to a channel are made.
    fn address(&self, next: &Next<'_>) -> Result<Uri, Verdict> {
        check_thread(next.thread)?;
        let to = to(next);
        // A thread was looked at before, and is a channel.
        if !is_id(to) {
            return Err(unfit(Fault::Target, NO_CHANNEL));
        }
        let path = format!("/channels/{to}/messages");
        route(self.line.name.as_str(), &self.base, &path)
            .map_err(|_| unfit(Fault::Target, "the chat does not fit an address"))
    }
}

#[async_trait]
impl Post for Discord {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (to(next), CHAT)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let body = keyed(next, body(&next.text()));
        Ok(authorized(post(self.address(next)?, &body), &self.authorization))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        judge(&self.line, to(next), next, answer)
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
        let request = files::post(self.address(next)?, keyed(next, body(&caption)), files);
        let answer = self.line.caller.upload(authorized(request, &self.authorization)).await?;
        Ok(self.judge(next, &answer))
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(authorized(agent(get(self.me.clone())), &self.authorization))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match answer.text_at("/id") {
            "" => Err(refused(&self.line.caller, false, answer)),
            _ => Ok(()),
        }
    }
}
