//! Zulip: a message of a bot, in a topic of a channel or to people, escaped as its Markdown allows.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use ::http::{HeaderValue, Request, Uri};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use kanban_notify::{
    message::{Message, Span},
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Field, FieldKind, Platform, Settings, any_chat,
    call::{Answer, Caller, authorized, get, post_form, sensitive},
    escape, max_length,
    pace::{Cap, Pace},
    pin::{Next, unfit},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    http::{
        HttpClient,
        base::route,
        retry_after::{clamp, seconds, until},
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "zulip",
    fields: &[
        url("ZULIP_SITE", "", "Where the organization is."),
        Field {
            name: "email",
            kind: FieldKind::Text,
            variable: "ZULIP_EMAIL",
            default: "",
            about: "The e-mail address of the bot.",
        },
        secret("api_key", "ZULIP_API_KEY", "The bot's key."),
        Field {
            name: "topic",
            kind: FieldKind::Text,
            variable: "",
            default: "",
            about: "The topic for subscriptions without a thread; where it is not set, each task has its own.",
        },
        max_length("10000"),
    ],
    wanted_by: &["api_key"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat: any_chat,
    make,
};

/// In code points; what is longer is cut without a word.
const LIMIT: usize = 10_000;
/// In code points; what is longer is cut as well.
const TOPIC: usize = 60;
/// Two hundred requests a minute for a user.
const BOT: Cap = Cap::new(20, Duration::from_millis(300));

/// One bot.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with `success` and an id | delivered |
/// | 429 | busy, for every channel |
/// | 401, 403 | permanent: credential |
/// | 400 of a channel that is not there, `BAD_REQUEST` | permanent: target; of a topic: thread |
/// | other 400, 413 | permanent: payload |
struct Zulip {
    messages: Uri,
    me: Uri,
    authorization: HeaderValue,
    topic: Option<String>,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let base = settings.base(&name)?;
    let key = settings.secret(&name, "api_key")?;
    let missing = || AdapterError::Key {
        channel: name.to_string(),
        reason: "the `email` of the bot is not set",
    };
    let email = settings.text("email").ok_or_else(missing)?;
    let login = STANDARD.encode(format!("{email}:{}", key.expose_secret()));
    Ok(channel(Zulip {
        messages: route(name.as_str(), &base, "/api/v1/messages")?,
        me: route(name.as_str(), &base, "/api/v1/users/me")?,
        authorization: sensitive(&name, &format!("Basic {login}"))?,
        topic: settings.text("topic").map(topic_of),
        line: Line {
            format: Format::new(
                Unit::Chars,
                settings.max_length(LIMIT),
                escape::zulip,
                escape::zulip,
            ),
            caller: Caller::new(client, settings.origin(), [key, SecretString::from(login)]),
            pace: Pace::new(BOT),
            name,
        },
    }))
}

/// A topic that is taken as it is: no signs that cannot be printed, and not too long.
fn topic_of(text: &str) -> String {
    let signs = text.chars().map(|c| if c.is_control() || is_no_sign(c) { ' ' } else { c });
    signs.collect::<String>().trim().chars().take(TOPIC).collect()
}

/// Whether Unicode says that this is never one.
fn is_no_sign(c: char) -> bool {
    let number = u32::from(c);
    (0xfdd0..=0xfdef).contains(&number) || number & 0xfffe == 0xfffe
}

/// Whom a chat means: the addresses of people, the number of a channel, or its name.
fn recipients(chat: &str) -> (&'static str, Value) {
    if chat.contains('@') {
        return ("direct", chat.split(',').map(str::trim).collect());
    }
    let number = chat.parse::<u64>().map(Value::from);
    ("stream", number.unwrap_or_else(|_| chat.into()))
}

impl Zulip {
    fn refused(&self, threaded: bool, answer: &Answer) -> Verdict {
        let caller = &self.line.caller;
        let code = answer.text_at("/code");
        let words = format!("{code} {}", answer.text_at("/msg"));
        let fault = |fault| caller.fault(fault, answer, &words);
        match (answer.status.as_u16(), code) {
            (429, _) => {
                let told = answer.json.pointer("/retry-after").map(Value::to_string);
                let told = told.and_then(|text| seconds(&text)).map(clamp);
                let retry_after = told.max(answer.retry_after).or_else(|| reset(answer));
                if let Some(wait) = retry_after {
                    self.line.pace.hold_all(wait);
                }
                Verdict::Busy { retry_after, detail: caller.detail(answer.status, &words) }
            }
            (400, code) if code.ends_with("DOES_NOT_EXIST") => fault(Fault::Target),
            // Of what we send only the chat and the topic are somebody else's.
            (400, "BAD_REQUEST") if threaded && words.to_ascii_lowercase().contains("topic") => {
                fault(Fault::Thread)
            }
            (400, "BAD_REQUEST") => fault(Fault::Target),
            _ => caller.refused(answer, &words),
        }
    }
}

/// The time until the limit of the bot begins anew.
fn reset(answer: &Answer) -> Option<Duration> {
    until(answer.header("x-ratelimit-reset"), SystemTime::now())
}

fn is_success(answer: &Answer) -> bool {
    answer.status.is_success() && answer.text_at("/result") == "success"
}

impl Post for Zulip {
    fn line(&self) -> &Line {
        &self.line
    }

    /// The topic of the task: its title, and its id so that no two have the same.
    fn data(&self, message: &Message) -> Value {
        let quoted = message.spans.iter().find(|span| matches!(span, Span::Quoted(_)));
        let title = quoted.map(Span::text).unwrap_or_default();
        let id = message.facts.first().map(|fact| format!(" ({})", fact.task)).unwrap_or_default();
        let room = TOPIC.saturating_sub(id.chars().count());
        let title: String = topic_of(title).chars().take(room).collect();
        json!({"topic": topic_of(&format!("{}{id}", title.trim_end()))})
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, BOT)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        if next.chat.trim().is_empty() {
            return Err(unfit(Fault::Target, "the chat is no channel"));
        }
        let (kind, to) = recipients(next.chat);
        let own = next.data.get("topic").and_then(Value::as_str);
        let mut topics = [Some(next.thread), self.topic.as_deref(), own].into_iter().flatten();
        // What is about no task has none of its own.
        let topic = topics.find(|topic| !topic.is_empty()).unwrap_or("kanban");
        let (to, content) = (to.to_string(), next.text());
        let mut fields = vec![("type", kind), ("to", &to), ("content", &content)];
        if kind == "stream" {
            fields.push(("topic", topic));
        }
        Ok(authorized(post_form(self.messages.clone(), &fields), &self.authorization))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        let id = answer.json.pointer("/id").and_then(Value::as_u64).filter(|_| is_success(answer));
        if let Some(id) = id {
            if answer.header("x-ratelimit-remaining") == "0"
                && let Some(wait) = reset(answer)
            {
                self.line.pace.hold_all(wait);
            }
            return next.accepted(Some(id.to_string()));
        }
        self.refused(!next.thread.is_empty(), answer)
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(authorized(get(self.me.clone()), &self.authorization))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        if is_success(answer) { Ok(()) } else { Err(self.refused(false, answer)) }
    }
}
