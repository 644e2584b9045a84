//! What is handed to a channel: a destination and a text that is safe to show.

use crate::ids::ChannelName;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The text.
    pub text: String,
    /// The same facts for machines, for channels that print them (`console`).
    pub facts: Vec<Fact>,
    /// Whether an earlier copy may have arrived.
    pub possible_repeat: bool,
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
    /// The idempotency key.
    pub key: String,
    /// The channel's encoding of the message.
    pub body: String,
}
