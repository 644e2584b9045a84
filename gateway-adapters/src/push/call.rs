//! One request to a platform: its answer read to the end, with everything secret taken out of its words.

use std::time::{Duration, SystemTime};

use ::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Detail, Fault, Verdict},
};
use secrecy::SecretString;
use serde_json::Value;

use crate::{
    AdapterError,
    files::stream::FileBody,
    http::{BodyEnd, HttpClient, Limits, NoAnswer, Redactor, Response, refusal, retry_after},
};

/// The longest one exchange takes; after it the outcome is unknown.
const TOTAL: Duration = Duration::from_secs(30);
/// An upload may take longer: so many bytes a second are awaited.
const SLOWEST: u64 = 256 << 10;
/// So much of an answer is read, and so much of it kept.
const ANSWER: usize = 1 << 20;
const KEEP: usize = 16 << 10;

/// The way to one platform.
#[derive(Clone, Debug)]
pub struct Caller {
    client: HttpClient,
    redactor: Redactor,
    limits: Limits,
}

impl Caller {
    /// A way on which none of these secrets is ever told.
    pub fn new(client: HttpClient, secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let limits = Limits { total: TOTAL, body: ANSWER };
        Self { client, redactor: Redactor::new(secrets), limits }
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
        refusal(answer.status, answer.retry_after, detail.clone())
            .unwrap_or(Verdict::Unknown { detail })
    }

    /// A permanent verdict.
    pub fn fault(&self, fault: Fault, answer: &Answer, words: &str) -> Verdict {
        Verdict::Permanent { fault, detail: self.detail(answer.status, words) }
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

    /// A header as text; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
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

/// A verdict that says where a refused credential comes from; any other one as it is.
pub fn of_credential(origin: &str, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Permanent { fault: Fault::Credential, detail } if !origin.is_empty() => {
            let detail = format!("the token of {origin}: {}", detail.as_str());
            Verdict::Permanent { fault: Fault::Credential, detail: Detail::new(&detail) }
        }
        other => other,
    }
}

/// A verdict that says of a refused credential where it comes from, if somebody said.
pub fn named(verdict: Verdict, origin: &str) -> Verdict {
    match verdict {
        Verdict::Permanent { fault: Fault::Credential, detail } if !origin.is_empty() => {
            let detail = Detail::new(&format!("the credential of {origin}: {}", detail.as_str()));
            Verdict::Permanent { fault: Fault::Credential, detail }
        }
        other => other,
    }
}

/// A `POST` of JSON.
pub fn post_json(uri: Uri, body: &Value) -> Request<Bytes> {
    let mut request = Request::new(Bytes::from(body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request
}

/// A `GET`.
pub fn get(uri: Uri) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    request
}
