//! Feishu and Lark: texts by a custom bot of a group, signed where it has a secret.

use std::{sync::Arc, time::Duration};

use ::http::Request;
use bytes::Bytes;
use kanban_notify::{
    message::Span,
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    call::{Answer, Caller, post_json, set},
    escape::{feishu, json as escaped},
    hooked::{Dialect, Meaning, by_code, channel, without_thread},
    hooks::{Hook, SECRET, check_chat, hooks},
    max_length,
    pace::Cap,
    pin::{Next, Part},
    secret,
    sign::{signature, since_epoch},
    split::{Format, Unit},
};
use crate::{AdapterError, http::HttpClient};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "feishu_webhook",
    fields: &[
        hooks(
            "FEISHU_WEBHOOK_URL",
            "The whole address of a custom bot, of Feishu or Lark; for several groups one each, name=address, with commas between them. A subscription's chat is then such a name.",
        ),
        secret(
            SECRET,
            "FEISHU_WEBHOOK_SECRET",
            "What the bot's requests are signed with, where it checks that; one bot's own stands behind its address and a #.",
        ),
        max_length("19500"),
    ],
    wanted_by: &["url"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In bytes as they are sent: a request has room for 20 KB, with what is around the text.
const LIMIT: usize = 19_500;

/// The bots of all groups.
///
/// | answer | verdict |
/// |---|---|
/// | `code` 0 | delivered |
/// | 11232, 11220, 2200, 9499 `too many request`, 429 | busy |
/// | 19001, 19003, 19021, 19022: the address, the signature, this machine | permanent: credential |
/// | 9499, 19002, 19024, 19036 | permanent: payload |
/// | any other code | retryable |
/// | a 200 without a code | unknown |
struct Feishu;

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let format = Format::new(Unit::Bytes, settings.max_length(LIMIT), counted, counted);
    channel(&PLATFORM, client, settings, format, Feishu)
}

/// A text as it takes room in a request.
fn counted(text: &str) -> String {
    escaped(&feishu(text))
}

/// A request of a bot; the signature is part of its body.
fn signed(hook: &Hook, mut body: Value) -> Request<Bytes> {
    if let Some(secret) = &hook.secret {
        let time = since_epoch().as_secs().to_string();
        // Nothing but the key is signed.
        let key = format!("{time}\n{}", secret.expose_secret());
        set(&mut body, "sign", signature(key.as_bytes(), b""));
        set(&mut body, "timestamp", time);
    }
    post_json(hook.uri.clone(), &body)
}

fn meaning(code: i64, words: &str) -> Meaning {
    match code {
        2_200 | 11_220 | 11_232 => Meaning::Busy(None),
        9_499 if words.contains("too many request") => Meaning::Busy(None),
        19_001 | 19_003 | 19_021 | 19_022 => Meaning::Fault(Fault::Credential),
        9_499 | 19_002 | 19_024 | 19_036 => Meaning::Fault(Fault::Payload),
        _ => Meaning::New,
    }
}

/// The code of an answer, under its name of today or that of before.
fn code(answer: &Answer) -> Option<i64> {
    answer.number_at("/code").or_else(|| answer.number_at("/StatusCode"))
}

impl Dialect for Feishu {
    /// A hundred messages a minute, and five a second.
    const PACE: Cap = Cap::new(4, Duration::from_millis(650));

    const SIGNS: bool = true;

    fn part(&self, _: &Format, spans: &[Span]) -> Part {
        Part { text: spans.iter().map(|span| feishu(span.text())).collect(), rich: None }
    }

    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        without_thread(next)?;
        Ok(signed(hook, json!({"msg_type": "text", "content": {"text": next.text()}})))
    }

    fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        (answer.status.is_success() && code(answer) == Some(0)).then_some(None)
    }

    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict {
        by_code(caller, answer, code(answer), answer.text_at("/msg"), meaning)
    }

    /// The address and the signature are looked at before the message, and this is none.
    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict> {
        Ok(signed(hook, json!({})))
    }
}
