//! What is handed to a channel: a destination and a text that is safe to show.

use crate::{
    artifacts::{Attachment, Wanted},
    ids::ChannelName,
};

/// Where a claim goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// A chat on a push platform.
    Chat {
        /// The channel.
        channel: ChannelName,
        /// The chat.
        chat: String,
        /// The thread; empty for none.
        thread: String,
    },
    /// An agent session, by the raw id that the client gave it.
    Session {
        /// The API server's channel.
        channel: ChannelName,
        /// The raw session id.
        session: String,
    },
}

impl Destination {
    /// The channel that reaches it.
    pub fn channel(&self) -> &ChannelName {
        match self {
            Self::Chat { channel, .. } | Self::Session { channel, .. } => channel,
        }
    }
}

/// A message before a channel has made bytes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The text, in order: a channel with markup escapes what is quoted and disarms its mentions.
    pub spans: Vec<Span>,
    /// The same facts for machines, for channels that print them (`console`).
    pub facts: Vec<Fact>,
    /// Files of the task that nobody has looked at yet.
    pub wanted: Vec<Wanted>,
    /// Files that go with it: looked at, and within the limits of its channel.
    pub files: Vec<Attachment>,
    /// Whether an earlier copy may have arrived.
    pub possible_repeat: bool,
}

impl Message {
    /// The flat text: what a channel without markup sends.
    pub fn text(&self) -> String {
        flat(&self.spans)
    }
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Our own words, and a wake's whole text, which an agent reads as it is.
    Ours(String),
    /// What comes from a task or a board: data, whatever it looks like.
    Quoted(String),
}

impl Span {
    /// Our own words.
    pub fn ours(text: impl Into<String>) -> Self {
        Self::Ours(text.into())
    }

    /// Somebody else's.
    pub fn quoted(text: impl Into<String>) -> Self {
        Self::Quoted(text.into())
    }

    /// The words.
    pub fn text(&self) -> &str {
        match self {
            Self::Ours(text) | Self::Quoted(text) => text,
        }
    }
}

/// The words of all spans, in order.
pub fn flat(spans: &[Span]) -> String {
    spans.iter().map(Span::text).collect()
}

/// One event in a message, for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Board slug.
    pub board: String,
    /// Task id.
    pub task: String,
    /// Event id on the board.
    pub event: i64,
    /// Kind name.
    pub kind: &'static str,
}

/// A claim's pinned content: what leaves, byte for byte, as often as it leaves (law D3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Where it goes.
    pub destination: Destination,
    /// The idempotency key of the whole message; a part's own is [`Parcel::part_key`].
    pub key: String,
    /// The channel's encoding of the message, with all its parts.
    pub body: String,
    /// Which part is to be sent, from 0 (law D5).
    pub part: u32,
    /// Send it as plain text: the receiver refused its markup (law D8).
    pub plain: bool,
    /// How often this part failed before.
    pub failures: u32,
    /// This part may have arrived before, and is to say so. Never set for part 0, whose text says it.
    pub repeat: bool,
}

impl Parcel {
    /// The first part of a message, with its markup.
    pub fn new(destination: Destination, key: String, body: String) -> Self {
        Self { destination, key, body, part: 0, plain: false, failures: 0, repeat: false }
    }

    /// The idempotency key of the part: the key for part 0, `<key>/<part>` after that.
    pub fn part_key(&self) -> String {
        match self.part {
            0 => self.key.clone(),
            part => format!("{}/{part}", self.key),
        }
    }
}
