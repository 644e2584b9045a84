//! Copies of subscriptions: made at first sight, brought up to date later.

use diesel::{prelude::*, sql_types::BigInt};

use super::{
    begun::OpenRow,
    plan::{CopyPlan, LegPlan},
    reads,
    rows::{BoardRow, EventRow, LegRow, SubscriptionRow},
    states,
};
use crate::fixed::{Bind, Fixed, fixed, run};

/// Makes the copy of a plan, or brings it up to date; says whether it was made now.
pub(super) fn upsert(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    plan: &CopyPlan,
    now: i64,
) -> QueryResult<(SubscriptionRow, bool)> {
    match reads::copy_of_key(conn, board.id, board.incarnation, &plan.key)? {
        Some(row) => Ok((update(conn, row, plan, now)?, false)),
        None => Ok((insert(conn, board, plan, now)?, true)),
    }
}

/// The open ones of all the legs of a copy, as [`plan::open_legs`](super::plan::open_legs) would read them.
pub(super) fn open(mut legs: Vec<(LegRow, EventRow)>) -> Vec<OpenRow> {
    legs.retain(|(leg, _)| !states::is_final(&leg.state));
    legs.sort_by_key(|(leg, _)| (leg.event, leg.id));
    legs.into_iter().map(|(leg, event)| (leg, event, None)).collect()
}

/// The row of a leg that was noted under this id just now, with its event.
pub(super) fn leg_row(id: i64, subscription_id: i64, plan: &LegPlan) -> (LegRow, EventRow) {
    let leg = LegRow {
        id,
        subscription_id,
        event: plan.event.event,
        kind: plan.kind.clone(),
        state: plan.state.clone(),
        claim_id: None,
        due_at: plan.planned_at,
        planned_at: plan.planned_at,
        failures: 0,
        failed_turns: 0,
        epoch: 0,
        alone: 0,
        repeat: 0,
        replay: 0,
        part: 0,
        plain: 0,
        parent: 0,
        dropped: 0,
        reason: plan.reason.clone(),
        verdict: String::new(),
        first_attempt_at: None,
        last_attempt_at: None,
        updated_at: plan.planned_at,
    };
    (leg, plan.event.clone())
}

/// (board, incarnation, task, platform, chat, thread, created at, profile, adopted, previous owner, mode,
/// baseline, seen, settled, cursor, archived event, life, now)
struct Insert;

impl Fixed for Insert {
    const SQL: &'static str = "INSERT INTO subscriptions (board_id, incarnation, task, platform, chat, \
     thread, created_at, profile, adopted, previous_owner, mode, baseline, seen, settled, board_cursor, \
     archived_event, life, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id";
}

fn insert(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    plan: &CopyPlan,
    now: i64,
) -> QueryResult<SubscriptionRow> {
    let key = plan.key.clone();
    let mut row = SubscriptionRow {
        id: 0,
        board_id: board.id,
        incarnation: board.incarnation,
        task: key.task,
        platform: key.platform,
        chat: key.chat,
        thread: key.thread,
        created_at: key.created_at,
        profile: plan.profile.clone(),
        adopted: i32::from(plan.adopted.is_some()),
        previous_owner: plan.adopted.clone().flatten(),
        mode: plan.mode.clone(),
        baseline: plan.baseline,
        seen: plan.seen.max(plan.baseline),
        settled: plan.baseline,
        board_cursor: plan.cursor,
        archived_event: plan.archived,
        life: plan.life.clone(),
        updated_at: now,
    };
    let binds = [
        Bind::Int(row.board_id),
        Bind::Int(row.incarnation),
        Bind::Text(&row.task),
        Bind::Text(&row.platform),
        Bind::Text(&row.chat),
        Bind::Text(&row.thread),
        Bind::Int(row.created_at),
        Bind::Text(&row.profile),
        Bind::Int(row.adopted.into()),
        Bind::TextOrNull(row.previous_owner.as_deref()),
        Bind::Text(&row.mode),
        Bind::Int(row.baseline),
        Bind::Int(row.seen),
        Bind::Int(row.settled),
        Bind::Int(row.board_cursor),
        Bind::IntOrNull(row.archived_event),
        Bind::Text(&row.life),
        Bind::Int(row.updated_at),
    ];
    row.id = fixed::<Insert, BigInt>(&binds).get_result(conn)?;
    Ok(row)
}

/// (adopted, previous owner, profile, mode, seen, cursor, archived event, life, now, copy)
struct Update;

impl Fixed for Update {
    const SQL: &'static str = "UPDATE subscriptions SET adopted = ?, previous_owner = ?, profile = ?, mode = ?, \
     seen = ?, board_cursor = ?, archived_event = ?, life = ?, updated_at = ? WHERE id = ?";
}

/// Marks only rise, the previous owner is kept, and a written row is not written again unchanged.
fn update(
    conn: &mut SqliteConnection,
    before: SubscriptionRow,
    plan: &CopyPlan,
    now: i64,
) -> QueryResult<SubscriptionRow> {
    let mut after = before.clone();
    if before.adopted == 0
        && let Some(previous) = &plan.adopted
    {
        after.adopted = 1;
        after.previous_owner.clone_from(previous);
    }
    after.profile.clone_from(&plan.profile);
    after.mode.clone_from(&plan.mode);
    after.seen = before.seen.max(plan.seen);
    after.board_cursor = before.board_cursor.max(plan.cursor);
    after.archived_event = before.archived_event.or(plan.archived);
    after.life = next_life(&before.life, &plan.life).to_owned();
    if after == before {
        return Ok(before);
    }
    after.updated_at = now;
    let binds = [
        Bind::Int(after.adopted.into()),
        Bind::TextOrNull(after.previous_owner.as_deref()),
        Bind::Text(&after.profile),
        Bind::Text(&after.mode),
        Bind::Int(after.seen),
        Bind::Int(after.board_cursor),
        Bind::IntOrNull(after.archived_event),
        Bind::Text(&after.life),
        Bind::Int(after.updated_at),
        Bind::Int(after.id),
    ];
    run::<Update>(conn, &binds)?;
    Ok(after)
}

/// A pass that began before an operator's release, or before the stamp was confirmed, undoes neither.
fn next_life<'a>(before: &'a str, wanted: &'a str) -> &'a str {
    match (before, wanted) {
        (states::RELEASED, states::LIVE | states::OFFERED | states::THEIRS)
        | (states::LIVE, states::OFFERED) => before,
        _ => wanted,
    }
}
