//! Slack without a bot: an incoming webhook, whose address is the credential and decides the channel.

use std::{sync::Arc, time::Duration};

use ::http::Uri;
use async_trait::async_trait;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::{DEFAULT_LENGTH, body, encode, errors::fault_of, format};
use crate::{
    AdapterError,
    http::{HttpClient, base::hook},
    push::{
        AT_LEAST_ONCE, Field, FieldKind, Platform, Settings, any_chat,
        call::{Answer, Caller, of_credential, post_json},
        max_length,
        pace::{Cap, Pace},
        pin::{Next, next},
        split::Format,
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "slack_webhook",
    fields: &[
        Field {
            name: "url",
            kind: FieldKind::Secret,
            variable: "SLACK_WEBHOOK_URL",
            default: "",
            about: "The whole address of an incoming webhook. It decides the channel; a subscription's chat is a name of your own.",
        },
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["url"],
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
    name: ChannelName,
    origin: String,
    hook: Uri,
    format: Format,
    caller: Caller,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let address = settings.secret(&name, "url")?;
    let hook = hook(name.as_str(), address.expose_secret())?;
    // An answer may repeat the path alone, or its end.
    let path = hook.path().to_owned();
    let end = path.rsplit('/').next().map(SecretString::from);
    let secrets = end.into_iter().chain([address, SecretString::from(path)]);
    Ok(Arc::new(Webhook {
        caller: Caller::new(client, secrets),
        hook,
        format: format(settings),
        pace: Pace::new(HOOK),
        origin: settings.origin().to_owned(),
        name,
    }))
}

impl Webhook {
    fn judge(&self, next: &Next, answer: &Answer) -> Verdict {
        let words = answer.text.trim();
        match answer.status.as_u16() {
            200 if words == "ok" => return next.accepted(None),
            429 => {
                if let Some(wait) = answer.retry_after {
                    self.pace.hold("", wait, HOOK);
                }
            }
            410 => return self.caller.fault(Fault::Target, answer, words),
            _ => {}
        }
        self.refused(answer)
    }

    fn refused(&self, answer: &Answer) -> Verdict {
        let words = answer.text.trim();
        let verdict = match fault_of(words) {
            Some(fault) => self.caller.fault(fault, answer, words),
            None => self.caller.refused(answer, words),
        };
        of_credential(&self.origin, verdict)
    }
}

#[async_trait]
impl Channel for Webhook {
    fn encode(&self, _: &Destination, message: &Message) -> String {
        encode(message, &self.format)
    }

    #[tracing::instrument(level = "debug", name = "slack_webhook.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no channel");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let prepared = next(parcel).and_then(|next| Ok((body(thread, &next)?, next)));
        let (body, next) = match prepared {
            Ok(prepared) => prepared,
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.pace.wait("", HOOK).await {
            return busy;
        }
        match self.caller.call(post_json(self.hook.clone(), &body)).await {
            Ok(answer) => self.judge(&next, &answer),
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    /// A webhook that is there refuses a message without a text, and nobody sees anything.
    async fn probe(&self) -> Verdict {
        match self.caller.call(post_json(self.hook.clone(), &json!({}))).await {
            Ok(answer) => match self.refused(&answer) {
                Verdict::Permanent { fault: Fault::Payload | Fault::Target, .. } => {
                    Verdict::Delivered(Receipt::default())
                }
                other => other,
            },
            Err(verdict) => verdict,
        }
    }
}
