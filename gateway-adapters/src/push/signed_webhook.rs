//! Signed webhooks: a `POST` of JSON as of Standard Webhooks, so that a receiver knows whose it is and which.

mod body;
mod sign;
mod target;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};

use self::{
    sign::Signer,
    target::{Target, Targets},
};
use super::{
    AT_LEAST_ONCE, DEDUPLICATES, Field, FieldKind, Platform, Settings, any_chat,
    call::{Answer, Caller, post_json},
    escape, max_length,
    pace::{Cap, Pace},
    pin::{Next, next, unfit},
    sign::since_epoch,
    split::{Format, Unit},
};
use crate::{
    AdapterError,
    http::{Guard, HttpClient},
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "signed_webhook",
    fields: &[
        secrets(
            "targets",
            "Where messages go, by the name that is a subscription's chat: name=URL between commas.\n\
                    What stands behind a # of a URL is the secret of that target alone.",
        ),
        secrets(
            "secret",
            "What requests are signed with: whsec_ and base64, or text of 24 characters and more.\n\
                    While it is changed: the new one, a comma, the old one.",
        ),
        Field {
            name: "any_url",
            kind: FieldKind::Switch,
            variable: "",
            default: "false",
            about: "Whether a subscription's chat may be a URL itself.",
        },
        Field {
            name: "allow_private",
            kind: FieldKind::Text,
            variable: "",
            default: "",
            about: "Hosts, addresses and networks (10.0.0.0/8) that may be reached although they are private.",
        },
        Field {
            name: DEDUPLICATES,
            kind: FieldKind::Switch,
            variable: "",
            default: "false",
            about: "Whether all receivers drop a webhook-id that they have seen, also after their restart.",
        },
        max_length("16384"),
    ],
    wanted_by: &["targets", "secret"],
    needs_all: true,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// A field for several secrets with commas between them, and blanks where they help to read.
const fn secrets(name: &'static str, about: &'static str) -> Field {
    Field { name, kind: FieldKind::Secrets, variable: "", default: "", about }
}

/// In bytes of JSON: with what is around it, a body stays below the 20 kB that receivers are to take.
const LIMIT: usize = 16_384;
/// Nothing is documented for receivers; a rest that one asks for is kept.
const ALL: Cap = Cap::new(100, Duration::from_millis(10));
const ONE: Cap = Cap::new(30, Duration::from_millis(50));

/// All receivers.
///
/// | answer | verdict |
/// |---|---|
/// | 2xx | delivered |
/// | 401, 403, 410 | permanent: target (one receiver's refusal says nothing of the others) |
/// | 409, 429, 503 | busy; nothing goes to the target meanwhile |
/// | 400, 413, 422 | permanent: payload |
/// | 3xx (not followed), other 4xx, 500 | retryable |
/// | 502, 504 | unknown |
/// | an address that is not allowed | permanent: target |
/// | nobody there | retryable: the other receivers go on |
struct SignedWebhook {
    name: ChannelName,
    targets: Targets,
    format: Format,
    caller: Caller,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let address = |reason| {
        AdapterError::Address { channel: name.to_string(), reason }.of_field("allow_private")
    };
    let allowed = settings.text("allow_private").unwrap_or_default();
    let guard = Guard::new(allowed, "signed_webhook.allow_private").map_err(address)?;
    let targets = Targets::new(&name, settings)?;
    Ok(Arc::new(SignedWebhook {
        format: Format::new(Unit::Bytes, settings.max_length(LIMIT), escape::json, escape::json),
        caller: Caller::new(client.guarded(guard), settings.origin(), targets.secrets(settings)),
        targets,
        pace: Pace::new(ALL),
        name,
    }))
}

/// Where the settings cannot be used, nobody can tell.
fn check_chat(settings: &Settings, chat: &str) -> Result<(), &'static str> {
    match Targets::new(&PLATFORM.channel(), settings) {
        Ok(targets) => targets.find(chat).map(drop),
        Err(_) => any_chat(settings, chat),
    }
}

impl SignedWebhook {
    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        if answer.status.is_success() {
            return next.accepted(None);
        }
        let words = answer.text.trim();
        match answer.status.as_u16() {
            401 | 403 | 410 => self.caller.fault(Fault::Target, answer, words),
            _ => {
                let verdict = self.caller.refused(answer, words);
                if let Verdict::Busy { retry_after: Some(wait), .. } = &verdict {
                    self.pace.hold(next.chat, *wait, ONE);
                }
                verdict
            }
        }
    }

    async fn sent(&self, parcel: &Parcel) -> Result<Verdict, Verdict> {
        let next = next(parcel)?;
        let found = self.targets.find(next.chat).map_err(|reason| unfit(Fault::Target, reason))?;
        self.pace.wait(next.chat, ONE).await?;
        self.post(&found, &next).await
    }

    async fn post(&self, target: &Target, next: &Next<'_>) -> Result<Verdict, Verdict> {
        let mut request = post_json(target.uri.clone(), &body::of(next));
        let text = String::from_utf8_lossy(request.body()).into_owned();
        let signed = target.signer.headers(&next.key, &text, since_epoch());
        let reason = "the key of this message cannot be sent in a header";
        request.headers_mut().extend(signed.ok_or_else(|| unfit(Fault::Payload, reason))?);
        *request.body_mut() = Bytes::from(text);
        match self.caller.call(request).await {
            Ok(answer) => Ok(self.judge(next, &answer)),
            // The channel is not the receiver: others may well be there.
            Err(Verdict::Unreachable { detail }) => {
                Err(Verdict::Retryable { retry_after: None, detail })
            }
            Err(verdict) => Err(verdict),
        }
    }
}

#[async_trait]
impl Channel for SignedWebhook {
    fn encode(&self, destination: &Destination, message: &Message) -> String {
        body::pinned(destination, message, &self.format)
    }

    #[tracing::instrument(level = "debug", name = "push.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        self.sent(parcel).await.unwrap_or_else(|verdict| verdict)
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    /// There is no credential that all receivers share, and every request is a message.
    async fn probe(&self) -> Verdict {
        let note = Detail::new("it cannot be asked without a message");
        Verdict::Delivered(Receipt { note, ..Receipt::default() })
    }
}
