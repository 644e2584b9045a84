//! Wakes: one user turn in exactly the session that asked, by POST to a Hermes API server (laws W1-W7).

mod answer;
mod config;
mod history;
#[cfg(test)]
mod hostile;
mod json;
mod json_text;
mod session;

use std::time::SystemTime;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use async_trait::async_trait;
use bytes::Bytes;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use serde::Serialize;
use tracing::debug;

pub use config::{ApiServerConfig, ApiServerLimits};

use crate::{
    AdapterError,
    http::{
        BodyEnd, HttpClient, Limits, NoAnswer, Redactor, Reply, StatusClass, base::segment,
        class_of, refusal, retry_after,
    },
};
use answer::{AnswerFacts, Heard};
use history::HistorySink;
use json::JsonReader;

/// One Hermes API server.
///
/// `send` judges like this (law W7); whatever names no verdict here is in [`class_of`]:
///
/// | answer | verdict |
/// |---|---|
/// | 2xx, JSON with an answer | delivered; noted `incomplete` when the server says so |
/// | `hermes.failed`, or `finish_reason: error` where `hermes` does not deny it, or 502 `agent_incomplete` | failed turn |
/// | other 2xx, other 502, 504, cut, time-out | unknown |
/// | nothing sent | unreachable |
/// | 400 about the session id, an id that cannot be sent | permanent: target |
/// | 404, 405 | retryable: a wrong address or profile is for the operator to mend, the session is not at fault |
pub struct ApiServer {
    name: ChannelName,
    key_from: String,
    model: String,
    bearer: HeaderValue,
    chat: Uri,
    models: Uri,
    base: String,
    limits: ApiServerLimits,
    redactor: Redactor,
    client: HttpClient,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("name", &self.name)
            .field("base", &self.redactor.redact(&self.base))
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// A channel to the server that `config` names, over the shared client.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Address`] and [`AdapterError::Key`], neither of which repeats the value.
    pub fn new(client: HttpClient, config: ApiServerConfig) -> Result<Self, AdapterError> {
        let base = config::base(&config)?;
        let bearer = config::bearer(&config)?;
        Ok(Self {
            chat: config::route(&config.name, &base, "/v1/chat/completions")?,
            models: config::route(&config.name, &base, "/v1/models")?,
            redactor: Redactor::new([config.key]),
            name: config.name,
            key_from: config.key_from,
            model: config.model,
            limits: config.limits,
            bearer,
            base,
            client,
        })
    }

    /// The channel's name.
    pub fn name(&self) -> &ChannelName {
        &self.name
    }

    fn request(&self, method: Method, uri: Uri, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(header::AUTHORIZATION, self.bearer.clone());
        headers.insert(header::ACCEPT, JSON);
        request
    }

    fn wake(&self, parcel: &Parcel) -> Result<Request<Bytes>, Verdict> {
        let Destination::Session { session, .. } = &parcel.destination else {
            return Err(target("a chat is no session of an API server"));
        };
        let session = session::header(session).map_err(target)?;
        let key = HeaderValue::from_str(&parcel.key).map_err(|_| Verdict::Permanent {
            fault: Fault::Payload,
            detail: Detail::new("the idempotency key cannot be sent in a header"),
        })?;
        let body = Bytes::from(parcel.body.clone());
        let mut request = self.request(Method::POST, self.chat.clone(), body);
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(SESSION_ID, session);
        headers.insert(IDEMPOTENCY_KEY, key);
        Ok(request)
    }

    async fn heard(&self, reply: Reply) -> Heard {
        let status = reply.status;
        let session = session::named(reply.headers.get(SESSION_ID));
        let incomplete = says_false(&reply.headers, &COMPLETED);
        let retry_after = retry_after(&reply.headers, SystemTime::now());
        let mut reader = JsonReader::new(AnswerFacts::default());
        let end = read(reply, &mut reader).await;
        let (facts, json) = reader.finish();
        Heard {
            status,
            session,
            incomplete,
            retry_after,
            json: json.is_ok() && facts.is_object(),
            facts,
            end,
        }
    }

    async fn look_at(
        &self,
        reply: Reply,
        reference: Option<&str>,
    ) -> Result<SessionView, LookError> {
        let status = reply.status;
        if class_of(status) != StatusClass::Success {
            let heard = self.heard(reply).await;
            return if status == StatusCode::NOT_FOUND && heard.facts.code() == "session_not_found" {
                Ok(SessionView::default())
            } else if matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
                Err(LookError::Unsupported)
            } else if class_of(status) == StatusClass::Credential {
                Err(LookError::Credential(self.refused(&heard.detail(&self.redactor))))
            } else {
                Err(LookError::Failed(heard.detail(&self.redactor)))
            };
        }
        let mut reader = JsonReader::new(HistorySink::new(reference));
        let end = read(reply, &mut reader).await;
        if end != BodyEnd::Whole {
            return Err(LookError::Failed(Detail::new(end.words())));
        }
        let (sink, json) = reader.finish();
        json.map_err(|reason| LookError::Failed(Detail::new(reason)))?;
        sink.view()
            .ok_or_else(|| LookError::Failed(Detail::new("the answer is no list of messages")))
    }

    /// Says which key it was that was refused, before the server's own words.
    fn refused(&self, words: &Detail) -> Detail {
        if self.key_from.is_empty() {
            return words.clone();
        }
        Detail::new(&format!("the key of {}: {}", self.key_from, words.as_str()))
    }

    fn judged(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Permanent { fault: Fault::Credential, detail } => {
                Verdict::Permanent { fault: Fault::Credential, detail: self.refused(&detail) }
            }
            verdict => verdict,
        }
    }

    async fn probed(&self) -> Verdict {
        let limits = Limits { total: self.limits.probe, body: self.limits.answer_bytes };
        let request = self.request(Method::GET, self.models.clone(), Bytes::new());
        match self.client.open(request, limits).await {
            Ok(reply) => {
                let heard = self.heard(reply).await;
                refusal(heard.status, heard.retry_after, heard.detail(&self.redactor))
                    .map_or_else(|| Verdict::Delivered(Receipt::default()), |no| self.judged(no))
            }
            Err(NoAnswer::NotSent(detail) | NoAnswer::NotAllowed(detail)) => {
                Verdict::Unreachable { detail }
            }
            // A probe has no effect that could be in doubt.
            Err(NoAnswer::MaybeSent(detail)) => Verdict::Retryable { retry_after: None, detail },
        }
    }
}

#[async_trait]
impl Channel for ApiServer {
    fn encode(&self, _: &Destination, message: &Message) -> String {
        let body = Completion {
            model: &self.model,
            messages: [UserMessage { role: "user", content: &message.text() }],
            stream: false,
        };
        // Strings and a boolean always become JSON.
        serde_json::to_string(&body).unwrap_or_default()
    }

    #[tracing::instrument(level = "debug", name = "api_server.send", skip_all, fields(channel = %self.name))]
    async fn send(&self, parcel: &Parcel) -> Verdict {
        let request = match self.wake(parcel) {
            Ok(request) => request,
            Err(verdict) => return verdict,
        };
        let limits = Limits { total: self.limits.turn, body: self.limits.answer_bytes };
        match self.client.open(request, limits).await {
            Ok(reply) => self.judged(self.heard(reply).await.verdict(&self.redactor)),
            Err(no_answer) => no_answer.into(),
        }
    }

    #[tracing::instrument(level = "debug", name = "api_server.look", skip_all, fields(channel = %self.name))]
    async fn look(
        &self,
        session: &str,
        reference: Option<String>,
    ) -> Result<SessionView, LookError> {
        if session::header(session).is_err() {
            // The server takes no such id, so there is no such session.
            return Ok(SessionView::default());
        }
        let path = format!("/api/sessions/{}/messages", segment(session));
        let uri = config::route(&self.name, &self.base, &path).map_err(|_| {
            LookError::Failed(Detail::new("the session id does not fit an address"))
        })?;
        let limits = Limits { total: self.limits.look, body: self.limits.history_bytes };
        let request = self.request(Method::GET, uri, Bytes::new());
        match self.client.open(request, limits).await {
            Ok(reply) => self.look_at(reply, reference.as_deref()).await,
            Err(NoAnswer::NotSent(detail) | NoAnswer::NotAllowed(detail)) => {
                Err(LookError::Unreachable(detail))
            }
            Err(NoAnswer::MaybeSent(detail)) => Err(LookError::Failed(detail)),
        }
    }

    #[tracing::instrument(level = "debug", name = "api_server.probe", skip_all, fields(channel = %self.name))]
    async fn probe(&self) -> Verdict {
        let verdict = self.probed().await;
        if !matches!(verdict, Verdict::Delivered(_)) {
            debug!(verdict = verdict.name(), error = verdict.detail(), "probed in vain");
        }
        verdict
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SESSION_ID: HeaderName = HeaderName::from_static("x-hermes-session-id");
const COMPLETED: HeaderName = HeaderName::from_static("x-hermes-completed");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Serialize)]
struct Completion<'a> {
    model: &'a str,
    messages: [UserMessage<'a>; 1],
    stream: bool,
}

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: &'a str,
}

fn target(reason: &'static str) -> Verdict {
    Verdict::Permanent { fault: Fault::Target, detail: Detail::new(reason) }
}

fn says_false(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get(name).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"false"))
}

/// Feeds a body to a reader; goes on to its end when it is no JSON, so that the connection is reused.
async fn read<S: json::Sink>(mut reply: Reply, reader: &mut JsonReader<S>) -> BodyEnd {
    loop {
        match reply.chunk().await {
            Ok(data) => reader.push(&data),
            Err(end) => return end,
        }
    }
}
