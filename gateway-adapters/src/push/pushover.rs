//! Pushover: a notification for one user or group, as plain text.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use ::http::{Request, Uri};
use bytes::Bytes;
use kanban_notify::{
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    call::{Answer, Caller, get, post_form},
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
    http::{
        HttpClient,
        base::{route, segment},
        retry_after::until,
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "pushover",
    fields: &[
        secret("token", "PUSHOVER_TOKEN", "The token of an application."),
        secret(
            "user",
            "PUSHOVER_USER",
            "The key of a user or group, for subscriptions whose chat is `me`. Any other chat is a key itself.",
        ),
        url("", DEFAULT_URL, "Where the API is."),
        max_length("1024"),
    ],
    wanted_by: &["token"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

const DEFAULT_URL: &str = "https://api.pushover.net";
/// In code points; the title is the application's name and does not count.
const LIMIT: usize = 1_024;
/// No more than two requests at a time are welcome: at this pace there are hardly ever more.
const ALL: Cap = Cap::new(2, Duration::from_millis(500));
/// The chat that `user` stands for.
const ME: &str = "me";

/// One application.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with `status: 1` | delivered |
/// | 429: the month's messages of the account are used up | busy, for everybody, until it begins anew |
/// | 400 with `token` | permanent: credential |
/// | 400 with `user` | permanent: target |
/// | other 400, 413 | permanent: payload |
struct Pushover {
    messages: Uri,
    limits: Uri,
    token: SecretString,
    user: Option<SecretString>,
    line: Line,
}

fn check_chat(settings: &Settings, chat: &str) -> Result<(), &'static str> {
    match (chat, settings.text("user")) {
        (ME, Some(_)) => Ok(()),
        // Without a token nothing is set up yet.
        (ME, None) if settings.text("token").is_none() => Ok(()),
        (ME, None) => Err(NOBODY),
        (key, _) => check_key(key),
    }
}

const NOBODY: &str = "`user` is not set, which `me` is";

fn check_key(key: &str) -> Result<(), &'static str> {
    if key.len() != 30 || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("the chat is no key of a user or group: those have 30 letters and digits");
    }
    Ok(())
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.secret(&name, "token")?;
    let user = settings.text("user").map(|_| settings.secret(&name, "user")).transpose()?;
    let base = settings.base_or(&name, DEFAULT_URL)?;
    let limits = format!("/1/apps/limits.json?token={}", segment(token.expose_secret()));
    let secrets = [token.clone()].into_iter().chain(user.clone());
    Ok(channel(Pushover {
        messages: route(name.as_str(), &base, "/1/messages.json")?,
        limits: route(name.as_str(), &base, &limits)?,
        line: Line {
            format: Format::new(
                Unit::Chars,
                settings.max_length(LIMIT),
                str::to_owned,
                str::to_owned,
            ),
            caller: Caller::new(client, settings.origin(), secrets),
            pace: Pace::new(ALL),
            name,
        },
        token,
        user,
    }))
}

fn is_accepted(answer: &Answer) -> bool {
    answer.status.is_success() && answer.json.pointer("/status").and_then(Value::as_u64) == Some(1)
}

fn words(answer: &Answer) -> String {
    let errors = answer.json.pointer("/errors").and_then(Value::as_array);
    let errors = errors.into_iter().flatten().filter_map(Value::as_str);
    errors.collect::<Vec<_>>().join("; ")
}

/// The time until the month's messages begin anew.
fn reset(answer: &Answer) -> Option<Duration> {
    until(answer.header("x-limit-app-reset"), SystemTime::now())
}

/// What is said of messages that are used up.
const USED_UP: &[&str] = &["limits reached", "quota"];

impl Pushover {
    fn refused(&self, answer: &Answer) -> Verdict {
        let caller = &self.line.caller;
        let words = words(answer);
        let is_about = |field| answer.json.pointer(field).is_some();
        let is_used_up = USED_UP.iter().any(|sign| words.contains(sign));
        match answer.status.as_u16() {
            status if status == 429 || status == 400 && is_used_up => {
                let retry_after = reset(answer).max(answer.retry_after);
                // Whoever it is for: the limit is the account's.
                if let Some(wait) = retry_after {
                    self.line.pace.hold_all(wait);
                }
                Verdict::Busy { retry_after, detail: caller.detail(answer.status, &words) }
            }
            400 if is_about("/token") => caller.fault(Fault::Credential, answer, &words),
            400 if is_about("/user") => caller.fault(Fault::Target, answer, &words),
            _ => caller.refused(answer, &words),
        }
    }
}

impl Post for Pushover {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, ALL)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let user = match (&self.user, next.chat) {
            (Some(user), ME) => user.expose_secret(),
            (None, ME) => return Err(unfit(Fault::Target, NOBODY)),
            (_, key) => key,
        };
        check_key(user).map_err(|reason| unfit(Fault::Target, reason))?;
        let fields =
            [("token", self.token.expose_secret()), ("user", user), ("message", &next.text())];
        Ok(post_form(self.messages.clone(), &fields))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        if is_accepted(answer) {
            return next.accepted(Some(answer.text_at("/request").to_owned()));
        }
        self.refused(answer)
    }

    fn has_threads(&self) -> bool {
        false
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(get(self.limits.clone()))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        if is_accepted(answer) { Ok(()) } else { Err(self.refused(answer)) }
    }
}
