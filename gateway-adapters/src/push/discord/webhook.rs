//! Discord without a bot: a webhook, whose address is the credential and decides the channel.

use std::sync::Arc;

use ::http::{Request, Uri};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    ports::Channel,
    verdict::{Detail, Fault, Verdict},
};

use super::{
    CHAT, DEFAULT_LENGTH, TOKEN, agent,
    answers::{code, judge, refused},
    body, check_thread, files, format, post,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::HttpClient,
    push::{
        AT_LEAST_ONCE, Platform, Settings, any_chat,
        attach::Groups,
        call::{Answer, Caller, Lost, Spent, get, hook},
        max_length,
        pace::{Cap, Pace},
        pin::Next,
        post::{Line, Post, channel},
        secret,
    },
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "discord_webhook",
    fields: &[
        secret(
            "url",
            "DISCORD_WEBHOOK_URL",
            "The whole address of a webhook. It decides the channel; a subscription's chat is a name of your own.",
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

/// One webhook. Its answers mean what they mean to a bot, but what says that it is gone ends it: it must
/// not be asked again.
struct Webhook {
    hook: Uri,
    gone: Spent,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let (hook, secrets) = hook(&name, settings)?;
    Ok(channel(Webhook {
        hook,
        gone: Spent::default(),
        line: Line {
            format: format(settings),
            caller: Caller::new(client, settings.origin(), secrets),
            pace: Pace::new(TOKEN),
            name,
        },
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

    fn at(&self, path: &str) -> Result<Uri, Verdict> {
        let mut parts = self.hook.clone().into_parts();
        let unfit = || Verdict::Unreachable { detail: Detail::new("the address does not fit") };
        parts.path_and_query = Some(path.parse().map_err(|_| unfit())?);
        Uri::from_parts(parts).map_err(|_| unfit())
    }

    fn remember(&self, answer: &Answer, verdict: Verdict) -> Verdict {
        let is_gone = answer.status.as_u16() == 404 || GONE.contains(&code(answer));
        match verdict {
            Verdict::Permanent { fault: Fault::Thread, .. } => verdict,
            Verdict::Permanent { .. } | Verdict::Retryable { .. } if is_gone => {
                self.gone.spend(verdict)
            }
            other => other,
        }
    }
}

/// The webhook is not there, or its token is wrong.
const GONE: &[u64] = &[10_015, 50_027];

#[async_trait]
impl Post for Webhook {
    fn line(&self) -> &Line {
        &self.line
    }

    fn cap<'a>(&self, _: &Next<'a>) -> (&'a str, Cap) {
        ("", CHAT)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        check_thread(next.thread)?;
        let request = post(self.address(next.thread)?, &body(&next.text()));
        self.gone.check()?;
        Ok(request)
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        self.remember(answer, judge(&self.line, "", next, answer))
    }

    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn groups(&self) -> Groups {
        files::GROUPS
    }

    async fn upload(
        &self,
        next: &Next<'_>,
        files: Vec<OpenFile>,
        caption: String,
    ) -> Result<Verdict, Lost> {
        check_thread(next.thread)?;
        self.gone.check()?;
        let request = files::post(self.address(next.thread)?, body(&caption), files);
        let answer = self.line.caller.upload(request).await?;
        Ok(self.judge(next, &answer))
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        self.gone.check()?;
        Ok(agent(get(self.at(self.hook.path())?)))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        match answer.text_at("/id") {
            "" => Err(self.remember(answer, refused(&self.line.caller, false, answer))),
            _ => Ok(()),
        }
    }
}
