//! A channel that prints one JSON line for each message, for people who pipe it somewhere.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use async_trait::async_trait;
use futures_channel::oneshot;
use kanban_notify::{
    history::SessionView,
    ids::ChannelName,
    message::{Destination, Message, Parcel},
    ports::{Channel, LookError},
    verdict::{Detail, Fault, Receipt, Verdict},
};
use serde::Serialize;

use crate::AdapterError;

/// Where lines go; shared, because a test or a command may write there too.
pub type Writer = Arc<Mutex<dyn Write + Send>>;

/// The console: `{"platform":"console","chat":…,"thread":…,"text":…,"events":[…],"possible_repeat":…,"key":…}`.
///
/// Lines are written by a thread of their own, so that a reader who stalls holds up this channel
/// alone. A line counts as delivered once it is flushed.
pub struct Console {
    name: ChannelName,
    lines: mpsc::Sender<Line>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Console {
    /// A console on standard output.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Console`] if no thread could be started.
    pub fn stdout(name: ChannelName) -> Result<Self, AdapterError> {
        Self::to(name, Arc::new(Mutex::new(std::io::stdout())))
    }

    /// A console on `writer`.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Console`] if no thread could be started.
    pub fn to(name: ChannelName, writer: Writer) -> Result<Self, AdapterError> {
        let (lines, waiting) = mpsc::channel::<Line>();
        std::thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                for line in waiting {
                    // Whoever stopped waiting does not want the line either.
                    if !line.done.is_canceled() {
                        let _ = line.done.send(write(&writer, &line.text));
                    }
                }
            })
            .map_err(|source| AdapterError::Console { source })?;
        Ok(Self { name, lines })
    }

    /// The channel's name.
    pub fn name(&self) -> &ChannelName {
        &self.name
    }
}

#[async_trait]
impl Channel for Console {
    fn encode(&self, destination: &Destination, message: &Message) -> String {
        let (chat, thread) = match destination {
            Destination::Chat { chat, thread, .. } => (chat.as_str(), thread.as_str()),
            Destination::Session { session, .. } => (session.as_str(), ""),
        };
        let events = message.facts.iter().map(|fact| EventLine {
            board: &fact.board,
            task: &fact.task,
            event: fact.event,
            kind: fact.kind,
        });
        let line = MessageLine {
            platform: "console",
            chat,
            thread,
            text: &message.text(),
            events: events.collect(),
            possible_repeat: message.possible_repeat,
        };
        // Strings, numbers and a boolean always become JSON.
        serde_json::to_string(&line).unwrap_or_default()
    }

    async fn send(&self, parcel: &Parcel) -> Verdict {
        let Some(text) = with_key(&parcel.body, &parcel.key) else {
            return Verdict::Permanent {
                fault: Fault::Payload,
                detail: Detail::new("the pinned body is no line of the console"),
            };
        };
        let (done, written) = oneshot::channel();
        let refused = match self.lines.send(Line { text, done }) {
            Ok(()) => match written.await {
                Ok(Ok(())) => return Verdict::Delivered(Receipt::default()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the console's writer has ended".to_owned(),
            },
            Err(_) => "the console's writer has ended".to_owned(),
        };
        Verdict::Retryable { retry_after: None, detail: Detail::new(&refused) }
    }

    async fn look(&self, _: &str, _: Option<String>) -> Result<SessionView, LookError> {
        Err(LookError::Unsupported)
    }

    async fn probe(&self) -> Verdict {
        Verdict::Delivered(Receipt::default())
    }
}

struct Line {
    text: String,
    done: oneshot::Sender<std::io::Result<()>>,
}

#[derive(Serialize)]
struct MessageLine<'a> {
    platform: &'static str,
    chat: &'a str,
    thread: &'a str,
    text: &'a str,
    events: Vec<EventLine<'a>>,
    possible_repeat: bool,
}

#[derive(Serialize)]
struct EventLine<'a> {
    board: &'a str,
    task: &'a str,
    event: i64,
    kind: &'a str,
}

/// The pinned body with the key as its last member, and the line break.
fn with_key(body: &str, key: &str) -> Option<String> {
    let open = body.strip_suffix('}')?;
    let key = serde_json::to_string(key).ok()?;
    Some(format!("{open},\"key\":{key}}}\n"))
}

fn write(writer: &Writer, line: &str) -> std::io::Result<()> {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    writer.write_all(line.as_bytes())?;
    writer.flush()
}
