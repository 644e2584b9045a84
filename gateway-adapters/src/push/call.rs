//! One request to a platform: its answer read to the end, with everything secret taken out of its words.

use std::time::{Duration, SystemTime};

use ::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::Bytes;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Detail, Fault, Verdict},
};
use secrecy::SecretString;
use serde_json::Value;

use crate::{
    AdapterError,
    http::{BodyEnd, HttpClient, Limits, Redactor, refusal, retry_after},
};

/// The longest one exchange takes; after it the outcome is unknown.
const TOTAL: Duration = Duration::from_secs(30);
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
        Ok(Answer {
            status: response.status,
            retry_after: retry_after(&response.headers, SystemTime::now()),
            json: serde_json::from_slice(&response.body).unwrap_or_default(),
            text: String::from_utf8_lossy(&response.body).into_owned(),
            end: response.end,
            headers: response.headers,
        })
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
