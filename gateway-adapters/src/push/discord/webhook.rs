//! Discord without a bot: a webhook, whose address is the credential and decides the channel.

use std::sync::{Arc, OnceLock};

use ::http::Uri;
use async_trait::async_trait;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    CHAT, DEFAULT_LENGTH, TOKEN, agent,
    answers::{Answers, code},
    body, check_thread, encode, files, format, post, said, written,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{HttpClient, base::hook},
    push::{
        AT_LEAST_ONCE, Field, FieldKind, Platform, Settings,
        attach::carry,
        call::{Answer, Caller, Lost, get},
        max_length,
        pace::Pace,
        pin::{Next, next},
        split::Format,
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "discord_webhook",
    fields: &[
        Field {
            name: "url",
            kind: FieldKind::Secret,
            variable: "DISCORD_WEBHOOK_URL",
            default: "",
            about: "The whole address of a webhook. It decides the channel; a subscription's chat is a name of your own.",
        },
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["url"],
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    make,
};

/// One webhook. Its answers mean what they mean to a bot, but what says that it is gone ends it: it must
/// not be asked again.
struct Webhook {
    name: ChannelName,
    hook: Uri,
    format: Format,
    answers: Answers,
    gone: OnceLock<Detail>,
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
        answers: Answers {
            caller: Caller::new(client, secrets),
            pace: Pace::new(TOKEN),
            origin: settings.origin().to_owned(),
        },
        hook,
        format: format(settings),
        gone: OnceLock::new(),
        name,
    }))
}

impl Webhook {
    /// The address for a message. Without `wait`, one that is not kept would be no error.
    fn address(&self, thread: &str) -> Result<Uri, Verdict> {
        let own = self.hook.query().unwrap_or_default().split('&');
        let own = own.filter(|pair| !pair.is_empty() && !pair.starts_with("wait="));
        let own = own.filter(|pair| thread.is_empty() || !pair.starts_with("thread_id="));
        let mut query = String::from("wait=true");
        for pair in own {
            query.push('&');
            query.push_str(pair);
        }
        if !thread.is_empty() {
            query.push_str("&thread_id=");
            query.push_str(thread);
        }
        self.at(&format!("{}?{query}", self.hook.path()))
    }

    /// Sends the files of a part.
    async fn upload(
        &self,
        thread: &str,
        next: &Next,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        let request = files::post(self.address(thread)?, said(&caption), files);
        self.answers.pace.wait("", CHAT).await?;
        let answer = self.answers.caller.upload(request).await?;
        let verdict = self.answers.judge("", !thread.is_empty(), next, &answer);
        Ok(self.remember(&answer, verdict))
    }

    fn at(&self, path: &str) -> Result<Uri, Verdict> {
        let mut parts = self.hook.clone().into_parts();
        let unfit = || Verdict::Unreachable { detail: Detail::new("the address does not fit") };
        parts.path_and_query = Some(path.parse().map_err(|_| unfit())?);
        Uri::from_parts(parts).map_err(|_| unfit())
    }

    /// The verdict of a webhook that is gone.
    fn ended(&self) -> Option<Verdict> {
        let detail = self.gone.get()?.clone();
        Some(Verdict::Permanent { fault: Fault::Credential, detail })
    }

    fn remember(&self, answer: &Answer, verdict: Verdict) -> Verdict {
        let is_gone = answer.status.as_u16() == 404 || GONE.contains(&code(answer));
        match verdict {
            Verdict::Permanent { fault: Fault::Thread, .. } => verdict,
            Verdict::Permanent { detail, .. } | Verdict::Retryable { detail, .. } if is_gone => {
                let detail = format!("{}; it is not asked again", detail.as_str());
                let detail = self.gone.get_or_init(|| Detail::new(&detail)).clone();
                Verdict::Permanent { fault: Fault::Credential, detail }
            }
            other => other,
        }
    }
}

/// The webhook is not there, or its token is wrong.
const GONE: &[u64] = &[10_015, 50_027];

#[async_trait]
impl Channel for Webhook {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        encode(message, &self.format)
    }

    #[tracing::instrument(level = "debug", name = "discord_webhook.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no channel");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let mut next = match check_thread(thread).and_then(|()| next(parcel)) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        if let Some(ended) = self.ended() {
            return ended;
        }
        let now = next.clone();
        let upload = |files, caption| self.upload(thread, &now, files, caption);
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let request = match self.address(thread) {
            Ok(uri) => post(uri, &body(&next)),
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.answers.pace.wait("", CHAT).await {
            return busy;
        }
        match self.answers.caller.call(request).await {
            Ok(answer) => {
                let verdict = self.answers.judge("", !thread.is_empty(), &next, &answer);
                self.remember(&answer, verdict)
            }
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        if let Some(ended) = self.ended() {
            return ended;
        }
        let uri = match self.at(self.hook.path()) {
            Ok(uri) => uri,
            Err(verdict) => return verdict,
        };
        match self.answers.caller.call(agent(get(uri))).await {
            Ok(answer) if answer.text_at("/id").is_empty() => {
                let verdict = self.answers.refused(false, &answer);
                self.remember(&answer, verdict)
            }
            Ok(_) => Verdict::Delivered(Receipt::default()),
            Err(verdict) => verdict,
        }
    }
}
