//! Mattermost: a post by the API, with its thread and its key, or by an incoming webhook.

mod files;
mod way;

use std::{sync::Arc, time::Duration};

use ::http::Request;
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    message::Span,
    ports::Channel,
    verdict::{Fault, Verdict},
};

use super::{
    AT_LEAST_ONCE, Platform, Settings,
    attach::Groups,
    call::{Answer, Caller, Lost},
    escape::{BREAK, mattermost},
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{
        HttpClient,
        retry_after::{clamp, seconds},
    },
};
use way::Way;

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "mattermost",
    fields: &[
        url("MATTERMOST_URL", "", "Where the server is."),
        secret("token", "MATTERMOST_TOKEN", "The token of a bot, or of a user."),
        secret(
            "webhook",
            "",
            "An incoming webhook, by its address or by its key; it goes before a token. Chats are names of channels then.",
        ),
        max_length("16383"),
    ],
    wanted_by: &["token", "webhook"],
    needs_all: false,
    // For half a minute, and not across a restart.
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

/// In code points, the mark at the beginning among them.
const LIMIT: usize = 16_383;
/// Ten requests a second and a hundred at once are what a server allows that does not say otherwise.
const TOKEN: Cap = Cap::new(50, Duration::from_millis(100));
const CHANNEL: Cap = Cap::new(20, Duration::from_millis(100));

/// One bot, or one webhook.
///
/// | answer | verdict |
/// |---|---|
/// | 201 with an id; of a webhook: 200 `ok` | delivered |
/// | 429, with the seconds in `X-Ratelimit-Reset` | busy; nothing goes to the channel meanwhile |
/// | 500 `…deduplicate_create_post.pending` | busy: the same message is just being written |
/// | 401; an account that is gone; a webhook that is unknown, or switched off | permanent: credential |
/// | an id with `root_id` | permanent: thread |
/// | 403, 404 of a channel, 400 of one that is archived or read only | permanent: target |
/// | other 400, 413 | permanent: payload |
struct Mattermost {
    way: Way,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let (way, secrets) = Way::new(&name, settings)?;
    Ok(channel(Mattermost {
        way,
        line: Line {
            format: Format::new(
                Unit::Chars,
                settings.max_length(LIMIT).saturating_sub(1),
                mattermost,
                mattermost,
            ),
            caller: Caller::new(client, settings.origin(), secrets),
            pace: Pace::new(TOKEN),
            name,
        },
    }))
}

/// Only the API wants an id, and only its settings tell that it is used.
fn check_chat(settings: &Settings, chat: &str) -> Result<(), &'static str> {
    let by_api = settings.text("token").is_some() && settings.text("webhook").is_none();
    if by_api { way::check_id(chat) } else { way::check_name(chat) }
}

/// Time for the server to finish what it has begun.
const PENDING: Duration = Duration::from_secs(1);

fn is_of_account(status: u16, code: &str) -> bool {
    match code {
        "web.incoming_webhook.invalid.app_error" | "web.incoming_webhook.disabled.app_error" => {
            true
        }
        // The owner of the webhook; 400 is a user that it should write to.
        "web.incoming_webhook.user.app_error" => status == 403,
        "app.user.missing_account.const" => true,
        _ => false,
    }
}

/// What is said of a channel that cannot be written to.
const OF_CHANNEL: &[&str] = &[
    "app.channel.get.existing",
    "can_not_post",
    "channel_id",
    "incoming_webhook.channel",
    "incoming_webhook.user",
    "invalid_param",
    "read_only",
];

/// Messages are in the language of the user; ids are not.
fn words(answer: &Answer) -> String {
    format!("{} {}", answer.text_at("/id"), answer.text_at("/message"))
}

#[async_trait]
impl Post for Mattermost {
    fn line(&self) -> &Line {
        &self.line
    }

    fn part(&self, number: usize, spans: &[Span]) -> Part {
        let written: Vec<String> = spans.iter().map(|span| mattermost(span.text())).collect();
        // Nothing at the beginning of a part is a heading or a list.
        let text = format!("{BREAK}{}", written.concat());
        // What it is about stands out, if there is room for it.
        let rich = match (spans.first(), written.split_first()) {
            (Some(Span::Quoted(subject)), Some((first, others)))
                if number == 0 && !subject.is_empty() && subject.trim() == subject =>
            {
                let rich = format!("**{first}**{}", others.concat());
                (Unit::Chars.len(&rich) <= self.line.format.part).then(|| rich.into())
            }
            _ => None,
        };
        Part { text, rich }
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, CHANNEL)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        self.way.message(next, &next.rich().unwrap_or_else(|| next.text()), &[])
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        if let Some(id) = self.way.accepted(answer) {
            return next.accepted(id);
        }
        let caller = &self.line.caller;
        let words = words(answer);
        let busy = |retry_after| {
            let detail = caller.detail(answer.status, &words);
            Verdict::Busy { retry_after, detail }
        };
        let fault = |fault| caller.fault(fault, answer, &words);
        match (answer.status.as_u16(), answer.text_at("/id")) {
            // Its own header has the seconds that are left; the usual one is a proxy's.
            (429, _) => {
                let left = seconds(answer.header("x-ratelimit-reset")).map(clamp);
                busy(left.max(answer.retry_after))
            }
            (_, "api.post.deduplicate_create_post.pending") => busy(Some(PENDING)),
            (401, _) => fault(Fault::Credential),
            (status, code) if is_of_account(status, code) => fault(Fault::Credential),
            (_, code) if code.contains("root_id") => fault(Fault::Thread),
            (403, code) if !code.is_empty() => fault(Fault::Target),
            (400 | 404, code) if OF_CHANNEL.iter().any(|sign| code.contains(sign)) => {
                fault(Fault::Target)
            }
            _ => caller.refused(answer, &words),
        }
    }

    fn takes(&self) -> Takes {
        match self.way {
            Way::Api { .. } => files::TAKES,
            Way::Hook(_) => Takes::NOTHING,
        }
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
        self.send_files(next, files, caption).await
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(self.way.probe())
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        let words = words(answer);
        match self.way.is_known(answer) {
            true => Ok(()),
            false if is_of_account(answer.status.as_u16(), answer.text_at("/id")) => {
                Err(self.line.caller.fault(Fault::Credential, answer, &words))
            }
            false => Err(self.line.caller.refused(answer, &words)),
        }
    }
}
