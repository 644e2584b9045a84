//! A server scripted byte by byte, for the faults that no honest server shows.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::AdapterError;

/// One step of a connection. After the last step the connection is closed in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawAct {
    /// Reads one request, head and body (by `Content-Length`).
    ReadRequest,
    /// Reads the head of a request, up to the empty line.
    ReadHead,
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Writes these bytes until the client is gone.
    WriteForever(Vec<u8>),
    /// Closes the connection with a reset.
    Reset,
    /// Keeps the connection open and silent, until the client is gone.
    Hold,
}

impl RawAct {
    /// Writes a whole response with this status line (`200 OK`), extra header lines (each with its
    /// line break `\r\n`) and body.
    pub fn respond(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        Self::Write(text.into_bytes())
    }
}

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
}

impl RawServer {
    /// Listens at a free port; the first connection plays the first list of acts, and so on, and the
    /// last list is played by all further connections.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if no port can be had.
    pub async fn start(plays: Vec<Vec<RawAct>>) -> Result<Self, AdapterError> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let failed = |source| AdapterError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let state = Arc::new(State { accepted: watch::Sender::new(0), requests: Mutex::default() });
        let accepting = tokio::spawn(accept(listener, plays, Arc::clone(&state)));
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

async fn accept(listener: TcpListener, plays: Vec<Vec<RawAct>>, state: Arc<State>) {
    let mut connections = JoinSet::new();
    let mut plays = plays.into_iter();
    let mut play = plays.next().unwrap_or_default();
    while let Ok((stream, _)) = listener.accept().await {
        state.accepted.send_modify(|count| *count = count.saturating_add(1));
        while connections.try_join_next().is_some() {}
        connections.spawn(perform(stream, play.clone(), Arc::clone(&state)));
        play = plays.next().unwrap_or(play);
    }
}

async fn perform(mut stream: TcpStream, acts: Vec<RawAct>, state: Arc<State>) {
    for act in acts {
        let went_on = match act {
            RawAct::ReadRequest => read(&mut stream, true, &state).await,
            RawAct::ReadHead => read(&mut stream, false, &state).await,
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
        };
        if went_on.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
    let _ = wait_for_end(&mut stream).await;
}

async fn wait_for_end(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut waste = [0; 4096];
    while stream.read(&mut waste).await? > 0 {}
    Ok(())
}

async fn read(stream: &mut TcpStream, with_body: bool, state: &State) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let wanted = if with_body { length(head) } else { 0 };
            if body.len() >= wanted {
                let request = text.into_owned();
                lock(&state.requests).push(request);
                return Ok(());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn length(head: &str) -> usize {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
