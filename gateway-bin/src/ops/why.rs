//! The whole story of one task: each event, each delivery that it needed, and what came of it.

use kanban_store::ledger::operator::DeadDetail;
use serde::Serialize;

use super::{Context, counted, tasks::resolve, time::Moment};

/// One thing that happened.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// When.
    pub at: Moment,
    /// What, in words.
    pub what: String,
    /// The event that it is about.
    pub event: Option<i64>,
    /// The delivery that it is about; `dead show` has everything about it.
    pub delivery: Option<i64>,
}

/// Events of a task that are read; the newest ones.
const EVENTS: usize = 1_000;

/// Everything that happened to a task on a board, and to whoever asked for it, in order.
///
/// The ledger keeps the last request of each delivery; of earlier ones it keeps how many failed.
pub fn why(ctx: &Context, board: Option<&str>, task: &str) -> anyhow::Result<Vec<Step>> {
    let (found, mut board) = ctx.board(board)?;
    let task = resolve(&mut board, &found.slug, task)?;
    let mut steps: Vec<Step> = board
        .newest_events(Some(&task), EVENTS)?
        .into_iter()
        .map(|event| Step {
            at: Moment::from_secs(event.created_at),
            what: format!("event {}: {}", event.id, event.kind),
            event: Some(event.id),
            delivery: None,
        })
        .collect();
    if let Some(mut ledger) = ctx.ledger()? {
        for detail in ledger.of_task(&found.slug, &task)? {
            steps.extend(story(&detail));
        }
    }
    // Boards keep whole seconds: an event comes before what it led to.
    steps.sort_by_key(|step| (step.at.micros() / 1_000_000, step.delivery, step.at));
    Ok(steps)
}

fn story(detail: &DeadDetail) -> Vec<Step> {
    let leg = &detail.leg;
    let thread = if leg.thread.is_empty() { String::new() } else { format!(" #{}", leg.thread) };
    let to = format!("{} to {} {}{thread}", leg.kind, leg.platform, leg.chat);
    let step = |at: i64, what: String| Step {
        at: Moment::from_micros(at),
        what,
        event: Some(leg.event),
        delivery: Some(leg.id),
    };
    let mut steps = vec![step(leg.planned_at, format!("{to}: planned"))];
    if let Some(claim) = &detail.claim {
        let with = counted(claim.legs, "message");
        steps.push(step(
            claim.intended_at,
            format!("{to}: sent in request {} with {with}", claim.id),
        ));
        if let Some(settled) = claim.settled_at {
            let words = [claim.verdict.as_str(), claim.detail.as_str()];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            steps.push(step(settled, format!("{to}: answered: {}", words.join(": "))));
        }
    }
    let failed = match leg.failures {
        0 => String::new(),
        some => format!(", after {}", counted(some, "failure")),
    };
    let reason = if leg.reason.is_empty() { String::new() } else { format!(": {}", leg.reason) };
    let last = steps.iter().map(|step| step.at.micros()).max().unwrap_or(leg.planned_at);
    steps.push(step(last, format!("{to}: {}{failed}{reason}", leg.state)));
    steps
}
