//! WeCom: texts by the bot of a group.

use std::{sync::Arc, time::Duration};

use ::http::Request;
use bytes::Bytes;
use kanban_notify::{
    ports::Channel,
    verdict::{Fault, Verdict},
};
use serde_json::json;

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    call::{Answer, Caller, post_json},
    hooked::{Dialect, Meaning, by_code, channel, without_thread},
    hooks::{Hook, check_chat, hooks},
    max_length,
    pace::Cap,
    pin::Next,
    split::{Format, Unit},
};
use crate::{AdapterError, http::HttpClient};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "wecom_webhook",
    fields: &[
        hooks(
            "WECOM_WEBHOOK_URL",
            "The whole address of a group's bot; for several groups one each, name=address, with commas between them. A subscription's chat is then such a name.",
        ),
        max_length("2048"),
    ],
    wanted_by: &["url"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In bytes, of the text alone.
const LIMIT: usize = 2_048;
/// The time in which messages are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// The bots of all groups.
///
/// | answer | verdict |
/// |---|---|
/// | `errcode` 0 | delivered |
/// | 45009, 45033 | busy, for a minute |
/// | -1, 429 | busy |
/// | 93000, where it does not speak of a length; 93004, 93008: the address or the bot | permanent: credential |
/// | 93000 of a length, 40008, 40035, 40058, 44004, 45002, 47001 | permanent: payload |
/// | any other code | retryable |
/// | a 200 without a code | unknown |
struct WeCom;

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    // A text has no markup, and calls only those whom the request names besides.
    let format = Format::new(Unit::Bytes, settings.max_length(LIMIT), str::to_owned, str::to_owned);
    channel(&PLATFORM, client, settings, format, WeCom)
}

fn meaning(code: i64, words: &str) -> Meaning {
    match code {
        45_009 | 45_033 => Meaning::Busy(Some(MINUTE)),
        -1 => Meaning::Busy(None),
        93_000 if words.contains("max length") => Meaning::Fault(Fault::Payload),
        93_000 | 93_004 | 93_008 => Meaning::Fault(Fault::Credential),
        40_008 | 40_035 | 40_058 | 44_004 | 45_002 | 47_001 => Meaning::Fault(Fault::Payload),
        _ => Meaning::New,
    }
}

impl Dialect for WeCom {
    /// Twenty messages a minute. This makes sixteen, and with those after a restart nineteen.
    const PACE: Cap = Cap::new(3, Duration::from_millis(4_500));

    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        without_thread(next)?;
        let body = json!({"msgtype": "text", "text": {"content": next.text()}});
        Ok(post_json(hook.uri.clone(), &body))
    }

    fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        (answer.status.is_success() && answer.number_at("/errcode") == Some(0)).then_some(None)
    }

    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict {
        let code = answer.number_at("/errcode");
        by_code(caller, answer, code, answer.text_at("/errmsg"), meaning)
    }

    /// The address is looked at before the message, and this is none.
    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(hook.uri.clone(), &json!({})))
    }
}
