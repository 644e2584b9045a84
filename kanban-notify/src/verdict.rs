//! What a receiver made of a request: data, never a string (laws D7, D8, W7).

use std::time::Duration;

use crate::text::clean;

/// An adapter's answer to one send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Accepted.
    Delivered(Receipt),
    /// The part was accepted, and the message has more of them (law D5).
    Part {
        /// What the part left behind.
        receipt: Receipt,
        /// The part to be sent next.
        next: u32,
    },
    /// The chat goes on under another name; nothing was accepted under this one.
    Moved {
        /// The chat from now on.
        chat: String,
        /// For people.
        detail: Detail,
    },
    /// The receiver is there and has no room now (429, 503, 409): nothing happened, no failure.
    Busy {
        /// The receiver's own hint, already clamped.
        retry_after: Option<Duration>,
        /// For people.
        detail: Detail,
    },
    /// No byte reached the receiver (refused, no route, DNS): nothing happened, no failure.
    Unreachable {
        /// For people.
        detail: Detail,
    },
    /// Refused for now, certainly without effect; counts as a failure.
    Retryable {
        /// The receiver's own hint, already clamped.
        retry_after: Option<Duration>,
        /// For people.
        detail: Detail,
    },
    /// The turn ran and failed: its answer is cached under the key, so the next one needs a new epoch.
    FailedTurn {
        /// For people.
        detail: Detail,
    },
    /// Will not work again as it is.
    Permanent {
        /// What is at fault.
        fault: Fault,
        /// For people.
        detail: Detail,
    },
    /// Bytes may have left and no usable answer came.
    Unknown {
        /// For people.
        detail: Detail,
    },
}

impl Verdict {
    /// Short name for logs, the ledger and output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delivered(_) => "delivered",
            Self::Part { .. } => PART,
            Self::Moved { .. } => "moved",
            Self::Busy { .. } => "busy",
            Self::Unreachable { .. } => "unreachable",
            Self::Retryable { .. } => "retryable",
            Self::FailedTurn { .. } => "failed_turn",
            Self::Permanent { fault, .. } => fault.name(),
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The text for people, empty for a plain delivery.
    pub fn detail(&self) -> &str {
        match self {
            Self::Delivered(receipt) | Self::Part { receipt, .. } => receipt.note.as_str(),
            Self::Busy { detail, .. }
            | Self::Moved { detail, .. }
            | Self::Unreachable { detail }
            | Self::Retryable { detail, .. }
            | Self::FailedTurn { detail }
            | Self::Permanent { detail, .. }
            | Self::Unknown { detail } => detail.as_str(),
        }
    }
}

/// The name of [`Verdict::Part`].
pub(crate) const PART: &str = "part";

/// What is wrong for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The chat or session does not exist or cannot be written to: park.
    Target,
    /// The thread does not exist: once in the parent chat, where configured.
    Thread,
    /// The credential is refused: pause the channel, keep the legs.
    Credential,
    /// The content is refused: split, then once as plain text, then park.
    Payload,
    /// The account's allowance is used up for good: park.
    Quota,
}

impl Fault {
    /// Short name for logs, the ledger and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Thread => "thread",
            Self::Credential => "credential",
            Self::Payload => "payload",
            Self::Quota => "quota",
        }
    }
}

/// What a delivery left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The receiver's name for what it accepted (a message or completion id).
    pub remote_id: Option<String>,
    /// The session that really took the turn, when the receiver says (law W3).
    pub session: Option<String>,
    /// What is worth noting of a delivery (`incomplete`, …); empty for nothing.
    pub note: Detail,
}

/// Text about a failure that is safe to print: one line, at most 300 characters, nothing that
/// controls how it is shown.
///
/// Adapters redact secrets before they make one (law W9, house rule: never a token, URL or body).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail(String);

impl Detail {
    /// The longest detail kept, in characters.
    pub const MAX_CHARS: usize = 300;

    /// Makes `text` safe to print.
    pub fn new(text: &str) -> Self {
        let clean = text.chars().filter(|c| !clean::is_invisible(None, *c));
        let clean = clean.map(|c| if c.is_control() { ' ' } else { c });
        Self(clean.take(Self::MAX_CHARS).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
