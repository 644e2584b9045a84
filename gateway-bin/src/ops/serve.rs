//! The daemon, and one round of it.

use anyhow::{Context as _, bail};
use kanban_notify::driver::Ended;
use kanban_store::ledger::operator::Counts;

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
    /// Boards that were not delivered from, and why.
    pub boards: Vec<(String, String)>,
}

impl Left {
    /// Whether everything has its outcome.
    pub fn nothing(&self) -> bool {
        self.waiting == 0 && self.unknown == 0 && self.boards.is_empty()
    }
}

/// Delivers until a signal ends it; answers with how it ended.
pub async fn run(ctx: Context, accept: bool) -> anyhow::Result<Left> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let (before, gateway) = build(&ctx, accept)?;
    gateway.announce();
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
            return Ok(left(&ctx, &before, ended.context("the gateway stopped working")?));
        }
    };
    tracing::info!(signal, "stopping; what is in flight may finish");
    tokio::select! {
        ended = running.stop() => {
            Ok(left(&ctx, &before, ended.context("the gateway stopped working")?))
        }
        again = signals.next() => {
            bail!("ended at once by a second {again}; what was in flight is found out at the next start")
        }
    }
}

/// Delivers what is due now and ends.
pub async fn once(ctx: Context, accept: bool) -> anyhow::Result<Left> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let (before, gateway) = build(&ctx, accept)?;
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
    Ok(left(&ctx, &before, ended.context("the gateway stopped working")?))
}

/// Refuses to call it an end in order when the ledger was lost on the way.
fn lost(running: &Running) -> anyhow::Result<()> {
    match running.lost() {
        Some(lost) => Err(anyhow::Error::new(lost)),
        None => Ok(()),
    }
}

fn build(ctx: &Context, accept: bool) -> anyhow::Result<(Counts, Gateway)> {
    let Context { config, env } = ctx.clone();
    let gateway = Gateway::build(config, env, Options { accept, ..Options::default() })?;
    Ok((counts(ctx), gateway))
}

fn counts(ctx: &Context) -> Counts {
    // Only for the last line: what cannot be counted was told of before.
    let counted = ctx.ledger().ok().flatten().and_then(|mut ledger| ledger.counts().ok());
    counted.unwrap_or_default()
}

/// Looks at what there is to be said at the end.
fn left(ctx: &Context, before: &Counts, ended: Ended) -> Left {
    let status = status::status(ctx);
    let of = |legs: &std::collections::BTreeMap<String, i64>, state: &str| {
        legs.get(state).copied().unwrap_or(0)
    };
    let since = |state: &str| (of(&status.legs, state) - of(&before.legs, state)).max(0);
    Left {
        ended,
        delivered: since("delivered"),
        dead: since("parked") + since("expired"),
        waiting: status.waiting.iter().map(|group| group.ids.len()).sum(),
        due_at: status.waiting.iter().map(|group| group.due_at).min(),
        // What is under way in another process is that one's to see through.
        unknown: of(&status.legs, "unknown")
            + if status.instances.is_empty() { of(&status.legs, "intended") } else { 0 },
        boards: status
            .boards
            .into_iter()
            .filter(|board| board.state != "ok")
            .map(|board| (board.slug, board.state))
            .collect(),
    }
}
