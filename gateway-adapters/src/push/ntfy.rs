//! ntfy: a message to a topic, as the body of a request, so that its whole length counts as text.

mod files;

use std::{sync::Arc, time::Duration};

use ::http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use async_trait::async_trait;
use base64::Engine as _;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    ids::ChannelName,
    message::{Span, flat},
    ports::Channel,
    verdict::{Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::{
    AT_LEAST_ONCE, Field, FieldKind, Platform, Settings,
    attach::Groups,
    call::{Answer, Caller, Lost, authorized, bearer, get, sensitive},
    escape::markdown,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, unfit},
    post::{Line, Post, channel},
    secret,
    split::{Format, Unit},
    url,
};
use crate::{
    AdapterError,
    files::OpenFile,
    http::{HttpClient, base::route, retry_after::LONGEST},
};

/// The entry in the list.
pub const PLATFORM: Platform = Platform {
    name: "ntfy",
    fields: &[
        Field {
            name: "topic",
            kind: FieldKind::Text,
            variable: "NTFY_TOPIC",
            default: "",
            about: "Any topic: set it to use ntfy.sh without a token. Messages go to the topic that is a subscription's chat.",
        },
        url("NTFY_SERVER_URL", DEFAULT_URL, "Where the server is."),
        secret("token", "NTFY_TOKEN", "An access token, or user:password."),
        Field {
            name: "markdown",
            kind: FieldKind::Switch,
            variable: "NTFY_MARKDOWN",
            default: "false",
            about: "Whether messages are marked as Markdown; what comes from tasks is escaped then.",
        },
        max_length("4096"),
    ],
    wanted_by: &["topic", "token", "url"],
    needs_all: false,
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    check_chat,
    make,
};

const DEFAULT_URL: &str = "https://ntfy.sh";
/// In bytes; a longer message silently becomes a file.
const LIMIT: usize = 4_096;
/// A visitor has sixty requests, and one more every five seconds.
const VISITOR: Cap = Cap::new(60, Duration::from_secs(5));

/// One server.
///
/// | answer | verdict |
/// |---|---|
/// | 200 with an id | delivered |
/// | 429: 42908 (the day's messages) | busy, for an hour |
/// | 429: 42909 (refused logins) | permanent: credential |
/// | other 429 | busy |
/// | 401 | permanent: credential |
/// | 403 (the topic), 40009, 40010 | permanent: target |
/// | other 400, 413 | permanent: payload |
/// | 507 | retryable |
struct Ntfy {
    base: String,
    probe: Uri,
    authorization: Option<HeaderValue>,
    is_markdown: bool,
    line: Line,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = settings.text("token").map(|_| settings.secret(&name, "token")).transpose()?;
    let authorization = token.as_ref().map(|token| authorization(&name, token)).transpose()?;
    let is_markdown = settings.is_on("markdown");
    let base = settings.base_or(&name, DEFAULT_URL)?;
    let probe = if token.is_some() { "/v1/account" } else { "/v1/health" };
    Ok(channel(Ntfy {
        probe: route(name.as_str(), &base, probe)?,
        base,
        authorization,
        is_markdown,
        line: Line {
            format: Format::new(
                Unit::Bytes,
                settings.max_length(LIMIT),
                str::to_owned,
                if is_markdown { markdown } else { str::to_owned },
            ),
            caller: Caller::new(client, &settings.origin_or(&PLATFORM, "token"), token),
            pace: Pace::new(VISITOR),
            name,
        },
    }))
}

fn check_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    check_topic(chat)
}

fn check_topic(topic: &str) -> Result<(), &'static str> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&topic.len()) && topic.bytes().all(is_fit) {
        Ok(())
    } else {
        Err("the chat is no topic: a topic has 1 to 64 of a-z, A-Z, 0-9, _ and -")
    }
}

fn authorization(name: &ChannelName, token: &SecretString) -> Result<HeaderValue, AdapterError> {
    let words = token.expose_secret();
    if !words.contains(':') {
        return bearer(name, token);
    }
    let words = base64::engine::general_purpose::STANDARD.encode(words);
    sensitive(name, &format!("Basic {words}"))
}

impl Ntfy {
    fn address(&self, topic: &str) -> Result<Uri, Verdict> {
        check_topic(topic).map_err(|reason| unfit(Fault::Target, reason))?;
        route(self.line.name.as_str(), &self.base, &format!("/{topic}"))
            .map_err(|_| unfit(Fault::Target, "the topic does not fit an address"))
    }

    fn authorized<B>(&self, request: Request<B>) -> Request<B> {
        match &self.authorization {
            Some(value) => authorized(request, value),
            None => request,
        }
    }
}

const MARKDOWN: HeaderName = HeaderName::from_static("markdown");

#[async_trait]
impl Post for Ntfy {
    fn line(&self) -> &Line {
        &self.line
    }

    fn part(&self, _: usize, spans: &[Span]) -> Part {
        let rich = self.is_markdown.then(|| self.line.format.written(spans).into());
        Part { text: flat(spans), rich }
    }

    fn cap<'a>(&self, next: &Next<'a>) -> (&'a str, Cap) {
        (next.chat, VISITOR)
    }

    fn request(&self, next: &Next<'_>) -> Result<Request<Bytes>, Verdict> {
        let uri = self.address(next.chat)?;
        let rich = next.rich();
        let is_rich = rich.is_some();
        let text = rich.unwrap_or_else(|| next.text());
        let mut request = Request::new(Bytes::from(text));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if is_rich {
            headers.insert(MARKDOWN, HeaderValue::from_static("yes"));
        }
        Ok(self.authorized(request))
    }

    fn judge(&self, next: &Next<'_>, answer: &Answer) -> Verdict {
        let id = answer.text_at("/id");
        if answer.status.is_success() && !id.is_empty() {
            return next.accepted(Some(id.to_owned()));
        }
        let caller = &self.line.caller;
        let words = answer.text_at("/error");
        let detail = || caller.detail(answer.status, words);
        let code = answer.json.pointer("/code").and_then(Value::as_u64).unwrap_or_default();
        let fault = |fault| caller.fault(fault, answer, words);
        let verdict = match (answer.status.as_u16(), code) {
            (429, 42_908) => Verdict::Busy { retry_after: Some(LONGEST), detail: detail() },
            (401, _) | (429, 42_909) => fault(Fault::Credential),
            (403, _) | (400, 40_009 | 40_010) => fault(Fault::Target),
            (507, _) => Verdict::Retryable { retry_after: None, detail: detail() },
            _ => caller.refused(answer, words),
        };
        // What is used up is used up for the visitor, whatever the topic.
        if let Verdict::Busy { retry_after: Some(wait), .. } = &verdict {
            self.line.pace.hold_all(*wait);
        }
        verdict
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
        self.send_files(next, files, caption).await
    }

    fn has_threads(&self) -> bool {
        false
    }

    fn probe(&self) -> Result<Request<Bytes>, Verdict> {
        Ok(self.authorized(get(self.probe.clone())))
    }

    fn probed(&self, answer: &Answer) -> Result<(), Verdict> {
        let words = answer.text_at("/error");
        match answer.status.as_u16() {
            // A server without accounts refuses nobody.
            200..=299 | 404 => Ok(()),
            // Nothing was shown that could be refused: somebody before the server keeps us out.
            403 if self.authorization.is_none() => {
                Err(self.line.caller.fault(Fault::Target, answer, words))
            }
            401 | 403 => Err(self.line.caller.fault(Fault::Credential, answer, words)),
            _ => Err(self.line.caller.refused(answer, words)),
        }
    }
}
