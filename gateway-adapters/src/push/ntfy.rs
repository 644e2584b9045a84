//! ntfy: a message to a topic, as the body of a request, so that its whole length counts as text.

mod files;

use std::{sync::Arc, time::Duration};

use ::http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use async_trait::async_trait;
use base64::Engine as _;
use bytes::Bytes;
use kanban_notify::{
    artifacts::Takes,
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::{
    AT_LEAST_ONCE, Field, FieldKind, MAX_LENGTH, Platform, Settings,
    attach::carry,
    call::{Answer, Caller, get, of_credential, sensitive},
    escape::markdown,
    max_length,
    pace::{Cap, Pace},
    pin::{Next, Part, next, pin_files},
    split::{Format, Unit, split},
};
use crate::{
    AdapterError,
    http::{
        HttpClient,
        base::{base, route},
        retry_after::LONGEST,
    },
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
        Field {
            name: "url",
            kind: FieldKind::Text,
            variable: "NTFY_SERVER_URL",
            default: DEFAULT_URL,
            about: "Where the server is.",
        },
        Field {
            name: "token",
            kind: FieldKind::Secret,
            variable: "NTFY_TOKEN",
            default: "",
            about: "An access token, or user:password.",
        },
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
    deduplicates: false,
    guarantee: AT_LEAST_ONCE,
    make,
};

const DEFAULT_URL: &str = "https://ntfy.sh";
/// In bytes; a longer message silently becomes a file.
const LIMIT: usize = 4_096;
const PARTS: usize = 10;
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
    name: ChannelName,
    origin: String,
    base: String,
    authorization: Option<HeaderValue>,
    is_markdown: bool,
    format: Format,
    caller: Caller,
    pace: Pace,
}

fn make(client: HttpClient, settings: &Settings) -> Result<Arc<dyn Channel>, AdapterError> {
    let name = PLATFORM.channel();
    let token = match settings.text("token") {
        Some(_) => Some(settings.secret(&name, "token")?),
        None => None,
    };
    let authorization = token.as_ref().map(|token| authorization(&name, token.expose_secret()));
    let is_markdown = settings.is_on("markdown");
    Ok(Arc::new(Ntfy {
        base: base(name.as_str(), settings.text("url").unwrap_or(DEFAULT_URL))?,
        authorization: authorization.transpose()?,
        is_markdown,
        format: Format {
            unit: Unit::Bytes,
            part: settings.count(MAX_LENGTH, LIMIT),
            parts: PARTS,
            ours: str::to_owned,
            quoted: if is_markdown { markdown } else { str::to_owned },
        },
        caller: Caller::new(client, token),
        pace: Pace::new(VISITOR),
        origin: settings.origin().to_owned(),
        name,
    }))
}

fn authorization(name: &ChannelName, token: &str) -> Result<HeaderValue, AdapterError> {
    let words = match token.contains(':') {
        true => format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(token)),
        false => format!("Bearer {token}"),
    };
    sensitive(name, &words)
}

impl Ntfy {
    fn address(&self, topic: &str) -> Result<Uri, Verdict> {
        let target =
            |reason| Verdict::Permanent { fault: Fault::Target, detail: Detail::new(reason) };
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !(1..=64).contains(&topic.len()) || !topic.bytes().all(is_fit) {
            return Err(target("a topic has 1 to 64 of a-z, A-Z, 0-9, _ and -"));
        }
        route(self.name.as_str(), &self.base, &format!("/{topic}"))
            .map_err(|_| target("the topic does not fit an address"))
    }

    fn request(&self, topic: &str, next: &Next) -> Result<Request<Bytes>, Verdict> {
        let uri = self.address(topic)?;
        let rich = next.part.rich.as_ref().and_then(Value::as_str);
        let text = rich.unwrap_or(&next.part.text);
        let mut request = Request::new(Bytes::from(format!("{}{text}", next.before)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if rich.is_some() {
            headers.insert(MARKDOWN, HeaderValue::from_static("yes"));
        }
        Ok(self.authorized(request))
    }

    fn authorized<B>(&self, mut request: Request<B>) -> Request<B> {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, value.clone());
        }
        request
    }

    fn judge(&self, next: &Next, answer: &Answer) -> Verdict {
        let id = answer.text_at("/id");
        if answer.status.is_success() && !id.is_empty() {
            return next.accepted(Some(id.to_owned()));
        }
        let words = answer.text_at("/error");
        let detail = || self.caller.detail(answer.status, words);
        let code = answer.json.pointer("/code").and_then(Value::as_u64).unwrap_or_default();
        let fault = |fault| self.caller.fault(fault, answer, words);
        match (answer.status.as_u16(), code) {
            (429, 42_908) => Verdict::Busy { retry_after: Some(LONGEST), detail: detail() },
            (401, _) | (429, 42_909) => of_credential(&self.origin, fault(Fault::Credential)),
            (403, _) | (400, 40_009 | 40_010) => fault(Fault::Target),
            (507, _) => Verdict::Retryable { retry_after: None, detail: detail() },
            _ => self.caller.refused(answer, words),
        }
    }
}

const MARKDOWN: HeaderName = HeaderName::from_static("markdown");

#[async_trait]
impl Channel for Ntfy {
    fn takes(&self) -> Takes {
        files::TAKES
    }

    fn encode(&self, _: &Destination, message: &Message) -> String {
        let parts = split(&message.spans, &self.format);
        let parts = parts.iter().map(|spans| {
            let rich = spans.iter().map(|span| match span {
                Span::Ours(text) => text.clone(),
                Span::Quoted(text) => markdown(text),
            });
            let rich = self.is_markdown.then(|| Value::from(rich.collect::<String>()));
            Part { text: spans.iter().map(Span::text).collect(), rich }
        });
        pin_files(parts.collect(), files::GROUPS.of(&message.files))
    }

    #[tracing::instrument(level = "debug", name = "ntfy.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Destination::Chat { chat: topic, .. } = &parcel.destination else {
            let detail = Detail::new("a session is no topic");
            return Verdict::Permanent { fault: Fault::Target, detail };
        };
        let mut next = match next(parcel) {
            Ok(next) => next,
            Err(verdict) => return verdict,
        };
        let now = next.clone();
        let upload = |files, caption| self.upload(topic, &now, files, caption);
        // What stands for files is never marked as Markdown.
        let written = |span: &Span| span.text().to_owned();
        if let Some(verdict) = carry(parcel, &mut next, written, upload).await {
            return verdict;
        }
        let request = match self.request(topic, &next) {
            Ok(request) => request,
            Err(verdict) => return verdict,
        };
        if let Err(busy) = self.pace.wait(topic, VISITOR).await {
            return busy;
        }
        match self.caller.call(request).await {
            Ok(answer) => self.judge(&next, &answer),
            Err(verdict) => verdict,
        }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        let path = if self.authorization.is_some() { "/v1/account" } else { "/v1/health" };
        let uri = match route(self.name.as_str(), &self.base, path) {
            Ok(uri) => uri,
            Err(error) => return Verdict::Unreachable { detail: Detail::new(&error.to_string()) },
        };
        match self.caller.call(self.authorized(get(uri))).await {
            Ok(answer) => match answer.status.as_u16() {
                // A server without accounts refuses nobody.
                200..=299 | 404 => Verdict::Delivered(Receipt::default()),
                401 | 403 => {
                    let words = answer.text_at("/error");
                    of_credential(
                        &self.origin,
                        self.caller.fault(Fault::Credential, &answer, words),
                    )
                }
                _ => self.caller.refused(&answer, answer.text_at("/error")),
            },
            Err(verdict) => verdict,
        }
    }
}
