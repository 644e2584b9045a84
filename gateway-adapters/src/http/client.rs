//! The one HTTP client: time-outs, body limits, no redirects, no retries of its own.
//!
//! It says whether a request without an answer may have left (law D7). hyper-util moves a request
//! to a fresh connection only when the pooled one was closed before the request was taken from its
//! queue, so such a move never repeats a byte. [`HttpClient::through`] makes one that goes through proxies,
//! [`HttpClient::guarded`] one that dials only what its guard lets pass, and so goes through none.

use std::{pin::pin, sync::Arc, time::Duration};

use ::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client, Error,
        connect::{CaptureConnection, HttpConnector, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use kanban_notify::verdict::Detail;
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};

use super::{
    guard::{Blocked, Guard, Resolver},
    proxy::{PROXY, PROXY_LOGIN, Proxies, Route},
    redact::Redactor,
    verdict::NoAnswer,
};
use crate::AdapterError;

/// How the client connects; the limits of one exchange are [`Limits`].
#[derive(Clone, Debug)]
pub struct HttpClientConfig {
    /// The longest a connection may take, from DNS to the end of the TLS handshake. Default 10 s.
    pub connect_timeout: Duration,
    /// How long an idle connection is kept for reuse. Default 30 s.
    pub idle_timeout: Duration,
    /// How many idle connections are kept for one host. Default 16.
    pub idle_per_host: usize,
}

impl Default for HttpClientConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            idle_per_host: 16,
        }
    }
}

/// The limits of one exchange.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest it may take, from the first step of connecting to the last byte of the answer.
    pub total: Duration,
    /// The most bytes of an answer's body that are read.
    pub body: usize,
}

/// A body that leaves: bytes, or one of a known length that is read while it leaves.
type Outgoing = Either<Full<Bytes>, Streamed>;

/// A body that is read while it leaves.
pub type Streamed = BoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The client. Clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    inner: Client<HttpsConnector<Route>, Outgoing>,
    config: HttpClientConfig,
    tls: ClientConfig,
    guard: Option<Arc<Guard>>,
    proxies: Proxies,
    printable: Arc<Redactor>,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient")
            .field("config", &self.config)
            .field("guard", &self.guard)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Builds a client that trusts the system's root certificates, or Mozilla's where there are none.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Tls`] when rustls refuses the protocol versions of its own provider.
    pub fn new(config: &HttpClientConfig) -> Result<Self, AdapterError> {
        let tls = tls().map_err(|error| AdapterError::Tls { source: error.into() })?;
        Ok(Self::build(config.clone(), tls, None, Proxies::default()))
    }

    /// Another client, with connections of its own, that goes through these proxies and has no guard.
    #[must_use]
    pub fn through(&self, proxies: Proxies) -> Self {
        Self::build(self.config.clone(), self.tls.clone(), None, proxies)
    }

    /// Another client like this one, with connections of its own, that dials only what `guard` lets pass.
    ///
    /// It goes through no proxy: a proxy would dial what it finds under a name, not what was checked.
    #[must_use]
    pub fn guarded(&self, guard: Guard) -> Self {
        let guard = Some(Arc::new(guard));
        Self::build(self.config.clone(), self.tls.clone(), guard, Proxies::default())
    }

    fn build(
        config: HttpClientConfig,
        tls: ClientConfig,
        guard: Option<Arc<Guard>>,
        proxies: Proxies,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver::new(guard.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let over = || {
            let builder = HttpsConnectorBuilder::new().with_tls_config(tls.clone());
            builder.https_or_http().enable_http1()
        };
        let proxy = over().wrap_connector(tcp.clone());
        let connector = over().wrap_connector(Route::new(tcp, proxy, proxies.clone()));
        let inner = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(config.idle_timeout)
            .pool_max_idle_per_host(config.idle_per_host)
            .build(connector);
        Self { inner, config, tls, guard, proxies, printable: Arc::new(Redactor::default()) }
    }

    /// Sends a request once and answers when the head of the response is there.
    ///
    /// `Content-Length` is always sent, `Origin` never; a redirect is an answer like any other.
    ///
    /// # Errors
    ///
    /// [`NoAnswer::NotSent`] when certainly no byte of the request left: refused, no route, DNS, TLS
    /// handshake, connecting took too long; [`NoAnswer::NotAllowed`] when the guard let nothing pass.
    /// Otherwise [`NoAnswer::MaybeSent`].
    pub async fn open(&self, request: Request<Bytes>, limits: Limits) -> Result<Reply, NoAnswer> {
        self.begin(request.map(|body| Either::Left(Full::new(body))), limits).await
    }

    async fn begin(&self, request: Request<Outgoing>, limits: Limits) -> Result<Reply, NoAnswer> {
        let start = Instant::now();
        let deadline = later(start, limits.total);
        let (mut head, body) = request.into_parts();
        if let Some(guard) = &self.guard {
            let checked = guard.check(head.uri.host().unwrap_or_default());
            checked.map_err(|blocked| NoAnswer::NotAllowed(Detail::new(&blocked.to_string())))?;
        }
        head.headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
        head.headers.remove(header::ORIGIN);
        if let Some(authorization) = self.proxies.authorization(&head.uri) {
            head.headers.insert(header::PROXY_AUTHORIZATION, authorization);
        }
        let proxy = self.proxies.name(&head.uri);
        let mut request = Request::from_parts(head, body);
        let connection = capture_connection(&mut request);
        let mut response = pin!(self.inner.request(request));

        let connecting = later(start, self.config.connect_timeout).min(deadline);
        let answered = match timeout_at(connecting, &mut response).await {
            Ok(answered) => Ok(answered),
            Err(_) if !was_connected(&connection) => {
                let by = proxy.map(|proxy| format!("{PROXY}{proxy}: ")).unwrap_or_default();
                let said = format!("{by}connecting took too long, nothing was sent");
                return Err(NoAnswer::NotSent(Detail::new(&said)));
            }
            Err(_) => timeout_at(deadline, &mut response).await,
        };
        match answered {
            // Only a proxy answers so, before it hands anything on.
            Ok(Ok(response))
                if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                    && proxy.is_some() =>
            {
                let said = format!("{PROXY}{}: {PROXY_LOGIN}", proxy.unwrap_or_default());
                Err(NoAnswer::NotSent(Detail::new(&said)))
            }
            Ok(Ok(response)) => {
                let (head, body) = response.into_parts();
                Ok(Reply {
                    status: head.status,
                    headers: head.headers,
                    body,
                    deadline,
                    left: limits.body,
                    printable: Arc::clone(&self.printable),
                })
            }
            Ok(Err(error)) if !was_connected(&connection) || never_taken(&error) => {
                Err(match blocked(&error) {
                    Some(blocked) => NoAnswer::NotAllowed(Detail::new(&blocked.to_string())),
                    None => NoAnswer::NotSent(self.printable.chain(&error)),
                })
            }
            Ok(Err(error)) => Err(NoAnswer::MaybeSent(self.printable.chain(&error))),
            Err(_) => Err(NoAnswer::MaybeSent(Detail::new(
                "no answer in time, the request may have been taken",
            ))),
        }
    }

    /// Sends a request once and reads the whole answer, of which the first `keep` bytes are kept.
    ///
    /// # Errors
    ///
    /// As [`HttpClient::open`]. Once the head is there, every end is a [`Response`].
    pub async fn fetch(
        &self,
        request: Request<Bytes>,
        limits: Limits,
        keep: usize,
    ) -> Result<Response, NoAnswer> {
        Ok(self.open(request, limits).await?.collect(keep).await)
    }

    /// The same with a body that is read while it leaves.
    ///
    /// # Errors
    ///
    /// As [`HttpClient::open`]; whoever made the body knows whether all of it was read.
    pub async fn upload(
        &self,
        request: Request<Streamed>,
        limits: Limits,
        keep: usize,
    ) -> Result<Response, NoAnswer> {
        let reply = self.begin(request.map(Either::Right), limits).await?;
        Ok(reply.collect(keep).await)
    }
}

/// A response whose body has not been read yet. Read it to its end, or its connection is closed.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    deadline: Instant,
    left: usize,
    printable: Arc<Redactor>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// The next piece of the body.
    ///
    /// # Errors
    ///
    /// How the body ended: [`BodyEnd::Whole`] after its last piece.
    pub async fn chunk(&mut self) -> Result<Bytes, BodyEnd> {
        loop {
            let frame = match timeout_at(self.deadline, self.body.frame()).await {
                Err(_) => return Err(BodyEnd::TimedOut),
                Ok(None) => return Err(BodyEnd::Whole),
                Ok(Some(Err(error))) => return Err(BodyEnd::Cut(self.printable.chain(&error))),
                Ok(Some(Ok(frame))) => frame,
            };
            // Trailers say nothing to us.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            match self.left.checked_sub(data.len()) {
                Some(left) => self.left = left,
                None => return Err(BodyEnd::TooLarge),
            }
            return Ok(data);
        }
    }

    /// Reads the body to its end and keeps its first `keep` bytes.
    pub async fn collect(mut self, keep: usize) -> Response {
        let mut body = Vec::new();
        let end = loop {
            match self.chunk().await {
                Ok(data) => {
                    let room = keep.saturating_sub(body.len()).min(data.len());
                    body.extend_from_slice(data.get(..room).unwrap_or_default());
                }
                Err(end) => break end,
            }
        };
        Response { status: self.status, headers: self.headers, body: Bytes::from(body), end }
    }
}

/// A response, with as much of its body as was wanted.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The first bytes of the body.
    pub body: Bytes,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How the body of a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// Complete.
    Whole,
    /// Longer than the limit; the rest was not read and the connection is given up.
    TooLarge,
    /// The connection broke.
    Cut(Detail),
    /// The time for the whole exchange was used up.
    TimedOut,
}

impl BodyEnd {
    /// What to say about it.
    pub fn words(&self) -> &str {
        match self {
            Self::Whole => "the answer is complete",
            Self::TooLarge => "the answer is larger than the limit",
            Self::Cut(detail) => detail.as_str(),
            Self::TimedOut => "the answer did not end in time",
        }
    }
}

const USER_AGENT: &str = concat!("kanban-gateway/", env!("CARGO_PKG_VERSION"));

/// The provider is named here, so that no other crate in the process can choose it for us.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let roots = match builder.clone().with_native_roots() {
        Ok(native) => native,
        Err(_) => builder.with_webpki_roots(),
    };
    Ok(roots.with_no_client_auth())
}

/// Whether the system has root certificates.
#[cfg(feature = "email")]
pub(crate) fn has_native_roots() -> bool {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions();
    builder.is_ok_and(|builder| builder.with_native_roots().is_ok())
}

/// A connection is noted right before a request is handed to it: without one, nothing was written.
fn was_connected(connection: &CaptureConnection) -> bool {
    connection.connection_metadata().is_some()
}

/// hyper says "canceled" only of a request that it never took from the queue of its connection. Only
/// such a request is moved to a fresh connection, so failing to get one means the same.
fn never_taken(error: &Error) -> bool {
    let cause = std::error::Error::source(error);
    let cause = cause.and_then(|source| source.downcast_ref::<hyper::Error>());
    error.is_connect() || cause.is_some_and(hyper::Error::is_canceled)
}

/// The guard's refusal, if that is why there is no connection.
fn blocked<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Blocked> {
    let mut next = Some(error);
    while let Some(cause) = next {
        // An error of input and output hides what it was made of.
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let found = inner.and_then(|inner| inner.downcast_ref()).or_else(|| cause.downcast_ref());
        if found.is_some() {
            return found;
        }
        next = cause.source();
    }
    None
}

fn later(start: Instant, span: Duration) -> Instant {
    const AGES: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start.checked_add(span.min(AGES)).unwrap_or(start)
}
