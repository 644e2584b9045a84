//! Servers that stand in for push platforms: strict about every request, with scripted faults.

#[cfg(feature = "dingtalk")]
mod dingtalk;
mod discord;
#[cfg(feature = "email")]
mod email;
#[cfg(feature = "feishu")]
mod feishu;
mod google_chat;
mod gotify;
mod homeassistant;
mod matrix;
mod mattermost;
mod multipart;
mod ntfy;
mod pushover;
#[cfg(feature = "signed_webhook")]
mod signed_webhook;
mod slack;
mod teams;
mod telegram;
mod wecom;
#[cfg(feature = "zulip")]
mod zulip;

use std::{
    collections::{BTreeMap, VecDeque},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, mpsc},
    task::{JoinHandle, JoinSet},
};

#[cfg(feature = "dingtalk")]
pub use dingtalk::dingtalk;
pub use discord::{discord, discord_webhook};
#[cfg(feature = "email")]
pub use email::{Letter, MailAct, MailServer};
#[cfg(feature = "feishu")]
pub use feishu::feishu;
pub use google_chat::google_chat;
pub use gotify::gotify;
pub use homeassistant::homeassistant;
pub use matrix::matrix;
pub use mattermost::{mattermost, mattermost_hook};
pub use multipart::{FormField, multipart};
pub use ntfy::ntfy;
pub use pushover::pushover;
#[cfg(feature = "signed_webhook")]
pub use signed_webhook::signed_webhook;
pub use slack::{slack, slack_webhook};
pub use teams::teams;
pub use telegram::telegram;
pub use wecom::wecom;
#[cfg(feature = "zulip")]
pub use zulip::zulip;

use super::reply::Closed;
use crate::AdapterError;

/// What a platform makes of an honest request: its answer, and the message that a person now sees.
pub type Platform = Box<dyn Fn(&Heard) -> (PushAnswer, Option<PushMessage>) + Send + Sync>;

/// A request.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Its method.
    pub method: Method,
    /// Its path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Heard {
    /// A header as text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The path without its query, and the query's parameters without their escapes; empty where those are
    /// broken.
    pub fn target(&self) -> (&str, Vec<(&str, String)>) {
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        (path, pairs.map(|(name, value)| (name, decoded(value).unwrap_or_default())).collect())
    }
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushAnswer {
    /// The status.
    pub status: u16,
    /// Header lines.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

impl PushAnswer {
    /// An answer without headers of its own.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What a person sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushMessage {
    /// The chat.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// The text, markup taken out.
    pub text: String,
    /// Whether there was markup.
    pub rich: bool,
    /// The files that are with it, by name and content.
    pub files: Vec<(String, Bytes)>,
    /// The idempotency value, where the platform has one: a second message with it is not seen.
    pub key: String,
}

/// What becomes of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushAct {
    /// What the platform itself says.
    Honest,
    /// This answer; nobody sees a message.
    Answer(PushAnswer),
    /// The connection ends without an answer; nobody sees a message.
    Lose,
    /// The message is seen, and the connection ends without an answer.
    Swallow,
    /// The message is seen, and there is never an answer.
    Hang,
}

/// A running server. Dropping it ends it.
pub struct PushServer {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
    heard: tokio::sync::Mutex<mpsc::UnboundedReceiver<Heard>>,
}

struct State {
    platform: Platform,
    script: Mutex<VecDeque<PushAct>>,
    slow: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    seen: Mutex<Vec<PushMessage>>,
    requests: Mutex<Vec<Heard>>,
    connections: Mutex<usize>,
    tell: mpsc::UnboundedSender<Heard>,
    never: Notify,
}

impl std::fmt::Debug for PushServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl PushServer {
    /// Starts to listen on a free port of this machine.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if there is none.
    pub async fn start(platform: Platform) -> Result<Self, AdapterError> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let failed = |source| AdapterError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let (tell, heard) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            platform,
            script: Mutex::default(),
            slow: Mutex::default(),
            seen: Mutex::default(),
            requests: Mutex::default(),
            connections: Mutex::default(),
            tell,
            never: Notify::new(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { addr, state, accepting, heard: tokio::sync::Mutex::new(heard) })
    }

    /// The base address for a client.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What becomes of the next requests; after them all are honest.
    pub fn play(&self, acts: impl IntoIterator<Item = PushAct>) {
        lock(&self.state.script).extend(acts);
    }

    /// From now on each message to this chat uses up a permit of `gate` before it is answered.
    pub fn slow(&self, chat: &str, gate: &Arc<Semaphore>) {
        lock(&self.state.slow).insert(chat.to_owned(), Arc::clone(gate));
    }

    /// Everything that people saw, oldest first.
    pub fn seen(&self) -> Vec<PushMessage> {
        lock(&self.state.seen).clone()
    }

    /// Every request, oldest first.
    pub fn requests(&self) -> Vec<Heard> {
        lock(&self.state.requests).clone()
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        *lock(&self.state.connections)
    }

    /// Waits for the next request that nobody has waited for yet.
    pub async fn next(&self) -> Option<Heard> {
        self.heard.lock().await.recv().await
    }
}

impl Drop for PushServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                let mut count = lock(&state.connections);
                *count = count.saturating_add(1);
                connections.spawn(serve(stream, Arc::clone(&state)));
            }
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let service = service_fn(move |request| answer(Arc::clone(&state), request));
    // A connection that ends badly is what clients are tested with.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Closed> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let heard = Heard { method: head.method, path, headers: head.headers, body };
    lock(&state.requests).push(heard.clone());
    let act = lock(&state.script).pop_front().unwrap_or(PushAct::Honest);
    let (honest, message) = (state.platform)(&heard);
    let chat = message.as_ref().map(|message| message.chat.as_str());
    let gate = chat.and_then(|chat| lock(&state.slow).get(chat).cloned());
    if !matches!(act, PushAct::Answer(_) | PushAct::Lose) {
        let mut seen = lock(&state.seen);
        let is_known = |message: &PushMessage| seen.iter().any(|one| one.key == message.key);
        let message = message.filter(|message| message.key.is_empty() || !is_known(message));
        seen.extend(message);
    }
    // Whoever waits is told once it is seen.
    let _ = state.tell.send(heard);
    if let Some(gate) = gate {
        gate.acquire().await.map_err(|_| Closed)?.forget();
    }
    match act {
        PushAct::Honest => reply(honest),
        PushAct::Answer(answer) => reply(answer),
        PushAct::Lose | PushAct::Swallow => Err(Closed),
        PushAct::Hang => {
            state.never.notified().await;
            Err(Closed)
        }
    }
}

fn reply(answer: PushAnswer) -> Result<Response<Full<Bytes>>, Closed> {
    let mut reply = Response::new(Full::new(Bytes::from(answer.body)));
    *reply.status_mut() = StatusCode::from_u16(answer.status).map_err(|_| Closed)?;
    for (name, value) in answer.headers {
        let value = HeaderValue::from_str(&value).map_err(|_| Closed)?;
        reply.headers_mut().insert(HeaderName::from_static(name), value);
    }
    Ok(reply)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The fields of a form, each once; `None` where it is none.
fn form(heard: &Heard) -> Option<BTreeMap<String, String>> {
    if heard.header("content-type") != "application/x-www-form-urlencoded" {
        return None;
    }
    let mut fields = BTreeMap::new();
    for pair in std::str::from_utf8(&heard.body).ok()?.split('&') {
        let (name, value) = pair.split_once('=')?;
        if fields.insert(decoded(name)?, decoded(value)?).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Text in which a backslash stands before signs, as people see it; `None` where one of `markup` is bare.
fn unescaped(text: &str, markup: &str) -> Option<String> {
    let mut plain = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => plain.push(signs.next().filter(char::is_ascii_punctuation)?),
            sign if markup.contains(sign) => return None,
            other => plain.push(other),
        }
    }
    Some(plain)
}
