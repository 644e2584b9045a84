//! Subscriptions: rows of a board as they are read, and the copies of those that are ours.

use crate::{
    ids::{EventId, SubscriptionId},
    time::Timestamp,
};

/// The key of a row of `kanban_notify_subs`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubKey {
    /// Task id.
    pub task: String,
    /// Platform as stored; compare with [`SubKey::platform_name`].
    pub platform: String,
    /// Chat, or the raw session of an API client.
    pub chat: String,
    /// Thread; empty for none.
    pub thread: String,
}

/// The platform name of stateless API sessions.
pub const API_SERVER: &str = "api_server";

impl SubKey {
    /// The platform as compared: trimmed and lower-cased.
    pub fn platform_name(&self) -> String {
        platform_name(&self.platform)
    }

    /// Whether the row stands for an API session.
    pub fn is_api_server(&self) -> bool {
        self.platform_name() == API_SERVER
    }
}

/// A stored platform as it is compared.
pub(crate) fn platform_name(stored: &str) -> String {
    stored.trim().to_lowercase()
}

/// What a row asks for (`delivery_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The file has no such column (0.19 and older), or the value is none of the known ones.
    Unset,
    /// Text only.
    Notify,
    /// Text and a turn.
    NotifyWake,
    /// A turn only.
    Wake,
}

impl Mode {
    /// From the stored text; anything unknown is [`Mode::Unset`].
    pub fn parse(text: Option<&str>) -> Self {
        match text {
            Some("notify") => Self::Notify,
            Some("notify+wake") => Self::NotifyWake,
            Some("wake") => Self::Wake,
            _ => Self::Unset,
        }
    }

    /// The stored text; empty for [`Mode::Unset`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Unset => "",
            Self::Notify => "notify",
            Self::NotifyWake => "notify+wake",
            Self::Wake => "wake",
        }
    }
}

/// A live row of `kanban_notify_subs`, as one pass saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The row's key.
    pub key: SubKey,
    /// When the row was made; with the key, its identity.
    pub created_at: Timestamp,
    /// `last_event_id`.
    pub cursor: EventId,
    /// `notifier_profile` exactly as stored: NULL and `''` differ for the stamp's compare-and-set.
    pub owner: Option<String>,
    /// `user_id`.
    pub user: Option<String>,
    /// `delivery_mode`.
    pub mode: Mode,
    /// SQLite rowid, for the tail over new rows.
    pub rowid: i64,
}

/// The ledger's copy of a row that is or was ours (law O3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The ledger's id.
    pub id: SubscriptionId,
    /// The row's key.
    pub key: SubKey,
    /// The row's `created_at`.
    pub created_at: Timestamp,
    /// The Hermes profile whose server or bot it belongs to; `default` for NULL and `''` (law O6).
    pub profile: String,
    /// Whether we stamped the row, and what stood there before.
    pub adopted: Option<PreviousOwner>,
    /// What the row asks for.
    pub mode: Mode,
    /// Events up to here were settled before we took the row (law F3).
    pub baseline: EventId,
    /// Events up to here have been judged: planned, or found to need nothing.
    pub seen: EventId,
    /// Every event up to here is settled: our high-water mark (law D1).
    pub settled: EventId,
    /// Where the row is in its life.
    pub life: Life,
}

/// What `notifier_profile` was before a row was stamped; `None` is SQL NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousOwner(pub Option<String>);

/// The life of a copied subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Adopted, and our stamp on the row is not confirmed yet: another notifier may still act on it.
    Offered,
    /// The row is on the board and ours.
    Live,
    /// A running Hermes serves the row now: nothing is sent, and what is open waits for what comes of it.
    Theirs,
    /// The row vanished from the board, or was made anew.
    Gone,
    /// The operator gave the row back (`sub release`).
    Released,
}

impl Life {
    /// Every life.
    pub const ALL: [Self; 5] =
        [Self::Offered, Self::Live, Self::Theirs, Self::Gone, Self::Released];

    /// Name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Live => "live",
            Self::Theirs => "theirs",
            Self::Gone => "gone",
            Self::Released => "released",
        }
    }

    /// From the name in the ledger.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|life| life.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_life_is_read_back_from_the_ledger() {
        for life in Life::ALL {
            assert_eq!(Life::parse(life.name()), Some(life));
        }
        assert_eq!(Life::parse("reborn"), None);
    }
}
