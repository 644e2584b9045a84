//! How things stand: boards, ownership, what is under way, what waits, what ended badly.

use std::collections::BTreeMap;

use kanban_store::{
    board::Board,
    ledger::{
        operator::{LaneInfo, Operator},
        rows::PauseRow,
    },
};
use serde::Serialize;

use super::{Context, subs};
use crate::hermes::{Generation, Hermes, Ownership};

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
    /// Deliveries by state, without those that an operator dropped.
    pub legs: BTreeMap<String, i64>,
    /// Cursors that are settled and not raised yet.
    pub cursors_to_raise: i64,
    /// When the oldest open delivery was planned, in Unix seconds.
    pub oldest_open: Option<i64>,
    /// Requests under way, and those whose outcome is being found out.
    pub lanes: Vec<Lane>,
    /// Channels that rest.
    pub pauses: Vec<Paused>,
    /// Rows that nobody or somebody else serves, by reason.
    pub unserved: BTreeMap<String, usize>,
    /// What of Hermes' files cannot be used.
    pub problems: Vec<String>,
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
    /// When it started, in Unix seconds.
    pub started_at: i64,
}

/// One board.
#[derive(Clone, Debug, Serialize)]
pub struct BoardHealth {
    /// Its slug.
    pub slug: String,
    /// Its file.
    pub path: String,
    /// `ok`, or why it is not delivered from.
    pub state: String,
    /// How many subscriptions it has.
    pub subscriptions: usize,
    /// The newest event.
    pub newest_event: i64,
}

/// A lane that is held.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Where it leads.
    pub lane: String,
    /// `open` or `unknown`, as the ledger has it.
    pub state: String,
    /// Deliveries in the claim.
    pub legs: i32,
    /// Since when, in Unix seconds.
    pub since: i64,
}

/// A channel that rests.
#[derive(Clone, Debug, Serialize)]
pub struct Paused {
    /// The channel.
    pub channel: String,
    /// Until when, in Unix seconds.
    pub until: i64,
    /// Why.
    pub reason: String,
}

/// Looks at everything once; changes nothing.
pub fn status(ctx: &Context) -> anyhow::Result<Status> {
    let mut reasons = Vec::new();
    let (boards, generation) = boards(ctx, &mut reasons)?;
    let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
    let world = subs::world(ctx)?;
    let policy = ctx.config.policy(false);
    let mut unserved: BTreeMap<String, usize> = BTreeMap::new();
    for line in subs::list(ctx, None)? {
        if line.served != "ours" && line.served != "to be adopted" {
            *unserved.entry(format!("{}: {}", line.platform, line.served)).or_default() += 1;
        }
    }
    let mut status = Status {
        health: Health::Healthy,
        reasons: Vec::new(),
        setup: setup(&hermes, &ctx.config.owner, generation),
        ownership: hermes.ownership(&policy, &world),
        instances: Vec::new(),
        boards,
        legs: BTreeMap::new(),
        cursors_to_raise: 0,
        oldest_open: None,
        lanes: Vec::new(),
        pauses: Vec::new(),
        unserved,
        problems: hermes.problems(),
    };
    if let Some(mut ledger) = ctx.ledger()? {
        fill(&mut status, &mut ledger)?;
    }
    reasons.extend(dead_letters(&status.legs));
    for pause in &status.pauses {
        reasons.push(format!("channel {} rests: {}", pause.channel, pause.reason));
    }
    status.health = match (status.instances.is_empty(), reasons.is_empty()) {
        (true, _) => {
            reasons.insert(0, "no process delivers; start `kanban-gateway run`".to_owned());
            Health::Down
        }
        (false, false) => Health::Degraded,
        (false, true) => Health::Healthy,
    };
    status.reasons = reasons;
    Ok(status)
}

/// What `dead list` lists, as a reason for a look.
fn dead_letters(legs: &BTreeMap<String, i64>) -> Option<String> {
    let of = |state: &str| legs.get(state).copied().unwrap_or(0);
    let (parked, expired) = (of("parked"), of("expired"));
    let word = if parked + expired == 1 { "dead letter" } else { "dead letters" };
    (parked + expired > 0).then(|| {
        let count = parked + expired;
        format!(
            "{count} {word} ({parked} parked, {expired} expired); see `kanban-gateway dead list`"
        )
    })
}

fn setup(hermes: &Hermes, owner: &str, generation: Generation) -> String {
    hermes.setup_line(owner, generation)
}

fn boards(
    ctx: &Context,
    reasons: &mut Vec<String>,
) -> anyhow::Result<(Vec<BoardHealth>, Generation)> {
    let mut all = Vec::new();
    let mut generation = Generation::Unknown;
    for (slug, path) in ctx.boards()? {
        let mut health = BoardHealth {
            slug: slug.clone(),
            path: path.display().to_string(),
            state: "ok".to_owned(),
            subscriptions: 0,
            newest_event: 0,
        };
        let looked = Board::open(&path).map_err(anyhow::Error::from).and_then(|mut board| {
            let newer = board.features().delivery_mode;
            if newer {
                generation = Generation::Newer;
            } else if generation == Generation::Unknown {
                generation = Generation::Old;
            }
            if !board.is_writable() {
                "it cannot be written, so nothing is delivered from it"
                    .clone_into(&mut health.state);
            }
            health.newest_event = board.sequence()?;
            health.subscriptions = subs::rows(&mut board)?.len();
            Ok(())
        });
        if let Err(error) = looked {
            health.state = format!("{error:#}");
        }
        if health.state != "ok" {
            reasons.push(format!("board {slug}: {}", health.state));
        }
        all.push(health);
    }
    Ok((all, generation))
}

fn fill(status: &mut Status, ledger: &mut Operator) -> anyhow::Result<()> {
    let counts = ledger.counts()?;
    status.legs = counts.legs;
    status.cursors_to_raise = counts.raises;
    status.oldest_open = counts.oldest_open.map(seconds);
    status.instances = ledger
        .instances()?
        .into_iter()
        .filter(|instance| is_alive(instance.pid))
        .map(|instance| Process {
            id: instance.id,
            pid: instance.pid,
            started_at: seconds(instance.started_at),
        })
        .collect();
    status.lanes = ledger.lanes()?.into_iter().map(lane).collect();
    let now = super::unix_now();
    let pauses = ledger.pauses()?.into_iter().filter(|pause| seconds(pause.until) > now);
    status.pauses = pauses.map(paused).collect();
    Ok(())
}

fn lane(lane: LaneInfo) -> Lane {
    Lane {
        lane: lane.lane,
        state: lane.claim.state,
        legs: lane.claim.legs,
        since: seconds(lane.claim.intended_at),
    }
}

fn paused(pause: PauseRow) -> Paused {
    Paused { channel: pause.channel, until: seconds(pause.until), reason: pause.reason }
}

fn seconds(micros: i64) -> i64 {
    micros.div_euclid(1_000_000)
}

/// A process that is gone may still be listed until another one takes its claims over.
fn is_alive(pid: i64) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}
