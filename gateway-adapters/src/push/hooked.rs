//! A channel over webhooks: what platforms share whose address is all that a message needs.

use std::{sync::Arc, time::Duration};

use ::http::Request;
use bytes::Bytes;
use kanban_notify::{
    message::{Message, Span},
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::Value;

use super::{
    Platform, Settings,
    call::{Answer, Caller},
    hooks::{Hook, Hooks},
    pace::{Cap, Pace},
    pin::{Next, Part, unfit},
    post::{self, Line, Post},
    split::Format,
};
use crate::{AdapterError, http::HttpClient};

/// How the webhooks of one platform are posted to, and what they answer.
pub trait Dialect: Send + Sync + 'static {
    /// How fast one of them may be posted to.
    const PACE: Cap;

    /// Whether requests are signed, where there is a secret.
    const SIGNS: bool = false;

    /// One part of a message.
    fn part(&self, format: &Format, spans: &[Span]) -> Part {
        Part { text: format.written(spans), rich: None }
    }

    /// What else belongs to a message; null for nothing.
    fn data(&self, _message: &Message) -> Value {
        Value::Null
    }

    /// The request for a part.
    ///
    /// # Errors
    ///
    /// The verdict, where there is none to be made.
    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict>;

    /// Whether an answer certainly accepts, and the message's name if it tells one.
    fn accepted(&self, answer: &Answer) -> Option<Option<String>>;

    /// The verdict of every other answer.
    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict;

    /// A request that is refused for what it lacks by a webhook that is there, and shown to nobody.
    ///
    /// # Errors
    ///
    /// The verdict, where there is none to be made.
    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict>;
}

/// The channel of a platform's webhooks.
///
/// # Errors
///
/// [`AdapterError`], where the settings hold none that can be used.
pub fn channel<D: Dialect>(
    platform: &Platform,
    client: HttpClient,
    settings: &Settings,
    format: Format,
    dialect: D,
) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = platform.channel();
    let (hooks, secrets) = Hooks::new(&name, settings, D::SIGNS)?;
    let caller = Caller::new(client, settings.origin(), secrets);
    let line = Line { name, format, caller, pace: Pace::new(ALL) };
    Ok(post::channel(Hooked { hooks, line, dialect }))
}

/// Each webhook has a limit of its own; this is for all of them.
const ALL: Cap = Cap::new(50, Duration::from_millis(20));

struct Hooked<D> {
    hooks: Hooks,
    line: Line,
    dialect: D,
}

impl<D: Dialect> Post for Hooked<D> {
    fn line(&self) -> &Line {
        &self.line
    }

    fn part(&self, _: usize, spans: &[Span]) -> Part {
        self.dialect.part(&self.line.format, spans)
    }

    fn data(&self, message: &Message) -> Value {
        self.dialect.data(message)
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (self.hooks.name(next.chat), D::PACE)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        self.dialect.request(self.hooks.find(next.chat)?, next)
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        match self.dialect.accepted(answer) {
            Some(id) => next.accepted(id),
            None => self.hooks.judged(next.chat, self.dialect.refused(&self.line.caller, answer)),
        }
    }

    /// Where webhooks have several hosts, one is not the platform: the others go on.
    fn unanswered(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Unreachable { detail } if self.hooks.are_apart() => {
                Verdict::Retryable { retry_after: None, detail }
            }
            verdict => verdict,
        }
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        self.dialect.probe(self.hooks.first()?)
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match self.dialect.refused(&self.line.caller, answer) {
            Verdict::Permanent { fault: Fault::Payload | Fault::Target, .. } => Ok(()),
            // A code of its own that is none of the address.
            Verdict::Retryable { .. } if answer.status.is_success() => Ok(()),
            other => Err(other),
        }
    }
}

/// Refuses a thread, for platforms whose webhooks know none.
///
/// # Errors
///
/// Permanent, where there is one.
pub fn without_thread(next: &Next<'_>) -> Result<(), Verdict> {
    match next.thread {
        "" => Ok(()),
        _ => Err(unfit(Fault::Thread, "a webhook cannot write to a thread")),
    }
}

/// What a code means by which a platform refuses in an answer that is a 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// No room now, and for how long, where that is known.
    Busy(Option<Duration>),
    /// Will not work as it is.
    Fault(Fault),
    /// Nothing that is known: refused, so certainly without effect.
    New,
}

/// The verdict of an answer that says what became of a message by a code, and in words.
pub fn by_code(
    caller: &Caller,
    answer: &Answer,
    code: Option<i64>,
    words: &str,
    meaning: fn(i64, &str) -> Meaning,
) -> Verdict {
    let Some(code) = code.filter(|code| *code != 0) else {
        return caller.refused(answer, answer.text.trim());
    };
    let told = format!("{code} {words}");
    let detail = || caller.detail(answer.status, &told);
    match meaning(code, words) {
        Meaning::Busy(wait) => {
            Verdict::Busy { retry_after: wait.max(answer.retry_after), detail: detail() }
        }
        Meaning::Fault(fault) => caller.fault(fault, answer, &told),
        Meaning::New if answer.status.is_success() => {
            Verdict::Retryable { retry_after: answer.retry_after, detail: detail() }
        }
        Meaning::New => caller.refused(answer, &told),
    }
}
