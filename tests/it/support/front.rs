//! An API server some of whose sessions are dead: what they are sent is read and never answered, or cut.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
    task::JoinSet,
};

/// How a session is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dead {
    /// Nothing comes back, ever.
    Hangs,
    /// The connection is cut.
    Cuts,
}

/// The server. A wake of a session that is not dead is answered at once.
pub struct Front {
    url: String,
    state: Arc<State>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct State {
    dead: Mutex<BTreeMap<String, Dead>>,
    counts: Mutex<Counts>,
    listeners: Mutex<Vec<mpsc::UnboundedSender<(String, Instant)>>>,
    never: Notify,
}

/// What was asked of the server so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Looks and wakes of each session.
    pub looks: BTreeMap<String, usize>,
    pub wakes: BTreeMap<String, usize>,
    /// Wakes under way now, and the most there were at once.
    pub running: usize,
    pub most: usize,
    /// Sessions that were found with a second wake under way.
    pub doubled: BTreeSet<String>,
    busy: BTreeSet<String>,
}

impl Front {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<State>::default();
        let mut serving = JoinSet::new();
        let ours = Arc::clone(&state);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let state = Arc::clone(&ours);
                connections.spawn(async move {
                    let service = service_fn(move |request| answer(Arc::clone(&state), request));
                    // Who is cut off, or leaves, is no fault of the server.
                    let _ =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, state, _serving: serving }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on this session is dead.
    pub fn kill(&self, session: &str, how: Dead) {
        self.state.dead.lock().unwrap().insert(session.to_owned(), how);
    }

    pub fn counts(&self) -> Counts {
        self.state.counts.lock().unwrap().clone()
    }

    /// Each wake from now on: its session, and when it was there.
    pub fn wakes(&self) -> mpsc::UnboundedReceiver<(String, Instant)> {
        let (tell, heard) = mpsc::unbounded_channel();
        self.state.listeners.lock().unwrap().push(tell);
        heard
    }
}

/// Counts a wake as long as it is under way.
struct Running(Arc<State>, String);

impl Running {
    fn begin(state: &Arc<State>, session: &str) -> Self {
        let mut counts = state.counts.lock().unwrap();
        *counts.wakes.entry(session.to_owned()).or_default() += 1;
        counts.running += 1;
        counts.most = counts.most.max(counts.running);
        if !counts.busy.insert(session.to_owned()) {
            counts.doubled.insert(session.to_owned());
        }
        Self(Arc::clone(state), session.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut counts = self.0.counts.lock().unwrap();
        counts.running -= 1;
        counts.busy.remove(&self.1);
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> io::Result<Response<Full<Bytes>>> {
    let now = Instant::now();
    let json = |status, body: String| {
        let response =
            Response::builder().status(status).header("content-type", "application/json");
        Ok(response.body(Full::from(Bytes::from(body))).unwrap())
    };
    if request.method() == Method::GET {
        let session = request.uri().path().split('/').nth(3).unwrap_or_default().to_owned();
        *state.counts.lock().unwrap().looks.entry(session).or_default() += 1;
        let body = r#"{"error":{"message":"Session not found","code":"session_not_found"}}"#;
        return json(StatusCode::NOT_FOUND, body.to_owned());
    }
    let session = request.headers()["x-hermes-session-id"].to_str().unwrap().to_owned();
    request.into_body().collect().await.map_err(io::Error::other)?;
    let running = Running::begin(&state, &session);
    // Who does not listen any more needs no word.
    state.listeners.lock().unwrap().retain(|tell| tell.send((session.clone(), now)).is_ok());
    let dead = state.dead.lock().unwrap().get(&session).copied();
    match dead {
        None => drop(running),
        Some(Dead::Cuts) => return Err(io::ErrorKind::ConnectionReset.into()),
        Some(Dead::Hangs) => {
            state.never.notified().await;
            drop(running);
        }
    }
    json(
        StatusCode::OK,
        r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Noted."}}]}"#
            .to_owned(),
    )
}
