//! Mattermost: a post by the API, with its thread and its key, or by an incoming webhook.

mod files;
mod way;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};

use super::{
    AT_LEAST_ONCE, Field, FieldKind, MAX_LENGTH, Platform, Settings,
    attach::carry,
    call::{Answer, Caller, named},
    escape::{BREAK, mattermost},
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files},
    split::{Format, Unit, split},
};
use crate::{AdapterError, http::HttpClient};
use way::Way;

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "mattermost",
    fields: &[
        Field {
            name: "url",
            kind: FieldKind::Text,
            variable: "MATTERMOST_URL",
            default: "",
            about: "Where the server is.",
        },
        Field {
            name: "token",
            kind: FieldKind::Secret,
            variable: "MATTERMOST_TOKEN",
            default: "",
            about: "The token of a bot, or of a user.",
        },
        Field {
            name: "webhook",
            kind: FieldKind::Secret,
            variable: "",
            default: "",
            about: "An incoming webhook, by its address or by its key; it goes before a token. Chats are names of channels then.",
        },
        max_length("16380"),
    ],
    wanted_by: &["token", "webhook"],
    // For half a minute, and not across a restart.
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    make,
};

/// In code points: 16,383, without the mark at the beginning.
const LIMIT: usize = 16_380;
const PARTS: usize = 10;
/// Ten requests a second and a hundred at once are what a server allows that does not say otherwise.
const TOKEN: Cap = Cap::new(50, Duration::from_millis(100));
const CHANNEL: Cap = Cap::new(20, Duration::from_millis(100));

/// One bot, or one webhook.
///
/// | answer | verdict |
/// |---|---|
/// | 201 with an id; of a webhook: 200 `ok` | delivered |
/// | 429 | busy; nothing goes to the channel meanwhile |
/// | 500 `…deduplicate_create_post.pending` | busy: the same message is just being written |
/// | 401; an account that is gone; a webhook that is unknown, or switched off | permanent: credential |
/// | an id with `root_id` | permanent: thread |
/// | 403, 404 of a channel, 400 of one that is archived or read only | permanent: target |
/// | other 400, 413 | permanent: payload |
struct Mattermost {
    name: ChannelName,
    origin: String,
    way: Way,
    format: Format,
    caller: Caller,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let (way, secrets) = Way::new(&name, settings)?;
    Ok(Arc::new(Mattermost {
        way,
        format: Format {
            unit: Unit::Chars,
            part: settings.count(MAX_LENGTH, LIMIT),
            parts: PARTS,
            ours: mattermost,
            quoted: mattermost,
        },
        caller: Caller::new(client, secrets),
        pace: Pace::new(TOKEN),
        origin: settings.origin().to_owned(),
        name,
    }))
}

impl Mattermost {
    fn judge(&self, channel: &str, next: &Next, answer: &Answer) -> Verdict {
        if let Some(id) = self.way.accepted(answer) {
            return next.accepted(id);
        }
        // Messages are in the language of the user; ids are not.
        let code = answer.text_at("/id");
        let words = format!("{code} {}", answer.text_at("/message"));
        let detail = || self.caller.detail(answer.status, &words);
        let fault = |fault| self.caller.fault(fault, answer, &words);
        match (answer.status.as_u16(), code) {
            (429, _) => {
                if let Some(wait) = answer.retry_after {
                    self.pace.hold(channel, wait, CHANNEL);
                }
                Verdict::Busy { retry_after: answer.retry_after, detail: detail() }
            }
            (_, "api.post.deduplicate_create_post.pending") => {
                Verdict::Busy { retry_after: Some(PENDING), detail: detail() }
            }
            (401, _) => self.named(fault(Fault::Credential)),
            (status, code) if is_of_account(status, code) => self.named(fault(Fault::Credential)),
            (_, code) if code.contains("root_id") => fault(Fault::Thread),
            (403, code) if !code.is_empty() => fault(Fault::Target),
            (400 | 404, code) if OF_CHANNEL.iter().any(|sign| code.contains(sign)) => {
                fault(Fault::Target)
            }
            _ => self.named(self.caller.refused(answer, &words)),
        }
    }

    fn named(&self, verdict: Verdict) -> Verdict {
        named(verdict, &self.origin)
    }
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

#[async_trait]
impl Channel for Mattermost {
    fn takes(&self) -> Takes {
        match self.way {
            Way::Api { .. } => files::TAKES,
            Way::Hook(_) => Takes::NOTHING,
        }
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let parts = split(&message.spans, &self.format);
        let parts = parts.iter().enumerate().map(|(number, spans)| {
            let written: Vec<String> = spans.iter().map(|span| mattermost(span.text())).collect();
            // Nothing at the beginning of a part is a heading or a list.
            let text = format!("{BREAK}{}", written.concat());
            // What it is about stands out, if there is room for it.
            let rich = match (spans.first(), written.split_first()) {
                (Some(Span::Quoted(subject)), Some((first, others)))
                    if number == 0 && !subject.is_empty() && subject.trim() == subject =>
                {
                    let rich = format!("**{first}**{}", others.concat());
                    (Unit::Chars.len(&rich) <= self.format.part).then(|| rich.into())
                }
                _ => None,
            };
            Part { text, rich }
        });
        pin_files(parts.collect(), files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "mattermost.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { chat, thread, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no channel");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let mut next = match next(parcel) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let (now, at) = (next.clone(), (chat.as_str(), thread.as_str()));
        let upload = |files, caption| self.upload(at, parcel, &now, (files, caption));
        let written = |span: &Span| mattermost(span.text());
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let rich = next.part.rich.as_ref().and_then(serde_json::Value::as_str);
        // Nothing at the beginning is a heading or a list, also of what stands for files.
        let begin = (!now.files.is_empty()).then_some(BREAK);
        let mut text = String::from_iter(begin);
        text.push_str(next.before);
        text.push_str(rich.unwrap_or(&next.part.text));
        let request = match self.way.message(at, &parcel.part_key(), &text, &[]) {
            Ok(request) => request,
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.pace.wait(chat, CHANNEL).await {
            return busy;
        }
        match self.caller.call(request).await {
            Ok(answer) => self.judge(chat, &next, &answer),
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        match self.caller.call(self.way.probe()).await {
            Ok(answer) if self.way.is_known(&answer) => Verdict::Delivered(Receipt::default()),
            Ok(answer) => {
                let code = answer.text_at("/id");
                let words = format!("{code} {}", answer.text_at("/message"));
                if is_of_account(answer.status.as_u16(), code) {
                    return self.named(self.caller.fault(Fault::Credential, &answer, &words));
                }
                self.named(self.caller.refused(&answer, &words))
            }
            Err(verdict) => verdict,
        }
    }
}
