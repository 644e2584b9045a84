//! Dead letters and replays: the operator's hand on what ended (law D11).

mod delivery;

use anyhow::{Context as _, bail};
use kanban_notify::ownership;
use kanban_store::{
    board::FoundTask,
    ledger::operator::{DeadDetail, DeadLeg, Operator, ReplayFilter, SubscriptionFilter},
};

pub use delivery::{Attempted, Claim, Delivery, Shown};
pub use kanban_store::ledger::operator::Decision;

use super::{Context, Missing, Unusable, tasks::the_one};

/// Which ended deliveries a replay takes.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Of this board.
    pub board: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// Of this subscription of the ledger.
    pub subscription: Option<i64>,
    /// Of events since then, in Unix seconds.
    pub since: Option<i64>,
}

/// The dead letters, oldest first.
pub fn list(ctx: &Context, dropped: bool) -> anyhow::Result<Vec<DeadLeg>> {
    match ctx.ledger()? {
        Some(mut ledger) => Ok(ledger.dead_list(dropped)?),
        None => Ok(Vec::new()),
    }
}

/// Everything about one delivery.
pub fn show(ctx: &Context, leg: i64) -> anyhow::Result<DeadDetail> {
    let mut ledger = ledger(ctx)?;
    let none = || Missing(format!("there is no delivery {leg}; see `kanban-gateway dead list`"));
    let mut shown = ledger.dead_show(leg)?.ok_or_else(none)?;
    let DeadLeg { platform, kind, profile, due_at, .. } = &mut shown.leg;
    let channel = ownership::channel(platform, kind == "wake", profile);
    // Nothing goes out while its channel rests.
    let rest = ledger.pauses()?.into_iter().find(|pause| pause.channel == channel.as_str());
    if let Some(pause) = rest.filter(|pause| pause.until > kanban_store::ledger::now()) {
        *due_at = pause.until.max(*due_at);
    }
    Ok(shown)
}

/// Plans dead letters anew; all of them for no ids.
pub fn retry(ctx: &Context, legs: &[i64]) -> anyhow::Result<Vec<Decision>> {
    let mut ledger = ledger(ctx)?;
    let all: Vec<i64> = match legs {
        [] => ledger.dead_list(false)?.iter().map(|leg| leg.id).collect(),
        some => some.to_vec(),
    };
    Ok(ledger.dead_retry(&all)?)
}

/// Hides dead letters.
pub fn discard(ctx: &Context, legs: &[i64]) -> anyhow::Result<Vec<Decision>> {
    Ok(ledger(ctx)?.dead_drop(legs)?)
}

/// Sends ended deliveries again, or only says which with `preview`.
pub fn replay(
    ctx: &Context,
    selection: &Selection,
    preview: bool,
) -> anyhow::Result<(Vec<DeadLeg>, Vec<Decision>)> {
    if selection.task.is_none() && selection.subscription.is_none() && selection.since.is_none() {
        bail!(Unusable("say what to replay: --task, --subscription or --since".to_owned()));
    }
    let mut ledger = ledger(ctx)?;
    let filter = ReplayFilter {
        board: selection.board.clone(),
        task: known(&mut ledger, selection)?,
        subscription: selection.subscription,
        since: selection.since.map(|since| since.saturating_mul(1_000_000)),
    };
    let found = ledger.replay_preview(&filter)?;
    let done = if preview { Vec::new() } else { ledger.replay(&filter)? };
    Ok((found, done))
}

/// Names that the ledger has never heard match nothing, and more likely are mistaken. Answers the whole id of
/// the task.
fn known(ledger: &mut Operator, selection: &Selection) -> anyhow::Result<Option<String>> {
    if let Some(slug) = &selection.board {
        let boards: Vec<String> =
            ledger.boards_list()?.into_iter().map(|board| board.slug).collect();
        if !boards.contains(slug) {
            bail!(Missing(format!(
                "nothing matches: the ledger knows no board `{slug}`, only: {}",
                boards.join(", ")
            )));
        }
    }
    let copies = ledger.subscription_list(&SubscriptionFilter::default())?;
    let mut whole = None;
    if let Some(task) = &selection.task {
        let on_board = |slug: &str| selection.board.as_ref().is_none_or(|wanted| *wanted == *slug);
        let tasks = copies.iter().filter(|copy| on_board(&copy.board));
        let tasks = tasks.map(|copy| copy.task.as_str());
        whole = the_one(FoundTask::among(tasks, task), task)?;
        if whole.is_none() {
            bail!(Missing(format!(
                "nothing matches: no subscription to task {task} was served; see `kanban-gateway sub list`"
            )));
        }
    }
    if let Some(id) = selection.subscription
        && !copies.iter().any(|copy| copy.id == id)
    {
        bail!(Missing(format!(
            "nothing matches: there is no subscription {id}; ids are in `kanban-gateway sub list`"
        )));
    }
    Ok(whole)
}

fn ledger(ctx: &Context) -> anyhow::Result<Operator> {
    ctx.ledger()?.with_context(|| {
        format!(
            "there is no ledger at {}; start `kanban-gateway run` once, or name it with `ledger` in the \
             configuration",
            ctx.config.ledger.display()
        )
    })
}
