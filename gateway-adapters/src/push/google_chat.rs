//! Google Chat: messages to a space by its incoming webhook, each with its key, those about a task in one thread.

use std::{sync::Arc, time::Duration};

use ::http::Request;
use bytes::Bytes;
use kanban_notify::{
    message::Message,
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::{Value, json};

use super::{
    Platform, Settings,
    call::{Answer, Caller, post_json, set},
    escape::google_chat,
    hooked::{Dialect, channel},
    hooks::{Hook, check_chat, hooks},
    max_length,
    pace::Cap,
    pin::{Next, unfit},
    split::{Format, Unit},
};
use crate::{AdapterError, http::HttpClient};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "google_chat_webhook",
    fields: &[
        hooks(
            "GOOGLE_CHAT_WEBHOOK_URL",
            "The whole address of a webhook; for several spaces one each, name=address, with commas between them. A subscription's chat is then such a name.",
        ),
        max_length("4000"),
    ],
    wanted_by: &["url"],
    needs_all: false,
    deduplicates: true,
    guarantee: "exactly once, as Google keeps a message's key with the message",
    check_chat,
    make,
};

/// 32,000 bytes are taken; what is longer than this is hard to read there.
const LIMIT: usize = 4_000;
/// In characters.
const THREAD: usize = 4_000;

/// The webhooks of all spaces.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with the message's name | delivered |
/// | 429 | busy |
/// | 401, 403, a key that is not valid, 404 without a reason | permanent: credential (the address is it) |
/// | 404 `NOT_FOUND` | permanent: target |
/// | other 400 | permanent: payload |
struct GoogleChat;

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let format = Format::new(Unit::Utf16, settings.max_length(LIMIT), google_chat, google_chat);
    channel(&PLATFORM, client, settings, format, GoogleChat)
}

/// Whether an error says that the address holds no key that Google knows.
fn is_of_key(answer: &Answer) -> bool {
    let details = answer.json.pointer("/error/details").and_then(Value::as_array);
    details.into_iter().flatten().any(|detail| {
        let reason = detail.get("reason").and_then(Value::as_str).unwrap_or_default();
        reason.starts_with("API_KEY_")
    })
}

impl Dialect for GoogleChat {
    /// Sixty messages a minute in a space, those of others among them.
    const PACE: Cap = Cap::new(3, Duration::from_secs(1));

    /// Where a subscription names no thread, all about its task is in one.
    fn data(&self, message: &Message) -> Value {
        let task = message.facts.first().map(|fact| format!("{}/{}", fact.board, fact.task));
        task.map_or(Value::Null, |task| json!({"task": task}))
    }

    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let uri = hook.with(&[
            ("requestId", &next.key),
            // Without it a thread is passed over.
            ("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"),
        ])?;
        let mut body = json!({"text": next.text()});
        let task = next.data.get("task").and_then(Value::as_str).unwrap_or_default();
        match if next.thread.is_empty() { task } else { next.thread } {
            "" => {}
            long if long.chars().count() > THREAD => {
                return Err(unfit(Fault::Thread, "the thread is longer than 4000 characters"));
            }
            name if name.starts_with("spaces/") => set(&mut body, "thread", json!({"name": name})),
            key => set(&mut body, "thread", json!({"threadKey": key})),
        }
        Ok(post_json(uri, &body))
    }

    fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        let name = answer.text_at("/name");
        (answer.status.is_success() && !name.is_empty()).then(|| Some(name.to_owned()))
    }

    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict {
        let status = answer.text_at("/error/status");
        let words = format!("{status} {}", answer.text_at("/error/message"));
        let fault = match (answer.status.as_u16(), status) {
            (400, _) if is_of_key(answer) => Fault::Credential,
            (404, "NOT_FOUND") => Fault::Target,
            (404, _) => Fault::Credential,
            _ => return caller.refused(answer, &words),
        };
        caller.fault(fault, answer, &words)
    }

    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(hook.uri.clone(), &json!({})))
    }
}
