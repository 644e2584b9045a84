//! The whole story of one task: who asked for it, each event, each delivery that it needed, every request
//! for it, and what came of it.

use std::collections::{BTreeSet, HashMap};

use kanban_notify::event::Kind;
use kanban_store::ledger::{
    operator::{Attempt, ClaimInfo, DeadDetail, SubscriptionInfo},
    states,
};
use serde::Serialize;

use super::{
    Context, counted, status,
    subs::{self, OfTask, SubLine},
    tasks::resolve,
    time::Moment,
};

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

/// The kind of event that ends every subscription of its task.
const ARCHIVED: &str = "archived";
/// Events of a task that are read; the newest ones.
const EVENTS: usize = 1_000;

/// Everything that happened to a task on a board, and to whoever asked for it, in order.
///
/// Of the requests that delivered nothing the ledger keeps the newest few of each delivery.
pub fn why(ctx: &Context, board: Option<&str>, task: &str) -> anyhow::Result<Vec<Step>> {
    let (found, mut board) = ctx.board(board)?;
    let task = resolve(&mut board, &found.slug, task)?;
    let OfTask { there: subscribed, ended } = subs::of_task(ctx, &found.slug, &mut board, &task)?;
    let details = match ctx.ledger()? {
        Some(mut ledger) => ledger.of_task(&found.slug, &task)?,
        None => Vec::new(),
    };
    let told: BTreeSet<i64> = details.iter().map(|detail| detail.leg.event).collect();
    let mut steps: Vec<Step> = subscribed.iter().map(subscription).collect();
    let mut archived = None;
    for event in board.newest_events(Some(&task), EVENTS)? {
        if event.kind == ARCHIVED {
            archived = Some((event.id, event.created_at));
        }
        let untold = if told.contains(&event.id) { None } else { untold(&event, &subscribed) };
        let untold = untold.map(|reason| format!("; {reason}")).unwrap_or_default();
        steps.push(Step {
            at: Moment::from_secs(event.created_at),
            what: format!("event {}: {}{untold}", event.id, event.kind),
            event: Some(event.id),
            delivery: None,
        });
    }
    steps.extend(ended.iter().flat_map(|copy| over(copy, archived)));
    let held = held(ctx, &details);
    for detail in &details {
        steps.extend(story(detail, held.get(&detail.leg.id)));
    }
    // Boards keep whole seconds: an event comes before what it led to.
    steps.sort_by_key(|step| (step.at.micros() / 1_000_000, step.delivery, step.event, step.at));
    Ok(steps)
}

fn subscription(found: &(SubLine, i64)) -> Step {
    let (sub, made) = found;
    let thread = if sub.thread.is_empty() { String::new() } else { format!(" #{}", sub.thread) };
    let SubLine { platform, chat, served, cursor, .. } = sub;
    Step {
        at: Moment::from_secs(*made),
        what: format!("subscribed: {platform} {chat}{thread} ({served}; cursor now {cursor})"),
        event: None,
        delivery: None,
    }
}

/// A subscription whose row is gone. Only an archived task tells why; else the ledger knows since when.
fn over(copy: &SubscriptionInfo, archived: Option<(i64, i64)>) -> [Step; 2] {
    let thread = if copy.thread.is_empty() { String::new() } else { format!(" #{}", copy.thread) };
    let to = format!("{} {}{thread}", copy.platform, copy.chat);
    let gone = copy.life == states::GONE;
    let archived = archived.filter(|(_, at)| !gone || *at <= copy.updated_at / 1_000_000);
    let (at, reason, event) = match archived {
        Some((event, at)) => (Moment::from_secs(at), "the task was archived", Some(event)),
        None => {
            (Moment::from_micros(copy.updated_at), "its row is not on the board any more", None)
        }
    };
    let step = |at, what, event| Step { at, what, event, delivery: None };
    let cursor = copy.board_cursor;
    [
        step(
            Moment::from_micros(copy.created_at),
            format!("subscribed: {to} (ended; cursor at the end {cursor})"),
            None,
        ),
        step(at, format!("subscription ended: {to}: {reason}"), event),
    ]
}

/// Why there is no delivery for an event, if somebody might expect one.
fn untold(
    event: &kanban_store::board::ListedEvent,
    subscribed: &[(SubLine, i64)],
) -> Option<&'static str> {
    let kind = Kind::parse(&event.kind);
    if !Kind::is_known(&event.kind) {
        return Some("this version does not know the kind and tells nobody of it");
    }
    if !kind.pings() {
        return None;
    }
    let mut served = subscribed.iter().filter(|(sub, _)| sub.reach == subs::Reach::Served);
    if subscribed.is_empty() {
        return Some("nobody is subscribed");
    }
    if !served.clone().any(|_| true) {
        return Some("no subscription that is served here");
    }
    if served.all(|(sub, _)| sub.cursor >= event.id) {
        return Some("at or below every cursor, with no delivery known here");
    }
    Some("no delivery is planned")
}

/// What each delivery that waits is held back by.
fn held(ctx: &Context, details: &[DeadDetail]) -> HashMap<i64, String> {
    if !details.iter().any(|detail| states::is_unsent(&detail.leg.state)) {
        return HashMap::new();
    }
    let waiting = status::status(ctx).waiting;
    let each = waiting.into_iter().flat_map(|group| {
        let held_by = group.held_by;
        group.ids.into_iter().map(move |id| (id, held_by.clone()))
    });
    each.collect()
}

fn story(detail: &DeadDetail, held: Option<&String>) -> Vec<Step> {
    let leg = &detail.leg;
    let thread = if leg.thread.is_empty() { String::new() } else { format!(" #{}", leg.thread) };
    let to = format!("{} to {} {}{thread}", leg.kind, leg.platform, leg.chat);
    let step = |at: i64, what: String| Step {
        at: Moment::from_micros(at),
        what: format!("{to}: {what}"),
        event: Some(leg.event),
        delivery: Some(leg.id),
    };
    let mut steps = Vec::new();
    let mut sent = BTreeSet::new();
    for attempt in &detail.attempts {
        let Attempt { claim, sent_at, ended_at, verdict, detail } = attempt;
        if sent.insert(*claim) {
            steps.push(step(*sent_at, format!("sent in request {claim}")));
        }
        steps.push(step(*ended_at, format!("answered: {}", words(verdict, detail))));
    }
    if let Some(claim) = &detail.claim {
        let ClaimInfo { id, legs, intended_at, verdict, .. } = claim;
        if sent.insert(*id) {
            let with = counted(*legs, "message");
            steps.push(step(*intended_at, format!("sent in request {id} with {with}")));
        }
        let told = |at: i64| detail.attempts.iter().any(|attempt| attempt.tells(*id, at));
        if let Some(settled) = claim.settled_at.filter(|at| !told(*at)) {
            steps.push(step(settled, format!("answered: {}", words(verdict, &claim.detail))));
        }
    }
    let first = steps.iter().map(|step| step.at.micros()).min().unwrap_or(i64::MAX);
    // Of one that was never sent before, only its number tells that it was planned earlier.
    let planned = match leg.epoch {
        0 if leg.planned_at <= first => "planned".to_owned(),
        0 => "planned again on request".to_owned(),
        number => format!("planned again on request, repetition {number}"),
    };
    steps.push(step(leg.planned_at, planned));
    // Each of these is at its own time, so that the end of the story is its last step.
    steps.sort_by_key(|step| step.at);
    let failed = match leg.failures {
        0 => String::new(),
        some => format!(", after {}", counted(some, "failure")),
    };
    let end = match (held, leg.state.as_str()) {
        (Some(held), _) => format!("waits: {held}"),
        (None, states::INTENDED) => "is under way".to_owned(),
        (None, states::UNKNOWN) => "its outcome is being found out".to_owned(),
        (None, state) if leg.reason.is_empty() => format!("{state}{failed}"),
        (None, state) => format!("{state}{failed}: {}", leg.reason),
    };
    let last = steps.last().map_or(leg.planned_at, |step| step.at.micros());
    steps.push(step(last, end));
    steps
}

fn words(verdict: &str, detail: &str) -> String {
    let words = [verdict, detail];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(": ")
}
