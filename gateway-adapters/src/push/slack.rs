//! Slack: `chat.postMessage` with the token of a bot, as text without markup; one token for each workspace.

mod errors;
mod files;
mod webhook;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::http::{HeaderValue, Request, Uri};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Fault, Receipt, Verdict},
};
use serde_json::{Value, json};

use super::{
    AT_LEAST_ONCE, Field, FieldKind, Platform, Settings,
    attach::carry,
    call::{Answer, Caller, authorized, bearer, post_json, set},
    escape, max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files, unfit},
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    http::{HttpClient, base::route},
};

use errors::{DOUBTFUL, LATER, fault_of};
use files::Files;
pub use webhook::PLATFORM as WEBHOOK;

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "slack",
    fields: &[
        Field {
            name: "token",
            kind: FieldKind::Secrets,
            variable: "SLACK_BOT_TOKEN",
            default: "",
            about: "The bot's token; for several workspaces one each, with commas between them.",
        },
        url("", DEFAULT_URL, "Where the Web API is."),
        max_length(DEFAULT_LENGTH),
    ],
    wanted_by: &["token"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

const DEFAULT_URL: &str = "https://slack.com/api";
/// What is advised; far longer texts are cut without a word. The unit is not documented: this one is never
/// the smaller count.
const LIMIT: usize = 4_000;
const DEFAULT_LENGTH: &str = "4000";
/// Several hundred messages a minute in a workspace.
const WORKSPACE: Cap = Cap::new(20, Duration::from_millis(200));
/// One message a second in a channel; short bursts are tolerated.
const CHAT: Cap = Cap::new(3, Duration::from_secs(1));
/// Channels whose workspace is remembered; it can be found again.
const HOMES: usize = 1_024;

/// The bots of all workspaces.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with `ok: true` | delivered |
/// | 429, `ratelimited`, a workspace that is moved or closed for now | busy |
/// | `fatal_error`, `internal_error` | unknown: it may have been posted |
/// | an error that [`fault_of`] knows | permanent |
/// | any other error | retryable |
///
/// A refusal of the channel or of the token says only that it is not this workspace's as long as others
/// are left: it had no effect, and the next one is asked.
struct Slack {
    name: ChannelName,
    post: Uri,
    test: Uri,
    files: Files,
    format: Format,
    caller: Caller,
    workspaces: Vec<Workspace>,
    homes: Mutex<HashMap<String, usize>>,
}

struct Workspace {
    authorization: HeaderValue,
    pace: Pace,
    /// The scope that the last message was refused for; empty for none.
    needed: Mutex<String>,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let tokens = settings.secrets(&name, "token")?;
    let base = settings.base_or(&name, DEFAULT_URL)?;
    let workspace = |token| {
        Ok(Workspace {
            authorization: bearer(&name, token)?,
            pace: Pace::new(WORKSPACE),
            needed: Mutex::default(),
        })
    };
    let workspaces = tokens.iter().map(workspace);
    Ok(Arc::new(Slack {
        post: route(name.as_str(), &base, "/chat.postMessage")?,
        test: route(name.as_str(), &base, "/auth.test")?,
        files: Files {
            place: route(name.as_str(), &base, "/files.getUploadURLExternal")?,
            complete: route(name.as_str(), &base, "/files.completeUploadExternal")?,
        },
        format: format(settings),
        workspaces: workspaces.collect::<Result<_, AdapterError>>()?,
        homes: Mutex::default(),
        caller: Caller::new(client, settings.origin(), tokens),
        name,
    }))
}

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    let is_fit = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let is_id = chat.len() > 1 && chat.starts_with(KINDS) && chat.bytes().all(is_fit);
    let is_name = chat.strip_prefix('#').is_some_and(|name| !name.trim().is_empty());
    if is_id || is_name {
        Ok(())
    } else {
        Err(
            "the chat is no id of a channel (C..., G...), a direct message (D...) or a person (U..., W...)",
        )
    }
}

/// The first letters of ids that can be written to.
const KINDS: [char; 5] = ['C', 'G', 'D', 'U', 'W'];

fn format(settings: &Settings) -> Format {
    Format::new(Unit::Utf16, settings.max_length(LIMIT), escape::slack, escape::slack)
}

/// What both ways to post have in common.
fn body(next: &Next<'_>) -> Result<Value, Verdict> {
    let mut body = json!({
        "text": next.text(),
        // Stars and underscores of a title are no markup; names in it call nobody.
        "mrkdwn": false,
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if !next.thread.is_empty() {
        check_thread(next.thread)?;
        set(&mut body, "thread_ts", next.thread);
    }
    Ok(body)
}

/// Refuses what is no timestamp of a message.
fn check_thread(thread: &str) -> Result<(), Verdict> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_time =
        thread.split_once('.').is_some_and(|(seconds, rest)| digits(seconds) && digits(rest));
    match thread.is_empty() || is_time {
        true => Ok(()),
        false => Err(unfit(Fault::Thread, "the thread is no timestamp of a message")),
    }
}

impl Slack {
    /// The workspaces in the order in which they are asked: the channel's own first, if it is known.
    fn order(&self, chat: &str) -> Vec<usize> {
        let homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let home = homes.get(chat).copied();
        let all = 0..self.workspaces.len();
        home.into_iter().chain(all.filter(|number| Some(*number) != home)).collect()
    }

    fn written(&self, spans: &[Span]) -> Part {
        Part { text: self.format.written(spans), rich: None }
    }

    fn found(&self, chat: &str, number: usize) {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if homes.len() >= HOMES {
            homes.clear();
        }
        homes.insert(chat.to_owned(), number);
    }

    fn request(&self, workspace: &Workspace, uri: &Uri, body: &Value) -> Request<Bytes> {
        authorized(post_json(uri.clone(), body), &workspace.authorization)
    }

    fn judge(&self, number: usize, next: &Next<'_>, answer: &Answer) -> Verdict {
        let is_ok = answer.json.pointer("/ok").and_then(Value::as_bool);
        if answer.status.is_success() && is_ok == Some(true) {
            let time = answer.text_at("/ts");
            return next.accepted((!time.is_empty()).then(|| time.to_owned()));
        }
        let error = answer.text_at("/error");
        let detail = || self.caller.detail(answer.status, error);
        let workspace = self.workspaces.get(number);
        if answer.status.as_u16() == 429 || LATER.contains(&error) {
            if let (Some(workspace), Some(wait)) = (workspace, answer.retry_after) {
                workspace.pace.hold(next.chat, wait, CHAT);
            }
            return Verdict::Busy { retry_after: answer.retry_after, detail: detail() };
        }
        if DOUBTFUL.contains(&error) {
            return Verdict::Unknown { detail: detail() };
        }
        match fault_of(error) {
            Some(Fault::Credential) => {
                let needed = answer.text_at("/needed");
                if let Some(workspace) = workspace {
                    needed.clone_into(
                        &mut workspace.needed.lock().unwrap_or_else(PoisonError::into_inner),
                    );
                }
                self.refused(number, answer, error, needed)
            }
            Some(fault) => self.caller.fault(fault, answer, error),
            None if answer.status.is_success() && is_ok == Some(false) => {
                Verdict::Retryable { retry_after: answer.retry_after, detail: detail() }
            }
            None => self.caller.refused(answer, error),
        }
    }

    /// A refused token: which one, where there are several, and what it lacks.
    fn refused(&self, number: usize, answer: &Answer, error: &str, needed: &str) -> Verdict {
        let mut words = error.to_owned();
        if !needed.is_empty() {
            words.push_str(&format!(", needed: {needed}"));
        }
        if self.workspaces.len() > 1 {
            let one = number.saturating_add(1);
            words.push_str(&format!(" (token {one} of {})", self.workspaces.len()));
        }
        self.caller.fault(Fault::Credential, answer, &words)
    }

    /// Tests one token. The test asks for no scope, so what a message lacked is looked for in its answer.
    async fn tested(&self, number: usize, workspace: &Workspace) -> Result<(), Verdict> {
        let answer = self.caller.call(self.request(workspace, &self.test, &json!({}))).await?;
        let error = answer.text_at("/error");
        if answer.json.pointer("/ok") != Some(&Value::Bool(true)) {
            return Err(match fault_of(error) {
                Some(Fault::Credential) => self.refused(number, &answer, error, ""),
                _ => self.caller.refused(&answer, error),
            });
        }
        let needed = workspace.needed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let scopes = answer.header("x-oauth-scopes");
        let lacks = !scopes.split(',').any(|scope| scope.trim() == needed);
        if !needed.is_empty() && !scopes.is_empty() && lacks {
            return Err(self.refused(number, &answer, "missing_scope", &needed));
        }
        Ok(())
    }
}

#[async_trait]
impl Channel for Slack {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let part = |_, spans: &[Span]| self.written(spans);
        pin_files(message, &self.format, Value::Null, part, files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "push.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let mut next = match next(parcel) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let now = next.clone();
        let write = |spans: &[Span]| self.written(spans);
        let upload = |files, caption| self.upload(&now, files, caption);
        if let Some(verdict) = carry(parcel, &mut next, write, upload).await {
            return verdict;
        }
        let mut body = match body(&next) {
            Ok(body) => body,
            Err(verdict) => return verdict,
        };
        set(&mut body, "channel", next.chat);
        set(&mut body, "parse", "none");
        let mut refused = None;
        for number in self.order(next.chat) {
            let Some(workspace) = self.workspaces.get(number) else { continue };
            if let Err(busy) = workspace.pace.wait(next.chat, CHAT).await {
                return busy;
            }
            let request = self.request(workspace, &self.post, &body);
            let verdict = match self.caller.call(request).await {
                Ok(answer) => self.judge(number, &next, &answer),
                Err(verdict) => return verdict,
            };
            match &verdict {
                Verdict::Permanent { fault: Fault::Target | Fault::Credential, .. } => {
                    refused = worse(refused, verdict);
                }
                Verdict::Delivered(_) | Verdict::Part { .. } => {
                    self.found(next.chat, number);
                    return verdict;
                }
                _ => return verdict,
            }
        }
        refused.unwrap_or_else(|| unfit(Fault::Target, "there is no workspace"))
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        for (number, workspace) in self.workspaces.iter().enumerate() {
            if let Err(verdict) = self.tested(number, workspace).await {
                return verdict;
            }
        }
        Verdict::Delivered(Receipt::default())
    }
}

/// Of two refusals the one that counts: a refused token may be the one whose channel it is.
fn worse(first: Option<Verdict>, second: Verdict) -> Option<Verdict> {
    let is_credential =
        |verdict: &Verdict| matches!(verdict, Verdict::Permanent { fault: Fault::Credential, .. });
    match first {
        Some(first) if is_credential(&first) || !is_credential(&second) => Some(first),
        _ => Some(second),
    }
}
