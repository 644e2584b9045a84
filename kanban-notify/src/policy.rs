//! What the operator decides, and what the world around us is like: plain data, checked by the binary.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{artifacts::Artifacts, event::Kind, ids::ChannelName, time::Timestamp};

/// The operator's decisions. Each field's default is the documented one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Our name in `notifier_profile` (law O1).
    pub owner: String,
    /// Which rows are adopted (law O2).
    pub adopt: Adopt,
    /// Events older than this when first planned are expired (law F4).
    pub max_age: Duration,
    /// A leg that could not be delivered for so long is parked (law F4).
    pub give_up_after: Duration,
    /// A row whose task is done or blocked goes when nothing happened for so long; `None` keeps it for
    /// ever (law S3).
    pub retention: Option<Duration>,
    /// A pass that would expire more events than this waits for `--accept` (law F4).
    pub expire_without_asking: usize,
    /// Whether the operator accepted that (`--accept`).
    pub accept: bool,
    /// What to do with an outcome that stays unknown (law D7).
    pub on_unknown: OnUnknown,
    /// Whether a message whose thread is gone goes once to the chat above (law D8).
    pub thread_fallback: bool,
    /// First and longest pause between attempts (law D8).
    pub backoff: (Duration, Duration),
    /// Claims in flight on one channel (law D6).
    pub concurrency: usize,
    /// Claims in flight in all (law D6).
    pub concurrency_total: usize,
    /// Files of completed tasks.
    pub artifacts: Artifacts,
    /// Wakes.
    pub wake: WakePolicy,
}

/// What concerns wakes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakePolicy {
    /// Kinds that may wake (law W5).
    pub kinds: BTreeSet<Kind>,
    /// Whether the task's own session may be woken for rows of push platforms (law W2).
    pub task_session: bool,
    /// Whether a session that the server does not know is woken all the same (law W8).
    pub create_unknown_session: bool,
    /// How long a busy session is waited for before it is woken all the same (law W4).
    pub busy_wait: Duration,
    /// The longest a turn can take; an unanswered row older than this is no running turn (law W4).
    pub longest_turn: Duration,
    /// How long an unknown outcome rests before the first look (law W6).
    pub settle: Duration,
    /// The least time between two wakes of one session (law W5).
    pub min_interval: Duration,
    /// The most wakes of one session within an hour (law W5).
    pub max_per_hour: u32,
    /// Turns that may fail before a leg is parked (law W7).
    pub max_failed_turns: u32,
    /// The longest wake text, in bytes (law W5).
    pub max_bytes: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            owner: "kanban-gateway".to_owned(),
            adopt: Adopt::Auto,
            max_age: Duration::from_secs(7 * 86_400),
            give_up_after: Duration::from_secs(72 * 3_600),
            retention: Some(Duration::from_secs(30 * 86_400)),
            expire_without_asking: 100,
            accept: false,
            on_unknown: OnUnknown::Resend,
            thread_fallback: true,
            backoff: (Duration::from_secs(2), Duration::from_secs(900)),
            concurrency: 4,
            concurrency_total: 64,
            artifacts: Artifacts::default(),
            wake: WakePolicy::default(),
        }
    }
}

impl Default for WakePolicy {
    fn default() -> Self {
        Self {
            kinds: Kind::READ.iter().map(|(kind, _)| *kind).filter(|kind| kind.wakes()).collect(),
            task_session: false,
            create_unknown_session: true,
            busy_wait: Duration::from_secs(600),
            longest_turn: Duration::from_secs(1_800),
            settle: Duration::from_secs(5),
            min_interval: Duration::ZERO,
            max_per_hour: 60,
            max_failed_turns: 3,
            max_bytes: 16_384,
        }
    }
}

/// Which rows of others are taken over (law O2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// `api_server` rows on files without `delivery_mode`.
    Auto,
    /// As `Auto`, and every row of these platforms.
    Platforms(BTreeSet<String>),
    /// None.
    Off,
}

/// What to do when an outcome cannot be found out (law D7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnknown {
    /// Send it once more, marked as a possible repeat.
    Resend,
    /// Leave it to the operator.
    Park,
}

/// What can be reached, and who else is at work (law O4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// The channels we have, with what each can do.
    pub channels: BTreeMap<ChannelName, Ability>,
    /// Platforms that a live Hermes notifier serves, with the profiles it serves them for.
    pub hermes: BTreeMap<String, BTreeSet<String>>,
    /// Platforms that we serve although a live Hermes notifier does too (`alongside = true`).
    pub alongside: BTreeSet<String>,
    /// Since when the process behind a channel has been running, to the second, where that can be seen:
    /// no turn from before is running any more.
    pub up_since: BTreeMap<ChannelName, Timestamp>,
}

/// What a channel can do about an unknown outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ability {
    /// The receiver drops a second request with the same key (law D7).
    pub deduplicates: bool,
    /// Sessions can be looked into (law W6).
    pub readable: bool,
}
