//! Board events as the notifier sees them, and what their kinds mean to it.

use sha2::{Digest, Sha256};

use crate::{ids::EventId, time::Timestamp};

/// The kinds of `task_events` that concern delivery; every other kind is [`Kind::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The task was completed.
    Completed,
    /// A worker stopped and waits for somebody.
    Blocked,
    /// The circuit breaker ended the attempts.
    GaveUp,
    /// The worker's process vanished.
    Crashed,
    /// An attempt ran into its time or iteration limit.
    TimedOut,
    /// A person moved the card.
    Status,
    /// A worker asks for a review.
    ReviewRequested,
    /// A reviewer asks for changes.
    ChangesRequested,
    /// The same block came again; the card went to triage.
    BlockLoopDetected,
    /// The card was archived: the last event of a task.
    Archived,
    /// The card was unblocked; silent.
    Unblocked,
    /// Anything else, known or not: never delivered, never an error.
    Other,
}

impl Kind {
    /// Every kind that a pass has to read from a board, with its name there.
    pub const READ: [(Self, &'static str); 11] = [
        (Self::Completed, "completed"),
        (Self::Blocked, "blocked"),
        (Self::GaveUp, "gave_up"),
        (Self::Crashed, "crashed"),
        (Self::TimedOut, "timed_out"),
        (Self::Status, "status"),
        (Self::ReviewRequested, "review_requested"),
        (Self::ChangesRequested, "changes_requested"),
        (Self::BlockLoopDetected, "block_loop_detected"),
        (Self::Archived, "archived"),
        (Self::Unblocked, "unblocked"),
    ];

    /// The other kinds that a board may have, of which nobody is told, as far as this version knows:
    /// of every Hermes since 0.13, and the names that older ones gave to some of them.
    pub const SILENT: [&'static str; 37] = [
        "created",
        "assigned",
        "linked",
        "unlinked",
        "commented",
        "attached",
        "attachment_removed",
        "promoted",
        "promoted_manual",
        "claimed",
        "claim_rejected",
        "claim_extended",
        "spawned",
        "heartbeat",
        "reclaimed",
        "reclaim_deferred",
        "stale",
        "protocol_violation",
        "rate_limited",
        "spawn_failed",
        "respawn_guarded",
        "dependency_wait",
        "scheduled",
        "completion_blocked_hallucination",
        "suspected_hallucinated_references",
        "edited",
        "reprioritized",
        "specified",
        "decomposed",
        "tip_scratch_workspace",
        "review_reopened",
        "descendant_invalidated",
        "archive_worker_termination",
        "recipe_instantiated",
        "ready",
        "priority",
        "spawn_auto_blocked",
    ];

    /// Whether `name` is a kind that this version knows, told of or not.
    pub fn is_known(name: &str) -> bool {
        Self::parse(name) != Self::Other || Self::SILENT.contains(&name)
    }

    /// The kind named `name` on a board.
    pub fn parse(name: &str) -> Self {
        Self::READ.iter().find(|(_, n)| *n == name).map_or(Self::Other, |(kind, _)| *kind)
    }

    /// The name on a board; `other` for kinds that are none of ours.
    pub fn name(self) -> &'static str {
        Self::READ.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }

    /// Whether a person is told of this kind.
    pub fn pings(self) -> bool {
        self.wakes() || self == Self::Status
    }

    /// Whether an agent is woken by this kind, unless configured otherwise.
    pub fn wakes(self) -> bool {
        !matches!(self, Self::Status | Self::Archived | Self::Unblocked | Self::Other)
    }
}

/// One row of `task_events`, read leniently: a payload of the wrong shape is an absent one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Rowid on the board.
    pub id: EventId,
    /// The task it belongs to.
    pub task: String,
    /// What happened.
    pub kind: Kind,
    /// The payload as JSON text; `None` for SQL NULL and for values that are not text.
    pub payload: Option<String>,
    /// How many bytes the payload has on the board, when `payload` is only its beginning, or nothing.
    pub payload_cut: Option<u64>,
    /// The attempt it belongs to.
    pub run: Option<i64>,
    /// When it was written; boards keep whole seconds.
    pub created_at: Timestamp,
}

impl Event {
    /// A hash that tells this event from another one that came to have its id (law B6).
    pub fn print(&self) -> String {
        let mut hash = Sha256::new();
        for part in [
            self.task.as_str(),
            self.kind.name(),
            &self.run.map(|run| run.to_string()).unwrap_or_default(),
            &self.created_at.secs().to_string(),
            self.payload.as_deref().unwrap_or_default(),
        ] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What of a task is told with its events, as it was when the event was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// `tasks.id`.
    pub id: String,
    /// `tasks.title`.
    pub title: String,
    /// `tasks.assignee`.
    pub assignee: Option<String>,
    /// `tasks.status`.
    pub status: String,
    /// `tasks.result`, or its beginning.
    pub result: Option<String>,
    /// `tasks.session_id`, where the file has the column. Never a destination by itself (law W2).
    pub session_id: Option<String>,
    /// `tasks.max_runtime_seconds`.
    pub max_runtime_seconds: Option<i64>,
}
