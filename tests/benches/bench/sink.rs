//! A receiver that does as little as a receiver can: it notes when each request came, and answers.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, body::Incoming, header::CONTENT_TYPE, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The answer to a wake, as short as the real server's can be.
const ANSWER: &str = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Noted."},"finish_reason":"stop"}]}"#;
const NO_SESSION: &str = r#"{"error":{"message":"no such session","type":"invalid_request_error","code":"session_not_found"}}"#;

/// One message.
pub struct Arrival {
    pub at: Instant,
    /// What it said; empty unless texts are kept.
    pub text: Bytes,
}

/// A server on a thread of its own.
pub struct Sink {
    addr: SocketAddr,
    state: Arc<State>,
}

struct State {
    keep: bool,
    arrivals: Mutex<Vec<Arrival>>,
    more: Condvar,
}

impl Sink {
    /// Starts one; `keep` also keeps what the messages said.
    pub fn start(keep: bool) -> Self {
        let state = Arc::new(State { keep, arrivals: Mutex::default(), more: Condvar::new() });
        let ours = Arc::clone(&state);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let state = Arc::clone(&ours);
                    stream.set_nodelay(true).unwrap();
                    tokio::spawn(async move {
                        let service = service_fn(|request| answer(&state, request));
                        // A client that leaves is no fault of the server.
                        let _ = http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                    });
                }
            });
        });
        Self { addr: told.recv().unwrap(), state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn count(&self) -> usize {
        self.state.arrivals.lock().unwrap().len()
    }

    /// What came since it was asked last.
    pub fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.state.arrivals.lock().unwrap())
    }

    /// Waits until so many messages are there.
    #[track_caller]
    pub fn wait_for(&self, count: usize, longest: Duration) {
        let arrivals = self.state.arrivals.lock().unwrap();
        let (arrivals, timeout) = self
            .state
            .more
            .wait_timeout_while(arrivals, longest, |arrivals| arrivals.len() < count)
            .unwrap();
        assert!(!timeout.timed_out(), "{} of {count} messages after {longest:?}", arrivals.len());
    }
}

async fn answer(
    state: &State,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = if request.method() == Method::POST {
        let at = Instant::now();
        let body = request.into_body().collect().await.map(|body| body.to_bytes());
        let text = if state.keep { body.unwrap_or_default() } else { Bytes::new() };
        state.arrivals.lock().unwrap().push(Arrival { at, text });
        state.more.notify_all();
        (200, ANSWER)
    } else {
        (404, NO_SESSION)
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status.try_into().unwrap();
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    Ok(response)
}
