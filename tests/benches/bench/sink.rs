//! A receiver that does as little as a receiver can: it notes when each request came, and answers.

use std::{
    convert::Infallible,
    net::SocketAddr,
    ops::Deref,
    sync::Arc,
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

use crate::arrivals::Arrivals;

/// The answer to a wake, as short as the real server's can be.
const ANSWER: &str = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Noted."},"finish_reason":"stop"}]}"#;
const NO_SESSION: &str = r#"{"error":{"message":"no such session","type":"invalid_request_error","code":"session_not_found"}}"#;

/// A server on a thread of its own.
pub struct Sink {
    addr: SocketAddr,
    arrivals: Arc<Arrivals>,
}

impl Sink {
    /// Starts one that answers at once; `keep` also keeps what the messages said.
    pub fn start(keep: bool) -> Self {
        Self::with_turns(keep, Duration::ZERO)
    }

    /// Starts one that answers a message after so long, as an agent does whose turn takes time.
    pub fn with_turns(keep: bool, turn: Duration) -> Self {
        let arrivals = Arc::new(Arrivals::new(keep));
        let ours = Arc::clone(&arrivals);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let arrivals = Arc::clone(&ours);
                    stream.set_nodelay(true).unwrap();
                    tokio::spawn(async move {
                        let service = service_fn(|request| answer(&arrivals, turn, request));
                        // A client that leaves is no fault of the server.
                        let _ = http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                    });
                }
            });
        });
        Self { addr: told.recv().unwrap(), arrivals }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Deref for Sink {
    type Target = Arrivals;

    fn deref(&self) -> &Arrivals {
        &self.arrivals
    }
}

async fn answer(
    arrivals: &Arrivals,
    turn: Duration,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = if request.method() == Method::POST {
        let at = Instant::now();
        let body = request.into_body().collect().await.map(|body| body.to_bytes());
        arrivals.push(at, body.unwrap_or_default());
        if !turn.is_zero() {
            tokio::time::sleep(turn).await;
        }
        (200, ANSWER)
    } else {
        (404, NO_SESSION)
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status.try_into().unwrap();
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    Ok(response)
}
