//! The daemon, and one round of it.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use kanban_notify::driver::Ended;
use kanban_store::ledger;

use super::{Context, status, time::Moment};
use crate::{Gateway, Options, Running, shutdown::Signals};

/// How a run ended, and what it leaves.
#[derive(Clone, Debug)]
pub struct Left {
    /// How.
    pub ended: Ended,
    /// Messages that were delivered meanwhile, by whomever.
    pub delivered: i64,
    /// Messages that went to the dead letters meanwhile: parked, or too old.
    pub dead: i64,
    /// Messages that are still to be sent.
    pub waiting: usize,
    /// When the first of them may be.
    pub due_at: Option<Moment>,
    /// Messages whose outcome is not known.
    pub unknown: i64,
    /// Rows that nobody serves, so that nobody is told what happens to their tasks.
    pub unserved: usize,
    /// Boards that were not delivered from, and why.
    pub boards: Vec<(String, String)>,
}

impl Left {
    /// Whether everything has its outcome.
    pub fn nothing(&self) -> bool {
        self.waiting == 0 && self.unknown == 0 && self.unserved == 0 && self.boards.is_empty()
    }
}

/// Delivers until a signal ends it; answers with how it ended.
pub async fn run(ctx: Context, accept: bool) -> anyhow::Result<Left> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let (began, gateway) = build(&ctx, accept)?;
    gateway.announce();
    others(&ctx);
    if gateway.boards() == 0 {
        tracing::warn!(
            "no board yet; waiting for one to appear; make one with `kanban-gateway board create`"
        );
    }
    let mut running = gateway.start();
    tracing::info!("ready");
    let signal = tokio::select! {
        signal = signals.next() => signal,
        ended = running.wait() => {
            lost(&running)?;
            return Ok(left(&ctx, began, ended.context("the gateway stopped working")?));
        }
    };
    tracing::info!(signal, "stopping; what is in flight may finish");
    tokio::select! {
        ended = running.stop() => {
            Ok(left(&ctx, began, ended.context("the gateway stopped working")?))
        }
        again = signals.next() => {
            bail!("ended at once by a second {again}; what was in flight is found out at the next start")
        }
    }
}

/// Delivers what is due now and ends.
pub async fn once(ctx: Context, accept: bool) -> anyhow::Result<Left> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let (began, gateway) = build(&ctx, accept)?;
    if gateway.boards() == 0 {
        bail!("{}", super::no_board(&ctx));
    }
    gateway.announce();
    let mut running = gateway.start_once();
    let ended = tokio::select! {
        _ = signals.next() => None,
        ended = running.wait() => Some(ended),
    };
    let ended = match ended {
        Some(ended) => {
            lost(&running)?;
            ended
        }
        None => running.stop().await,
    };
    Ok(left(&ctx, began, ended.context("the gateway stopped working")?))
}

/// Says who else delivers from this ledger: rests of channels and their ends are common to all.
fn others(ctx: &Context) {
    let ours = i64::from(std::process::id());
    // Only for a line of the log: a ledger that cannot be read is told of elsewhere.
    let living = ctx.ledger().ok().flatten().and_then(|mut ledger| ledger.living().ok());
    for other in living.unwrap_or_default().into_iter().filter(|other| other.pid != ours) {
        tracing::warn!(
            pid = other.pid,
            "another process delivers from this ledger too; both need the same keys, or one pauses what the other resumes"
        );
    }
}

/// Refuses to call it an end in order when the ledger was lost on the way.
fn lost(running: &Running) -> anyhow::Result<()> {
    match running.lost() {
        Some(lost) => Err(anyhow::Error::new(lost)),
        None => Ok(()),
    }
}

/// The gateway, and since when what it does counts.
fn build(ctx: &Context, accept: bool) -> anyhow::Result<(i64, Gateway)> {
    let began = ledger::now();
    let Context { config, env } = ctx.clone();
    let gateway = Gateway::build(config, env, Options { accept, ..Options::default() })?;
    Ok((began, gateway))
}

/// What has ended since, by final state.
fn ended_since(ctx: &Context, began: i64) -> BTreeMap<String, i64> {
    // Only for the last line: what cannot be counted was told of before.
    let ledger = ctx.ledger().ok().flatten();
    ledger.and_then(|mut ledger| ledger.ended_since(began).ok()).unwrap_or_default()
}

/// Looks at what there is to be said at the end.
fn left(ctx: &Context, began: i64, ended: Ended) -> Left {
    let status = status::status(ctx);
    let counts = ended_since(ctx, began);
    let of = |legs: &BTreeMap<String, i64>, state: &str| legs.get(state).copied().unwrap_or(0);
    let nobodys = status.unserved.iter().filter(|rows| rows.by_nobody);
    Left {
        ended,
        delivered: of(&counts, "delivered"),
        dead: of(&counts, "parked") + of(&counts, "expired"),
        waiting: status.waiting.iter().map(|group| group.ids.len()).sum(),
        due_at: status.waiting.iter().map(|group| group.due_at).min(),
        // What is under way in another process is that one's to see through.
        unknown: of(&status.legs, "unknown")
            + if status.instances.is_empty() { of(&status.legs, "intended") } else { 0 },
        unserved: nobodys.map(|rows| rows.rows).sum(),
        boards: status
            .boards
            .into_iter()
            .filter(|board| board.state != "ok")
            .map(|board| (board.slug, board.state))
            .collect(),
    }
}
