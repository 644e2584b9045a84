//! How things stand: boards, ownership, what is under way, what waits, what ended badly.

mod accept;
mod boards;
mod deliveries;
mod held;
mod lag;
mod pending;
mod unserved;

use std::{collections::BTreeMap, path::Path};

use kanban_notify::time::Timestamp;
use serde::Serialize;

use super::{Context, ledger, time::Moment};
use crate::hermes::Ownership;

/// An event of ours is planned within so many seconds of its commit, unless something is in the way.
const LATE: i64 = 60;

/// Everything that `status` tells.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `healthy`, `degraded` or `down`.
    pub health: Health,
    /// Why it is not healthy.
    pub reasons: Vec<String>,
    /// How Hermes and we share the work (law O5).
    pub setup: String,
    /// Whose rows are whose, by platform (law O1).
    pub ownership: Vec<Ownership>,
    /// The processes that deliver now.
    pub instances: Vec<Process>,
    /// The boards.
    pub boards: Vec<BoardHealth>,
    /// Subscriptions of ours that are owed something, the one that waits longest first.
    pub lag: Vec<Lag>,
    /// Deliveries by state, without those that an operator dropped; every state is there.
    pub legs: BTreeMap<String, i64>,
    /// Cursors that are settled and not raised yet.
    pub cursors_to_raise: i64,
    /// When the oldest open delivery was planned.
    pub oldest_open: Option<Moment>,
    /// Requests under way, and those whose outcome is being found out.
    pub lanes: Vec<Lane>,
    /// Deliveries that wait, by destination.
    pub waiting: Vec<Waiting>,
    /// Channels that rest.
    pub pauses: Vec<Paused>,
    /// Rows that nobody or somebody else serves, by board, platform and reason.
    pub unserved: Vec<Unserved>,
    /// Kinds among the newest events of a board that this version does not know.
    pub unknown_kinds: Vec<UnknownKind>,
    /// What of Hermes' files cannot be used.
    pub problems: Vec<String>,
    /// Those of the reasons that are about rows and deliveries.
    #[serde(skip)]
    pub owed: Vec<String>,
}

/// The state in one word; the exit code of `status` follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Exit code 0.
    Healthy,
    /// Exit code 3: something needs a look.
    Degraded,
    /// Exit code 4: nobody delivers.
    Down,
}

/// A process that delivers.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Its name in the ledger.
    pub id: String,
    /// Its process id.
    pub pid: i64,
    /// When it started.
    pub started_at: Moment,
}

/// One board.
#[derive(Clone, Debug, Serialize)]
pub struct BoardHealth {
    /// The ledger's number for it, as in the log's `board.id`; none before it was served.
    pub id: Option<i64>,
    /// Its slug.
    pub slug: String,
    /// Its file.
    pub path: String,
    /// `ok`, or why it is not delivered from.
    pub state: String,
    /// Which file behind the path it is, from 1; above 1 it was replaced.
    pub incarnation: Option<i64>,
    /// What is odd about it and keeps nothing from being delivered.
    pub notes: Vec<String>,
    /// How many subscriptions it has; none where it cannot be read.
    pub subscriptions: Option<usize>,
    /// The newest event; none where it cannot be read.
    pub newest_event: Option<i64>,
}

/// A lane that is held.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Where it leads.
    pub lane: String,
    /// `under way`, or `unknown` while the outcome is being found out.
    pub state: String,
    /// Why nothing is known; empty otherwise.
    pub reason: String,
    /// Deliveries in the claim.
    pub legs: i32,
    /// Since when.
    pub since: Moment,
}

/// Deliveries of one state to one destination.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// The channel.
    pub channel: String,
    /// The chat or session.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// `planned` or `retrying`.
    pub state: String,
    /// The deliveries, for `dead show`.
    pub ids: Vec<i64>,
    /// What came of the last attempt; empty when there was none.
    pub verdict: String,
    /// Why; empty when there was none.
    pub reason: String,
    /// When the first of them may be tried.
    pub due_at: Moment,
    /// What the first of them waits for, as far as can be seen from outside.
    pub held_by: String,
}

/// A subscription that is owed something.
#[derive(Clone, Debug, Serialize)]
pub struct Lag {
    /// The board.
    pub board: String,
    /// The task.
    pub task: String,
    /// The platform.
    pub platform: String,
    /// The chat or session.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// The ledger's id of its copy, as in `sub list`; none before it was served.
    pub subscription: Option<i64>,
    /// How many events are not told yet.
    pub events: i64,
    /// When the oldest of them was written.
    pub oldest_at: Moment,
    /// How many seconds ago that was.
    pub seconds: i64,
}

/// A kind of event that this version does not know, so that nobody is told of it.
#[derive(Clone, Debug, Serialize)]
pub struct UnknownKind {
    /// The board.
    pub board: String,
    /// Its name.
    pub kind: String,
    /// How many of the newest events are of it.
    pub events: i64,
    /// The newest of them.
    pub newest_event: i64,
}

/// A channel that rests.
#[derive(Clone, Debug, Serialize)]
pub struct Paused {
    /// The channel.
    pub channel: String,
    /// Until when.
    pub until: Moment,
    /// Why.
    pub reason: String,
    /// Whether a credential is at fault, which somebody has to mend.
    pub credential: bool,
}

/// Rows of one board and platform that we do not serve.
#[derive(Clone, Debug, Serialize)]
pub struct Unserved {
    /// The board.
    pub board: String,
    /// The platform.
    pub platform: String,
    /// How many rows.
    pub rows: usize,
    /// Why.
    pub reason: String,
    /// Whether nobody else serves them either, as far as can be seen.
    pub by_nobody: bool,
}

/// Looks at everything once; changes nothing. What cannot be looked at is a reason, not an error.
pub fn status(ctx: &Context) -> Status {
    let mut reasons = Vec::new();
    if let Some((said, next)) = ledger::misplaced(ctx) {
        reasons.push(format!("ledger {}: {said}; {next}", ctx.config.ledger.display()));
    }
    let mut noted = |error: anyhow::Error| reasons.push(format!("{error:#}"));
    let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
    let outlook =
        crate::wiring::outlook(&ctx.config, &ctx.env, &hermes).map_err(anyhow::Error::from);
    let outlook = outlook.map_err(&mut noted).unwrap_or_default();
    let world = &outlook.world;
    let found = ctx.boards().map_err(&mut noted).unwrap_or_default();
    let ledger = ctx.ledger().and_then(|ledger| ledger.map(deliveries::Known::read).transpose());
    let known = ledger.map_err(&mut noted).unwrap_or_default().unwrap_or_default();
    let policy = ctx.config.policy(false);

    let looked = boards::look(&found, &known, &policy, &outlook);
    for board in looked.boards.iter().filter(|board| board.state != "ok") {
        reasons.push(format!("board {}: {}", board.slug, board.state));
    }
    let now = kanban_store::ledger::now();
    let oldest = Timestamp::from_micros(now).before(policy.max_age).secs();
    let lag = lag::lag(&known.lags, &known.copies, &looked.pending, oldest, now);
    let unserved = unserved::rows(&looked.subs);
    let mut owed = unserved::reasons(&unserved, &outlook, &ctx.config.hermes_home);
    reasons.extend(unserved::refused(&unserved, &outlook));
    let mut problems = hermes.problems();
    problems.extend(unserved::problems(&unserved, &outlook));
    let mut status = Status {
        health: Health::Healthy,
        reasons: Vec::new(),
        setup: hermes.setup_line(&ctx.config.owner, looked.generation),
        ownership: hermes.ownership(&policy, world),
        instances: Vec::new(),
        boards: looked.boards,
        lag,
        legs: BTreeMap::new(),
        cursors_to_raise: 0,
        oldest_open: None,
        lanes: Vec::new(),
        waiting: Vec::new(),
        pauses: Vec::new(),
        unserved,
        unknown_kinds: looked.unknown_kinds,
        problems,
        owed: Vec::new(),
    };
    deliveries::fill(&mut status, known, &policy, world);
    owed.extend(unread(&status, &looked.pending, oldest, now));
    owed.extend(deliveries::reasons(&status, &policy));
    reasons.extend(owed.iter().cloned());
    status.owed = owed;
    status.health = match (status.instances.is_empty(), reasons.is_empty()) {
        (true, _) => {
            reasons.insert(0, "no process delivers; start `kanban-gateway run`".to_owned());
            Health::Down
        }
        (false, false) => Health::Degraded,
        (false, true) => Health::Healthy,
    };
    status.reasons = reasons;
    status
}

/// How much of a board is not settled, or not even taken in.
pub(super) fn owed(ctx: &Context, slug: &str, path: &Path) -> anyhow::Result<i64> {
    let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
    let outlook = crate::wiring::outlook(&ctx.config, &ctx.env, &hermes)?;
    let ledger = ctx.ledger()?.map(deliveries::Known::read).transpose()?;
    let known = ledger.unwrap_or_default();
    let policy = ctx.config.policy(false);
    let looked = boards::look(&[(slug.to_owned(), path.to_owned())], &known, &policy, &outlook);
    let now = Timestamp::from_micros(kanban_store::ledger::now());
    let oldest = now.before(policy.max_age).secs();
    let pending = looked.pending.iter().flat_map(|(_, rows)| rows);
    let pending: i64 = pending.filter_map(|row| Some(row.since(oldest)?.0)).sum();
    let settling = known.board(path).map_or(0, |board| known.owed(board.id));
    Ok(settling.saturating_add(pending))
}

/// Whether a process is alive that delivers.
pub fn is_delivering(ctx: &Context) -> anyhow::Result<bool> {
    let Some(mut ledger) = ctx.ledger()? else { return Ok(false) };
    Ok(!ledger.living()?.is_empty())
}

/// Boards that deliver and are far behind their events.
fn unread(
    status: &Status,
    pending: &[(String, Vec<pending::Pending>)],
    since: i64,
    now: i64,
) -> Vec<String> {
    let late = (now / 1_000_000).saturating_sub(LATE);
    let ok =
        |slug: &str| status.boards.iter().any(|board| board.slug == slug && board.state == "ok");
    let mut reasons = Vec::new();
    for (slug, rows) in pending.iter().filter(|(slug, _)| ok(slug)) {
        let owed = rows.iter().filter_map(|row| row.since(since));
        let (events, oldest) =
            owed.fold((0, now), |(events, oldest), (more, at)| (events + more, oldest.min(at)));
        if events > 0 && oldest < late && !status.instances.is_empty() {
            let count =
                if events == 1 { "1 event is".to_owned() } else { format!("{events} events are") };
            let since = Moment::from_secs(oldest);
            reasons.push(format!(
                "board {slug}: {count} not taken in, the oldest of {since}; see the log of `run`"
            ));
        }
    }
    reasons
}
