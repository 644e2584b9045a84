//! Slack without a bot: an incoming webhook, whose address is the credential and decides the channel.

use std::{sync::Arc, time::Duration};

use ::http::{Request, Uri};
use bytes::Bytes;
use kanban_notify::{
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::json;

use super::{DEFAULT_LENGTH, body, errors::fault_of, format};
use crate::{
    AdapterError,
    http::HttpClient,
    push::{
        AT_LEAST_ONCE, Platform, Settings, any_chat,
        call::{Answer, Caller, hook, post_json},
        max_length,
        pace::{Cap, Pace},
        pin::Next,
        post::{Line, Post, channel},
        secret,
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "slack_webhook",
    fields: &[
        secret(
            "url",
            "SLACK_WEBHOOK_URL",
            "The whole address of an incoming webhook. It decides the channel; a subscription's chat is a name of your own.",
        ),
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["url"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat: any_chat,
    make,
};

/// One message a second; short bursts are tolerated.
const HOOK: Cap = Cap::new(3, Duration::from_secs(1));

/// One webhook.
///
/// | answer | verdict |
/// |---|---|
/// | 200 and the body is `ok` | delivered |
/// | 429 | busy |
/// | `no_service`, `invalid_token` and their like | permanent: credential (the address is it) |
/// | `channel_is_archived` and its like, 410 | permanent: target |
/// | other 400, 413 | permanent: payload |
struct Webhook {
    hook: Uri,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let (hook, secrets) = hook(&name, settings)?;
    Ok(channel(Webhook {
        hook,
        line: Line {
            format: format(settings),
            caller: Caller::new(client, settings.origin(), secrets),
            pace: Pace::new(HOOK),
            name,
        },
    }))
}

impl Webhook {
    fn refused(&self, answer: &Answer) -> Verdict {
        let words = answer.text.trim();
        match fault_of(words) {
            Some(fault) => self.line.caller.fault(fault, answer, words),
            None => self.line.caller.refused(answer, words),
        }
    }
}

impl Post for Webhook {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, _: &Next<'a>) -> (&'a str, Cap) {
        ("", HOOK)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(self.hook.clone(), &body(next)?))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        let words = answer.text.trim();
        match answer.status.as_u16() {
            200 if words == "ok" => next.accepted(None),
            410 => self.line.caller.fault(Fault::Target, answer, words),
            _ => self.refused(answer),
        }
    }

    /// A webhook that is there refuses a message without a text, and nobody sees anything.
    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(self.hook.clone(), &json!({})))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match self.refused(answer) {
            Verdict::Permanent { fault: Fault::Payload | Fault::Target, .. } => Ok(()),
            other => Err(other),
        }
    }
}
