//! A mail server that lets one user in and takes letters word by word: every command, every header, every line.

mod mime;

use std::{
    collections::{BTreeMap, VecDeque},
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};

use super::{PushMessage, lock};
use crate::{AdapterError, receiver::reply::Closed};

/// What becomes of one session; a step is a command, `CONNECT`, or `CONTENT` for the letter itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailAct {
    /// Everything as it should be.
    Honest,
    /// This reply at this step.
    Say(&'static str, &'static str),
    /// The connection ends at this step.
    Lose(&'static str),
    /// The letter is taken, and the connection ends without a reply.
    Swallow,
    /// There is no reply to this step, ever.
    Hang(&'static str),
}

/// A letter that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// What a person sees: the address, the text, the identifier.
    pub message: PushMessage,
    /// The headers, unfolded, by their names in lower case.
    pub headers: BTreeMap<String, String>,
}

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct MailServer {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    login: String,
    script: Mutex<VecDeque<MailAct>>,
    seen: Mutex<Vec<Letter>>,
    sessions: Mutex<usize>,
    never: Notify,
}

impl MailServer {
    /// Starts to listen on a free port of this machine, for one user; without TLS.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Listen`] if there is none.
    pub async fn start(user: &str, password: &str) -> Result<Self, AdapterError> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let failed = |source| AdapterError::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let state = Arc::new(State {
            login: STANDARD.encode(format!("\0{user}\0{password}")),
            script: Mutex::default(),
            seen: Mutex::default(),
            sessions: Mutex::default(),
            never: Notify::new(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { addr, state, accepting })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// What becomes of the next sessions; after them all are honest.
    pub fn play(&self, acts: impl IntoIterator<Item = MailAct>) {
        lock(&self.state.script).extend(acts);
    }

    /// Every letter that was taken, oldest first.
    pub fn seen(&self) -> Vec<Letter> {
        lock(&self.state.seen).clone()
    }

    /// How many sessions there were.
    pub fn sessions(&self) -> usize {
        *lock(&self.state.sessions)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = sessions.join_next() => {}
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                let mut count = lock(&state.sessions);
                *count = count.saturating_add(1);
                let act = lock(&state.script).pop_front().unwrap_or(MailAct::Honest);
                sessions.spawn(session(stream, Arc::clone(&state), act));
            }
        }
    }
}

/// A connection and what is to become of it.
struct Talk {
    stream: BufReader<TcpStream>,
    act: MailAct,
    state: Arc<State>,
}

impl Talk {
    /// Replies to a step; whether the reply is the honest one.
    async fn reply(&mut self, step: &str, honest: &str) -> Result<bool, Closed> {
        let (reply, is_honest) = match self.act {
            MailAct::Say(at, reply) if at == step => (reply, false),
            MailAct::Lose(at) if at == step => return Err(Closed),
            MailAct::Hang(at) if at == step => {
                self.state.never.notified().await;
                return Err(Closed);
            }
            _ => (honest, true),
        };
        let line = format!("{reply}\r\n");
        self.stream.get_mut().write_all(line.as_bytes()).await.map_err(|_| Closed)?;
        Ok(is_honest)
    }

    /// A line without its end, which must be CRLF; what is longer than a line may be is no line.
    async fn line(&mut self) -> Result<String, Closed> {
        let mut line = String::new();
        let length = self.stream.read_line(&mut line).await.map_err(|_| Closed)?;
        let whole = line.strip_suffix("\r\n").filter(|line| !line.contains('\r'));
        let is_fit = length <= 1_000 && line.is_ascii();
        whole.filter(|_| is_fit).map(str::to_owned).ok_or(Closed)
    }
}

async fn session(stream: TcpStream, state: Arc<State>, act: MailAct) -> Result<(), Closed> {
    let mut talk = Talk { stream: BufReader::new(stream), act, state };
    talk.reply("CONNECT", "220 mail.example.org ESMTP").await?;
    let (mut is_in, mut from, mut to) = (false, None, None);
    loop {
        let line = talk.line().await?;
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let honest = match verb.as_str() {
            "EHLO" => "250-mail.example.org\r\n250-SIZE 1000000\r\n250 AUTH PLAIN",
            "AUTH" if line == format!("AUTH PLAIN {}", talk.state.login) => "235 2.7.0 in",
            "AUTH" => "535 5.7.8 Error: authentication failed",
            "MAIL" | "RCPT" if !is_in => "530 5.7.0 Authentication required",
            "MAIL" if bracketed(&line, "MAIL FROM:").is_some() => "250 2.1.0 Ok",
            "RCPT" if from.is_some() && bracketed(&line, "RCPT TO:").is_some() => "250 2.1.5 Ok",
            "DATA" if to.is_some() => "354 End data with <CR><LF>.<CR><LF>",
            "RSET" | "NOOP" => "250 2.0.0 Ok",
            "QUIT" => "221 2.0.0 Bye",
            _ => "503 5.5.1 Error: bad sequence of commands",
        };
        let is_done = talk.reply(&verb, honest).await? && honest.starts_with(['2', '3']);
        match verb.as_str() {
            "AUTH" => is_in = is_done,
            "RSET" => (from, to) = (None, None),
            "MAIL" if is_done => from = bracketed(&line, "MAIL FROM:"),
            "RCPT" if is_done => to = bracketed(&line, "RCPT TO:"),
            "DATA" if is_done => {
                let chat = to.take().unwrap_or_default();
                content(&mut talk, &chat, from.take().unwrap_or_default()).await?;
            }
            "QUIT" => return Ok(()),
            _ => {}
        }
    }
}

fn bracketed(line: &str, before: &str) -> Option<String> {
    let inner = line.strip_prefix(before)?.strip_prefix('<')?.strip_suffix('>')?;
    let is_fit = inner.split('@').count() == 2 && inner.bytes().all(|byte| byte.is_ascii_graphic());
    is_fit.then(|| inner.to_owned())
}

async fn content(talk: &mut Talk, chat: &str, from: String) -> Result<(), Closed> {
    let mut lines = Vec::new();
    loop {
        let line = talk.line().await?;
        if line == "." {
            break;
        }
        lines.push(line.strip_prefix('.').map_or(line.clone(), str::to_owned));
    }
    let letter = letter(&lines, chat, &from);
    let honest =
        if letter.is_some() { "250 2.0.0 Ok: queued as 4F9D" } else { "554 5.6.0 malformed" };
    if talk.act == MailAct::Swallow {
        lock(&talk.state.seen).extend(letter);
        return Err(Closed);
    }
    if talk.reply("CONTENT", honest).await? {
        lock(&talk.state.seen).extend(letter);
    }
    Ok(())
}

/// The headers that a letter has, each at most once; the last two only where there is a task.
const HEADERS: [&str; 11] = [
    "from",
    "to",
    "subject",
    "message-id",
    "date",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "auto-submitted",
    "in-reply-to",
    "references",
];

fn letter(lines: &[String], chat: &str, from: &str) -> Option<Letter> {
    let end = lines.iter().position(String::is_empty)?;
    let (head, body) = lines.split_at_checked(end)?;
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    let mut last = String::new();
    for line in head {
        if line.starts_with([' ', '\t']) {
            headers.get_mut(&last)?.push_str(line);
            continue;
        }
        let (name, value) = line.split_once(": ")?;
        last = name.to_ascii_lowercase();
        if !HEADERS.contains(&last.as_str()) {
            return None;
        }
        if headers.insert(last.clone(), value.to_owned()).is_some() {
            return None;
        }
    }
    let boundary = headers.get("content-type")?.strip_prefix("multipart/mixed;").map(str::trim);
    let needed = |name: &&str| boundary.is_none() || *name != "content-transfer-encoding";
    let is_whole =
        HEADERS.iter().take(9).filter(|name| needed(name)).all(|name| headers.contains_key(*name));
    let is_addressed =
        headers.get("to")? == chat && headers.get("from")?.ends_with(&format!("<{from}>"));
    let id = headers.get("message-id")?.strip_prefix('<')?.strip_suffix('>')?.to_owned();
    if !is_whole || !is_addressed || headers.get("auto-submitted")? != "auto-generated" {
        return None;
    }
    let body = body.get(1..)?.join("\r\n");
    let (text, files) = match boundary {
        Some(boundary) => {
            let boundary = boundary.strip_prefix("boundary=\"")?.strip_suffix('"')?;
            mime::parts(&body, boundary)?
        }
        None => (mime::decoded(headers.get("content-transfer-encoding")?, &body)?, Vec::new()),
    };
    let text = String::from_utf8(text).ok()?.replace("\r\n", "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    let (chat, key) = (chat.to_owned(), id);
    let message = PushMessage { chat, text, files, key, ..PushMessage::default() };
    Some(Letter { message, headers })
}
