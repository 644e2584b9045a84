//! One request to a platform: its answer read to the end, with everything secret taken out of its words.

use std::{
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use ::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Detail, Fault, Verdict},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::Settings;
use crate::{
    AdapterError,
    files::stream::FileBody,
    http::{BodyEnd, HttpClient, Limits, NoAnswer, Redactor, Response, base, refusal, retry_after},
};

/// The longest one exchange takes; after it the outcome is unknown.
const TOTAL: Duration = Duration::from_secs(30);
/// An upload may take longer: so many bytes a second are awaited.
const SLOWEST: u64 = 256 << 10;
/// So much of an answer is read, and so much of it kept: platforms repeat the message in it, some with six
/// letters for one.
const ANSWER: usize = 1 << 20;
const KEEP: usize = 256 << 10;

/// The way to one platform.
#[derive(Clone, Debug)]
pub struct Caller {
    client: HttpClient,
    origin: String,
    redactor: Redactor,
    limits: Limits,
}

impl Caller {
    /// A way on which none of these secrets is ever told. `origin` says where they come from, for whoever
    /// reads that they are refused; empty where nobody said.
    pub fn new(
        client: HttpClient,
        origin: &str,
        secrets: impl IntoIterator<Item = SecretString>,
    ) -> Self {
        let limits = Limits { total: TOTAL, body: ANSWER };
        Self { client, origin: origin.to_owned(), redactor: Redactor::new(secrets), limits }
    }

    /// Sends a request once.
    ///
    /// # Errors
    ///
    /// The verdict, where there is no answer: unreachable or unknown.
    pub async fn call(&self, request: Request<Bytes>) -> Result<Answer, Verdict> {
        let response =
            self.client.fetch(request, self.limits, KEEP).await.map_err(Verdict::from)?;
        Ok(answer(response))
    }

    /// Sends a request once whose body is read from files while it leaves.
    ///
    /// # Errors
    ///
    /// [`Lost::Changed`] where a file is not what it was: then nothing was accepted. Otherwise the verdict;
    /// what broke off before its end had no effect.
    pub async fn upload(&self, request: Request<FileBody>) -> Result<Answer, Lost> {
        let (length, progress) = (request.body().length(), request.body().progress());
        let slowest = Duration::from_secs(length.checked_div(SLOWEST).unwrap_or_default());
        let limits = Limits { total: TOTAL.saturating_add(slowest), ..self.limits };
        let request = request.map(|body| body.map_err(Into::into).boxed());
        match self.client.upload(request, limits, KEEP).await {
            Ok(response) => Ok(answer(response)),
            Err(_) if progress.is_changed() => Err(Lost::Changed),
            Err(NoAnswer::MaybeSent(detail)) if !progress.is_whole() => {
                let detail = format!("the upload broke off: {}", detail.as_str());
                let detail = Detail::new(&detail);
                Err(Lost::Verdict(Verdict::Retryable { retry_after: None, detail }))
            }
            Err(no_answer) => Err(Lost::Verdict(no_answer.into())),
        }
    }

    /// Words of an answer that may be told.
    pub fn detail(&self, status: StatusCode, words: &str) -> Detail {
        self.redactor.detail(&format!("{}: {words}", status.as_u16()))
    }

    /// The verdict of an answer that its platform's own table says nothing about; 2xx without a whole
    /// answer that says so is in doubt (law D7).
    pub fn refused(&self, answer: &Answer, words: &str) -> Verdict {
        let detail = match &answer.end {
            BodyEnd::Whole => self.detail(answer.status, words),
            end => self.detail(answer.status, end.words()),
        };
        let verdict = refusal(answer.status, answer.retry_after, detail.clone());
        named(&self.origin, verdict.unwrap_or(Verdict::Unknown { detail }))
    }

    /// A permanent verdict.
    pub fn fault(&self, fault: Fault, answer: &Answer, words: &str) -> Verdict {
        let detail = self.detail(answer.status, words);
        named(&self.origin, Verdict::Permanent { fault, detail })
    }
}

fn answer(response: Response) -> Answer {
    Answer {
        status: response.status,
        retry_after: retry_after(&response.headers, SystemTime::now()),
        json: serde_json::from_slice(&response.body).unwrap_or_default(),
        text: String::from_utf8_lossy(&response.body).into_owned(),
        end: response.end,
        headers: response.headers,
    }
}

/// Why an upload has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A file is not what it was, or gone.
    Changed,
    /// The request failed.
    Verdict(Verdict),
}

impl Lost {
    /// The verdict, where there is one.
    ///
    /// # Errors
    ///
    /// [`Lost::Changed`].
    pub fn verdict(self) -> Result<Verdict, Self> {
        match self {
            Self::Verdict(verdict) => Ok(verdict),
            Self::Changed => Err(self),
        }
    }
}

impl From<Verdict> for Lost {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// `Retry-After`, clamped.
    pub retry_after: Option<Duration>,
    /// The body as JSON; null where it is none.
    pub json: Value,
    /// The beginning of the body.
    pub text: String,
    /// How the body ended.
    pub end: BodyEnd,
    /// Its headers.
    pub headers: HeaderMap,
}

impl Answer {
    /// A text of the body's JSON, by its JSON pointer.
    pub fn text_at(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole number of the body's JSON, by its JSON pointer, also where it stands as a text.
    pub fn number_at(&self, pointer: &str) -> Option<i64> {
        let value = self.json.pointer(pointer)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    /// A header as text; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// A verdict that says of a refused credential where it comes from, if somebody said.
pub fn named(origin: &str, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Permanent { fault: Fault::Credential, detail } if !origin.is_empty() => {
            let detail = Detail::new(&format!("the credential of {origin}: {}", detail.as_str()));
            Verdict::Permanent { fault: Fault::Credential, detail }
        }
        other => other,
    }
}

/// Whether a credential was refused for good: it must not be tried again.
#[derive(Debug, Default)]
pub struct Spent(OnceLock<Detail>);

impl Spent {
    /// Refuses what would be sent with it.
    ///
    /// # Errors
    ///
    /// The verdict that it was refused with.
    pub fn check(&self) -> Result<(), Verdict> {
        match self.0.get() {
            Some(detail) => {
                Err(Verdict::Permanent { fault: Fault::Credential, detail: detail.clone() })
            }
            None => Ok(()),
        }
    }

    /// Remembers the verdict that it was refused with.
    pub fn spend(&self, verdict: Verdict) -> Verdict {
        let detail = || format!("{}; it is not asked again", verdict.detail());
        let detail = self.0.get_or_init(|| Detail::new(&detail())).clone();
        Verdict::Permanent { fault: Fault::Credential, detail }
    }
}

/// A header's value that is shown nowhere.
///
/// # Errors
///
/// [`AdapterError::Key`] where it cannot be sent in a header.
pub fn sensitive(channel: &ChannelName, words: &str) -> Result<HeaderValue, AdapterError> {
    let mut value = HeaderValue::from_str(words).map_err(|_| AdapterError::Key {
        channel: channel.to_string(),
        reason: "it cannot be sent in a header",
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The `Authorization` with a token.
///
/// # Errors
///
/// As [`sensitive`].
pub fn bearer(channel: &ChannelName, token: &SecretString) -> Result<HeaderValue, AdapterError> {
    sensitive(channel, &format!("Bearer {}", token.expose_secret()))
}

/// A request with its `Authorization`.
pub fn authorized<B>(mut request: Request<B>, value: &HeaderValue) -> Request<B> {
    request.headers_mut().insert(header::AUTHORIZATION, value.clone());
    request
}

/// The hook that `url` is set to, and all of it that must never be told.
///
/// # Errors
///
/// [`AdapterError`], where it is not set or no address.
pub fn hook(
    channel: &ChannelName,
    settings: &Settings,
) -> Result<(Uri, Vec<SecretString>), AdapterError> {
    hook_at(channel, settings.secret(channel, "url")?)
}

/// The hook with this address, and all of it that must never be told: an answer may repeat its path, the
/// end of it, or a value of its query.
///
/// # Errors
///
/// [`AdapterError`], where it is no address.
pub fn hook_at(
    channel: &ChannelName,
    address: SecretString,
) -> Result<(Uri, Vec<SecretString>), AdapterError> {
    let hook = base::hook(channel.as_str(), address.expose_secret())?;
    let values = hook.query().unwrap_or_default().split('&');
    let values = values.filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
    // An answer may repeat one without its escapes. Shorter ones are no secrets, and words of other texts.
    let values = values.flat_map(|value| [value.to_owned(), base::unescaped(value)]);
    let values = values.filter(|value| value.len() >= SHORTEST);
    // An end that is a plain word is no secret either.
    let is_word = |end: &&str| end.bytes().all(|byte| byte.is_ascii_lowercase());
    let end = hook.path().rsplit('/').next().filter(|end| !is_word(end));
    let secrets = [hook.path()].into_iter().chain(end).map(str::to_owned).chain(values);
    let secrets = secrets.map(SecretString::from).chain([address]).collect();
    Ok((hook, secrets))
}

/// The shortest value of a query that is a secret.
const SHORTEST: usize = 16;

/// A `POST` of JSON.
pub fn post_json(uri: Uri, body: &Value) -> Request<Bytes> {
    let mut request = Request::new(Bytes::from(body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request
}

/// A `POST` of a form.
pub fn post_form(uri: Uri, fields: &[(&str, &str)]) -> Request<Bytes> {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", base::segment(value)));
    let mut request = Request::new(Bytes::from(pairs.collect::<Vec<_>>().join("&")));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert(header::CONTENT_TYPE, form);
    request
}

/// A `GET`.
pub fn get(uri: Uri) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    request
}

/// Sets a field of a JSON object.
pub fn set(body: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(key.to_owned(), value.into());
    }
}
