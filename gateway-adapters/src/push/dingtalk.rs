//! DingTalk: texts by a custom bot of a group, signed where it has a secret.

use std::{sync::Arc, time::Duration};

use ::http::{Request, Uri};
use bytes::Bytes;
use kanban_notify::{
    message::{Span, flat},
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    call::{Answer, Caller, post_json},
    escape::json as escaped,
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
    name: "dingtalk_webhook",
    fields: &[
        hooks(
            "DINGTALK_WEBHOOK_URL",
            "The whole address of a custom bot; for several groups one each, name=address, with commas between them. A subscription's chat is then such a name.",
        ),
        secret(
            SECRET,
            "DINGTALK_WEBHOOK_SECRET",
            "What the bot's requests are signed with, where it checks that; one bot's own stands behind its address and a #.",
        ),
        max_length("19500"),
    ],
    wanted_by: &["url"],
    needs_all: false,
    // It is sent a key, but for how long it is remembered is not told.
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In bytes as they are sent: a request has room for 20,000, with what is around the text.
const LIMIT: usize = 19_500;
/// So long a bot is silenced.
const SILENCED: Duration = Duration::from_secs(600);

/// The bots of all groups.
///
/// | answer | verdict |
/// |---|---|
/// | `errcode` 0 | delivered |
/// | 130101, 410100, 660026, 90030 | busy, for ten minutes |
/// | -1, 429 | busy |
/// | 300001, 300005, 400101, 400102, 400106, 88: the token or the bot | permanent: credential |
/// | 310000, where it does not speak of keywords: the signature, this machine | permanent: credential |
/// | 400013: the group is dissolved | permanent: target |
/// | 310000 of keywords, 40035, 43004, 400105, 430101 to 430104, 460101 | permanent: payload |
/// | any other code | retryable |
/// | a 200 without a code | unknown |
struct DingTalk;

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let format = Format::new(Unit::Bytes, settings.max_length(LIMIT), escaped, escaped);
    channel(&PLATFORM, client, settings, format, DingTalk)
}

/// The address of a bot, with the signature of this attempt.
fn signed(hook: &Hook) -> Result<Uri, Verdict> {
    let Some(secret) = &hook.secret else { return Ok(hook.uri.clone()) };
    let secret = secret.expose_secret();
    let time = since_epoch().as_millis().to_string();
    let sign = signature(secret.as_bytes(), format!("{time}\n{secret}").as_bytes());
    hook.with(&[("timestamp", &time), ("sign", &sign)])
}

/// What is said of a message without the word that a bot demands, then and now.
const KEYWORDS: &[&str] = &["keywords not in content", "关键词"];

fn meaning(code: i64, words: &str) -> Meaning {
    match code {
        90_030 | 130_101 | 410_100 | 660_026 => Meaning::Busy(Some(SILENCED)),
        -1 => Meaning::Busy(None),
        310_000 if KEYWORDS.iter().any(|sign| words.contains(sign)) => {
            Meaning::Fault(Fault::Payload)
        }
        88 | 300_001 | 300_005 | 310_000 | 400_101 | 400_102 | 400_106 => {
            Meaning::Fault(Fault::Credential)
        }
        400_013 => Meaning::Fault(Fault::Target),
        40_035 | 43_004 | 400_105 | 430_101..=430_104 | 460_101 => Meaning::Fault(Fault::Payload),
        _ => Meaning::New,
    }
}

impl Dialect for DingTalk {
    /// More than twenty messages a minute silence a bot for ten. This makes sixteen, and with those after
    /// a restart nineteen.
    const PACE: Cap = Cap::new(3, Duration::from_millis(4_500));

    const SIGNS: bool = true;

    /// A text has no markup, and calls only those whom the request names besides.
    fn part(&self, _: &Format, spans: &[Span]) -> Part {
        Part { text: flat(spans), rich: None }
    }

    fn request(&self, hook: &Hook, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        without_thread(next)?;
        let text = json!({"content": next.text()});
        let body = json!({"msgtype": "text", "text": text, "msgUuid": next.key});
        Ok(post_json(signed(hook)?, &body))
    }

    fn accepted(&self, answer: &Answer) -> Option<Option<String>> {
        (answer.status.is_success() && answer.number_at("/errcode") == Some(0)).then_some(None)
    }

    fn refused(&self, caller: &Caller, answer: &Answer) -> Verdict {
        let code = answer.number_at("/errcode");
        by_code(caller, answer, code, answer.text_at("/errmsg"), meaning)
    }

    /// The address and the signature are looked at before the message, and this is none.
    fn probe(&self, hook: &Hook) -> Result<Request<Bytes>, Verdict> {
        Ok(post_json(signed(hook)?, &json!({})))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::*;
    use crate::push::pace::Pace;

    #[tokio::test(start_paused = true)]
    async fn fewer_messages_go_in_a_minute_than_silence_a_bot_also_after_a_restart() {
        let (start, mut sent) = (Instant::now(), 0);
        let minute = Duration::from_secs(60);
        let pace = Pace::new(DingTalk::PACE);
        while start.elapsed() < minute {
            match pace.wait("", DingTalk::PACE).await {
                Ok(()) => sent += 1,
                Err(Verdict::Busy { retry_after: Some(wait), .. }) => advance(wait).await,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!((10..=20 - DingTalk::PACE.burst).contains(&sent), "{sent}");
    }
}
