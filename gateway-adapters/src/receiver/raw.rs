//! A server scripted byte by byte, for the faults that no honest server shows.

mod tls;
mod wire;

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::AdapterError;
use wire::{Until, read, wait_for_end};

/// One step of a connection. After the last step the connection is closed in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawAct {
    /// Waits for the first byte of a request, and leaves it unread.
    Await,
    /// Reads one request, head and body (by `Content-Length`).
    ReadRequest,
    /// Reads the head of a request, up to the empty line.
    ReadHead,
    /// Reads the head of a request and so many bytes of its body.
    ReadPart(usize),
    /// Reads one request and hands it to the server behind, whose answer the client gets.
    Pass,
    /// Reads one request and hands it to the server behind, whose answer nobody gets.
    Swallow,
    /// Reads the head of a request, says that it worked, and connects the client with the server behind,
    /// whatever host the request names.
    Tunnel,
    /// Takes part in a TLS handshake, until the client is gone. Both texts are PEM.
    Tls {
        /// The certificate.
        certificate: &'static str,
        /// Its private key.
        key: &'static str,
    },
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Writes these bytes until the client is gone.
    WriteForever(Vec<u8>),
    /// Closes the connection with a reset.
    Reset,
    /// Keeps the connection open and silent, until the client is gone.
    Hold,
    /// Waits for so long.
    Pause(Duration),
    /// Calls a function with the request that was read last; empty before the first one.
    Call(RawCall),
}

impl RawAct {
    /// Writes a whole response with this status line (`200 OK`), extra header lines (each with its
    /// line break `\r\n`) and body.
    pub fn respond(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        Self::Write(text.into_bytes())
    }

    /// Calls a function with the request that was read last, for what a test wants to know at this moment.
    pub fn call(function: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Call(RawCall(Arc::new(function)))
    }
}

/// A function that an act calls; equal to itself only.
#[derive(Clone)]
pub struct RawCall(Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for RawCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawCall").finish_non_exhaustive()
    }
}

impl PartialEq for RawCall {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for RawCall {}

/// The server. Dropping it ends it.
#[derive(Debug)]
pub struct RawServer {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    accepted: watch::Sender<usize>,
    requests: Mutex<Vec<String>>,
    /// What connections play; where there is a server behind, those that begin with a `POST`.
    plays: Mutex<Plays>,
    others: Mutex<Plays>,
    behind: Option<SocketAddr>,
}

/// Lists of acts, of which the last one is played over and over.
#[derive(Debug)]
struct Plays(VecDeque<Vec<RawAct>>);

impl Plays {
    fn take(&mut self) -> Vec<RawAct> {
        if self.0.len() > 1 {
            return self.0.pop_front().unwrap_or_default();
        }
        self.0.front().cloned().unwrap_or_default()
    }
}

impl RawServer {
    /// Listens at a free port; the first connection plays the first list of acts, and so on, and the
    /// last list is played by all further connections.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if no port can be had.
    pub async fn start(plays: Vec<Vec<RawAct>>) -> Result<Self, AdapterError> {
        Self::listen(None, plays, Vec::new()).await
    }

    /// Listens in front of another server. Connections that begin with a `POST` play `posts`, all
    /// others play `others`, each as in [`RawServer::start`]. What is passed on is one request for
    /// each connection.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if no port can be had.
    pub async fn in_front_of(
        behind: SocketAddr,
        posts: Vec<Vec<RawAct>>,
        others: Vec<Vec<RawAct>>,
    ) -> Result<Self, AdapterError> {
        Self::listen(Some(behind), posts, others).await
    }

    async fn listen(
        behind: Option<SocketAddr>,
        plays: Vec<Vec<RawAct>>,
        others: Vec<Vec<RawAct>>,
    ) -> Result<Self, AdapterError> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let failed = |source| AdapterError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let state = Arc::new(State {
            accepted: watch::Sender::new(0),
            requests: Mutex::default(),
            plays: Mutex::new(Plays(plays.into())),
            others: Mutex::new(Plays(others.into())),
            behind,
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { addr, state, accepting })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base address for a client.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        *self.state.accepted.borrow()
    }

    /// A header of a request that was read.
    pub fn header<'r>(request: &'r str, name: &str) -> Option<&'r str> {
        let (head, _) = request.split_once("\r\n\r\n")?;
        wire::header(head, name)
    }

    /// Every request that was read, head and body as they came.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.state.requests).clone()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        // The connections end with the set that holds them.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.accepted.send_modify(|count| *count = count.saturating_add(1));
        while connections.try_join_next().is_some() {}
        let state = Arc::clone(&state);
        if state.behind.is_none() {
            let acts = lock(&state.plays).take();
            connections.spawn(async move { perform(stream, acts, &state).await });
        } else {
            connections.spawn(route(stream, state));
        }
    }
}

async fn route(stream: TcpStream, state: Arc<State>) {
    // A connection that a client opened and did not need uses up no list of acts.
    let Ok(first) = wire::first_byte(&stream).await else {
        return;
    };
    let plays = if first == b'P' { &state.plays } else { &state.others };
    let acts = lock(plays).take();
    perform(stream, acts, &state).await;
}

async fn perform(mut stream: TcpStream, acts: Vec<RawAct>, state: &State) {
    let mut last = String::new();
    for act in acts {
        let keep = |request| last = request;
        let went_on = match act {
            RawAct::Await => wire::first_byte(&stream).await.map(drop),
            RawAct::ReadRequest => note(&mut stream, Until::End, state).await.map(keep),
            RawAct::ReadHead => note(&mut stream, Until::Body(0), state).await.map(keep),
            RawAct::ReadPart(bytes) => note(&mut stream, Until::Body(bytes), state).await.map(keep),
            RawAct::Pass => hand_on(&mut stream, true, state).await.map(keep),
            RawAct::Swallow => hand_on(&mut stream, false, state).await.map(keep),
            RawAct::Tunnel => connect(&mut stream, state).await.map(keep),
            RawAct::Tls { certificate, key } => tls::shake(&mut stream, certificate, key).await,
            RawAct::Write(bytes) => stream.write_all(&bytes).await,
            RawAct::WriteForever(bytes) => loop {
                if let Err(error) = stream.write_all(&bytes).await {
                    break Err(error);
                }
            },
            RawAct::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
            RawAct::Hold => wait_for_end(&mut stream).await,
            RawAct::Pause(span) => {
                tokio::time::sleep(span).await;
                Ok(())
            }
            RawAct::Call(RawCall(function)) => {
                function(&last);
                Ok(())
            }
        };
        if went_on.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
    let _ = wait_for_end(&mut stream).await;
}

async fn note(stream: &mut TcpStream, until: Until, state: &State) -> std::io::Result<String> {
    let request = read(stream, until).await?;
    lock(&state.requests).push(request.clone());
    Ok(request)
}

async fn hand_on(stream: &mut TcpStream, answered: bool, state: &State) -> std::io::Result<String> {
    let request = note(stream, Until::End, state).await?;
    let behind = state.behind.ok_or(std::io::ErrorKind::NotConnected)?;
    wire::exchange(behind, &request, answered.then_some(stream)).await?;
    Ok(request)
}

async fn connect(stream: &mut TcpStream, state: &State) -> std::io::Result<String> {
    let request = note(stream, Until::Body(0), state).await?;
    let behind = state.behind.ok_or(std::io::ErrorKind::NotConnected)?;
    let mut server = TcpStream::connect(behind).await?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    tokio::io::copy_bidirectional(stream, &mut server).await?;
    Ok(request)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
