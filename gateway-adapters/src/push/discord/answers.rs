//! What Discord's answers mean, to a bot and to a webhook: its own codes first, then the status.

use std::time::Duration;

use kanban_notify::verdict::{Fault, Verdict};
use serde_json::Value;

use super::CHAT;
use crate::{
    http::retry_after::{clamp, seconds},
    push::{
        call::{Answer, Caller},
        pin::Next,
        post::Line,
    },
};

/// The verdict of an answer to a message that went `to` a channel.
///
/// | answer | verdict |
/// |---|---|
/// | 2xx with an id | delivered |
/// | 429, by header or by body, and the codes of a limit | busy; nothing goes there meanwhile |
/// | 429 of all that the bot or this machine sends | the same for every chat |
/// | 401 | permanent: credential |
/// | 403 without a code (something before the API), 40333 | retryable |
/// | 403, and the codes of a channel | permanent: target, or the thread where there is one |
/// | the codes of a content, 400, 413 | permanent: payload |
pub(super) fn judge(line: &Line, to: &str, next: &Next<'_>, answer: &Answer) -> Verdict {
    let id = answer.text_at("/id");
    let left = (answer.header("x-ratelimit-remaining") == "0").then(|| reset(answer)).flatten();
    if let Some(wait) = left {
        line.pace.hold(to, wait, CHAT);
    }
    if answer.status.is_success() && !id.is_empty() {
        return next.accepted(Some(id.to_owned()));
    }
    let verdict = refused(&line.caller, !next.thread.is_empty(), answer);
    if let Verdict::Busy { retry_after: Some(wait), .. } = &verdict
        && is_global(answer)
    {
        line.pace.hold_all(*wait);
    }
    verdict
}

/// The verdict of an answer that is no success, in a thread or not.
pub(super) fn refused(caller: &Caller, threaded: bool, answer: &Answer) -> Verdict {
    let words = words(answer);
    let code = code(answer);
    let told = answer.json.pointer("/retry_after").map(Value::to_string);
    let told = told.and_then(|text| seconds(&text)).map(clamp).max(answer.retry_after);
    let detail = || caller.detail(answer.status, &words);
    let busy = |retry_after| Verdict::Busy { retry_after, detail: detail() };
    let fault = |fault| caller.fault(fault, answer, &words);
    match (answer.status.as_u16(), fault_of(code)) {
        (429, _) => busy(told.or_else(|| reset(answer))),
        _ if LATER.contains(&code) => busy(told),
        // In the channel above it may be another matter.
        (_, Some(Fault::Target)) if threaded => fault(Fault::Thread),
        (_, Some(Fault::Thread)) if !threaded => fault(Fault::Target),
        (_, Some(of_code)) => fault(of_code),
        (403, None) if answer.json.pointer("/code").is_none() || code == BLOCKED => {
            Verdict::Retryable { retry_after: None, detail: detail() }
        }
        (403, None) => fault(if threaded { Fault::Thread } else { Fault::Target }),
        _ => caller.refused(answer, &words),
    }
}

/// The code of an answer; 0 where it has none.
pub(super) fn code(answer: &Answer) -> u64 {
    answer.json.pointer("/code").and_then(Value::as_u64).unwrap_or_default()
}

fn words(answer: &Answer) -> String {
    match code(answer) {
        0 => answer.text_at("/message").to_owned(),
        code => format!("{code} {}", answer.text_at("/message")),
    }
}

/// When the limit of this route begins anew.
fn reset(answer: &Answer) -> Option<Duration> {
    seconds(answer.header("x-ratelimit-reset-after")).map(clamp)
}

/// Whether a limit is one of everything: of the bot, or, before the API says anything, of this machine.
fn is_global(answer: &Answer) -> bool {
    let is_limit = answer.status.as_u16() == 429;
    let says = answer.json.pointer("/global") == Some(&Value::Bool(true))
        || answer.header("x-ratelimit-global") == "true"
        || answer.header("x-ratelimit-scope") == "global";
    let is_before = answer.json.pointer("/retry_after").is_none()
        && answer.header("x-ratelimit-reset-after").is_empty();
    is_limit && (says || is_before)
}

fn fault_of(code: u64) -> Option<Fault> {
    let faults = [
        (CREDENTIAL, Fault::Credential),
        (TARGET, Fault::Target),
        (THREAD, Fault::Thread),
        (PAYLOAD, Fault::Payload),
    ];
    faults.into_iter().find(|(codes, _)| codes.contains(&code)).map(|(_, fault)| fault)
}

/// The token is refused, the bot's account is to be verified, the webhook is gone or its token wrong.
const CREDENTIAL: &[u64] = &[10_015, 40_001, 40_002, 50_014, 50_027];

/// A channel, a person or a forum that cannot be written to.
const TARGET: &[u64] = &[
    10_003, 10_013, 40_007, 40_058, 50_001, 50_007, 50_008, 50_009, 50_013, 50_024, 50_033, 50_278,
    220_001, 220_004,
];

/// A thread that is archived or locked.
const THREAD: &[u64] = &[50_083, 160_005];

/// Too large, empty, malformed, or kept back by a filter.
const PAYLOAD: &[u64] = &[20_009, 40_005, 50_006, 50_035, 50_109, 200_000, 200_001, 240_000];

/// Slow mode, limits of writing, what is switched off or overloaded for now.
const LATER: &[u64] = &[20_016, 20_028, 20_029, 40_003, 40_004, 40_006, 40_062, 130_000];

/// Kept out before the API.
const BLOCKED: u64 = 40_333;
