//! Identities: small newtypes, so that a task is never passed where a session is meant.

/// A board as the ledger knows it, whatever path leads to it (law B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardId(pub i64);

/// How often the file behind a board was replaced by another one; counts from 1 (law B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub i64);

/// A row of `task_events`. Ids grow in commit order and are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub i64);

/// A subscription as the ledger copied it: a key and its `created_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub i64);

/// One subscription's need for one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LegId(pub i64);

/// One request to one destination, as recorded in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub i64);

/// A configured way out: a push platform's name, or `api_server/<profile>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(pub String);

impl ChannelName {
    /// The channel that wakes sessions of one Hermes profile.
    pub fn api_server(profile: &str) -> Self {
        Self(format!("api_server/{profile}"))
    }

    /// Whether it wakes sessions.
    pub fn is_api_server(&self) -> bool {
        self.0.starts_with("api_server/")
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ChannelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
