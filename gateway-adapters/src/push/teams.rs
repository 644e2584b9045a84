//! Microsoft Teams: cards of text to the workflow that posts them.

use std::{sync::Arc, time::Duration};

use ::http::{Request, StatusCode};
use bytes::Bytes;
use kanban_notify::{
    message::Span,
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    call::{Answer, Caller, get, post_json},
    escape::{BREAK, card, json as escaped},
    hooked::{Dialect, channel, without_thread},
    hooks::{Hook, check_chat, hooks},
    max_length,
    pace::Cap,
    pin::{Next, Part},
    split::{Format, Unit},
};
use crate::{
    AdapterError,
    http::{BodyEnd, HttpClient},
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "teams_webhook",
    fields: &[
        hooks(
            "TEAMS_INCOMING_WEBHOOK_URL",
            "The whole address of a workflow that posts what it is sent; for several channels one each, name=address, with commas between them. A subscription's chat is then such a name.",
        ),
        max_length("26000"),
    ],
    wanted_by: &["url"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In bytes as they are sent: a request has room for about 28 KB, with what is around the text.
const LIMIT: usize = 26_000;

/// All workflows. What became of a message that one accepted is not told.
///
/// | answer | verdict |
/// |---|---|
/// | 202; 200 with nothing or `1` | delivered |
/// | `HTTP error` and a status, in a 2xx | what that status means here |
/// | 429 | busy |
/// | 401, 403, 404, 410, a workflow that is switched off | permanent: credential (the address is it) |
/// | other 400, 405, 413 | permanent: payload |
/// | 502, 504, other 2xx | unknown |
struct Teams;

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let format = Format::new(Unit::Bytes, settings.max_length(LIMIT), counted, counted);
    channel(&PLATFORM, client, settings, format, Teams)
}

/// A text as it takes room in a request, where each line is a block of its own.
fn counted(text: &str) -> String {
    match text.contains('\n') {
        true => text.split('\n').map(counted).collect::<Vec<_>>().join(&block("").to_string()),
        false => escaped(&card(text)),
    }
}

/// One line. What may begin a list or a block does not stand at its beginning.
fn block(line: &str) -> Value {
    let text = match line.starts_with(char::is_alphabetic) {
        true => line.to_owned(),
        false => format!("{BREAK}{line}"),
    };
    json!({"type": "TextBlock", "text": text, "wrap": true, "spacing": "None"})
}

/// What is said of a workflow that is there and does nothing, or that is gone.
const OFF: &[&str] = &["WorkflowTriggerIsNotEnabled", "WorkflowDisabled"];

/// How an error of Teams itself begins in an answer that accepts.
const INNER: &str = "HTTP error ";

/// The status of such an error.
fn inner(words: &str) -> Option<StatusCode> {
    let (_, status) = words.split_once(INNER)?;
    let status: StatusCode = status.get(..3)?.parse().ok()?;
    (!status.is_success()).then_some(status)
}

impl Dialect for Teams {
    /// More than four requests a second are refused.
    const PACE: Cap = Cap::new(3, Duration::from_millis(500));

    fn part(&self, _: &Format, spans: &[Span]) -> Part {
        Part { text: spans.iter().map(|span| card(span.text())).collect(), rich: None }
    }

    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        without_thread(next)?;
        let text = next.text();
        let card = json!({
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": text.lines().map(block).collect::<Vec<Value>>(),
            },
        });
        let body = json!({"type": "message", "attachments": [card]});
        Ok(post_json(hook.uri.clone(), &body))
    }

    fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        let is_accepted = match answer.status.as_u16() {
            202 => !answer.text.contains(INNER),
            200 => matches!(answer.text.trim(), "" | "1"),
            _ => false,
        };
        (is_accepted && answer.end == BodyEnd::Whole).then_some(None)
    }

    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict {
        let code = answer.text_at("/error/code");
        let words = match answer.text_at("/error/message") {
            "" => answer.text.trim().to_owned(),
            message => format!("{code} {message}"),
        };
        match answer.status.as_u16() {
            200..=299 => match inner(&words) {
                Some(status) => self.refused(caller, &Answer { status, ..answer.clone() }),
                None => caller.refused(answer, &words),
            },
            404 | 410 => caller.fault(Fault::Credential, answer, &words),
            // What a probe may be told where only the method is looked at.
            405 => caller.fault(Fault::Payload, answer, &words),
            400 if OFF.contains(&code) => caller.fault(Fault::Credential, answer, &words),
            _ => caller.refused(answer, &words),
        }
    }

    /// A workflow runs when it is posted to, and only then.
    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict> {
        Ok(get(hook.uri.clone()))
    }
}
