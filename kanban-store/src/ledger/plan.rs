//! What a pass over a board decided, recorded in one transaction (law F2).

use std::collections::{BTreeSet, HashSet};

use diesel::{dsl, prelude::*};

use super::{
    begun::{self, OpenRow},
    boards::{self, PositionRow},
    conditions,
    cursor::{self, RaiseRow},
    reads,
    rows::{BoardRow, EventRow, SubscriptionRow},
    schema::{legs, subscriptions},
    states, writes,
};
use crate::statement::{Bind, Fixed, run};

/// The key of a copy within its board's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyKey {
    /// The task.
    pub task: String,
    /// The platform, as stored on the board.
    pub platform: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// When the row was made.
    pub created_at: i64,
}

/// What a pass decided.
#[derive(Clone, Debug)]
pub struct PlanRows {
    /// The board.
    pub board: i64,
    /// The incarnation that was read.
    pub incarnation: i64,
    /// How far it was read.
    pub position: PositionRow,
    /// Copies to make or update.
    pub subscriptions: Vec<CopyPlan>,
    /// Legs that end unsent: id, final state, reason.
    pub closes: Vec<(i64, String, String)>,
    /// When.
    pub at: i64,
}

/// One copy of a plan.
#[derive(Clone, Debug)]
pub struct CopyPlan {
    /// Which one.
    pub key: CopyKey,
    /// The Hermes profile.
    pub profile: String,
    /// The previous owner, when we stamp the row; kept once it is set.
    pub adopted: Option<Option<String>>,
    /// What the row asks for.
    pub mode: String,
    /// Used when the copy is made.
    pub baseline: i64,
    /// Judged up to here.
    pub seen: i64,
    /// The board's cursor.
    pub cursor: i64,
    /// The task's `archived` event, when it was read.
    pub archived: Option<i64>,
    /// The copy's life from now on.
    pub life: String,
    /// New legs.
    pub legs: Vec<LegPlan>,
}

/// One leg of a plan.
#[derive(Clone, Debug)]
pub struct LegPlan {
    /// What is told.
    pub event: EventRow,
    /// `ping` or `wake`.
    pub kind: String,
    /// `planned`, or a final state.
    pub state: String,
    /// Why it is not planned.
    pub reason: String,
    /// When it was planned.
    pub planned_at: i64,
}

/// A copy with its open legs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedRows {
    /// The copy.
    pub subscription: SubscriptionRow,
    /// Its open legs with their events, ascending.
    pub legs: Vec<OpenRow>,
}

/// What became of a plan.
#[derive(Clone, Debug)]
pub struct PlannedRows {
    /// The board.
    pub board: BoardRow,
    /// The copies, in the plan's order.
    pub owed: Vec<OwedRows>,
    /// Cursors that may be raised.
    pub raises: Vec<RaiseRow>,
}

/// Copies of a board's incarnation for these tasks.
pub fn copies(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    tasks: &[String],
) -> QueryResult<Vec<SubscriptionRow>> {
    let mut found = Vec::new();
    // One statement for each task: it stays prepared, however many there are.
    for task in tasks.iter().collect::<BTreeSet<_>>() {
        found.extend(reads::copies_of_task(conn, board.id, board.incarnation, task)?);
    }
    Ok(found)
}

/// Records a plan. `None` when the board is at another incarnation: what was read is void (law B6).
///
/// Recording a plan twice changes nothing the second time.
pub fn plan(conn: &mut SqliteConnection, plan: &PlanRows) -> QueryResult<Option<PlannedRows>> {
    let board = match boards::get(conn, plan.board)? {
        Some(board) if board.incarnation == plan.incarnation => board,
        _ => return Ok(None),
    };
    boards::advance(conn, &board, &plan.position, plan.at)?;
    let mut touched = BTreeSet::new();
    for (leg, state, reason) in &plan.closes {
        touched.extend(close(conn, *leg, state, reason, plan.at)?);
    }
    let mut owed = Vec::new();
    let mut raises = Vec::new();
    let mut told = HashSet::new();
    for copy in &plan.subscriptions {
        let row = upsert(conn, &board, copy, plan.at)?;
        for leg in &copy.legs {
            if told.insert(leg.event.event) {
                writes::tell(conn, &leg.event)?;
            }
            writes::need(conn, row.id, leg)?;
        }
        let ended =
            touched.remove(&row.id) || copy.legs.iter().any(|leg| states::is_final(&leg.state));
        let legs = open_legs(conn, &row)?;
        let lowest = legs.iter().find(|(leg, ..)| leg.replay == 0).map(|(leg, ..)| leg.event);
        let (subscription, raise) = cursor::refresh(conn, row, lowest, ended, plan.at)?;
        raises.extend(raise);
        owed.push(OwedRows { subscription, legs });
    }
    raises.extend(refresh_all(conn, &touched, plan.at)?);
    Ok(Some(PlannedRows { board, owed, raises }))
}

/// Brings several copies up to date; answers their raises.
pub fn refresh_all(
    conn: &mut SqliteConnection,
    ids: &BTreeSet<i64>,
    now: i64,
) -> QueryResult<Vec<RaiseRow>> {
    let mut raises = Vec::new();
    for id in ids {
        raises.extend(cursor::refresh_after(conn, *id, now)?);
    }
    Ok(raises)
}

/// One copy.
pub fn copy(conn: &mut SqliteConnection, id: i64) -> QueryResult<Option<SubscriptionRow>> {
    reads::copy(conn, id)
}

/// Ends a leg of which nothing was sent; answers its copy, or nothing when it is too late.
pub fn close(
    conn: &mut SqliteConnection,
    leg: i64,
    state: &str,
    reason: &str,
    now: i64,
) -> QueryResult<Option<i64>> {
    if !states::is_final(state) {
        tracing::warn!(leg.id = leg, leg.state = state, "a leg cannot be closed so");
        return Ok(None);
    }
    diesel::update(legs::table.find(leg))
        .filter(conditions::UnsentLegs)
        .set((legs::state.eq(state), legs::reason.eq(reason), legs::updated_at.eq(now)))
        .returning(legs::subscription_id)
        .get_result(conn)
        .optional()
}

/// The open legs of a copy with their events, ascending.
pub fn open_legs(conn: &mut SqliteConnection, copy: &SubscriptionRow) -> QueryResult<Vec<OpenRow>> {
    let rows = reads::open_legs(conn, copy)?;
    rows.into_iter().map(|(leg, event)| begun::open_row(conn, leg, event)).collect()
}

fn upsert(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    plan: &CopyPlan,
    now: i64,
) -> QueryResult<SubscriptionRow> {
    let key = &plan.key;
    match reads::copy_of_key(conn, board.id, board.incarnation, key)? {
        Some(row) => update(conn, row, plan, now),
        None => insert(conn, board, plan, now),
    }
}

fn insert(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    plan: &CopyPlan,
    now: i64,
) -> QueryResult<SubscriptionRow> {
    let key = &plan.key;
    diesel::insert_into(subscriptions::table)
        .values((
            subscriptions::board_id.eq(board.id),
            subscriptions::incarnation.eq(board.incarnation),
            subscriptions::task.eq(&key.task),
            subscriptions::platform.eq(&key.platform),
            subscriptions::chat.eq(&key.chat),
            subscriptions::thread.eq(&key.thread),
            subscriptions::created_at.eq(key.created_at),
            subscriptions::profile.eq(&plan.profile),
            subscriptions::adopted.eq(i32::from(plan.adopted.is_some())),
            subscriptions::previous_owner.eq(plan.adopted.as_ref().and_then(Option::as_deref)),
            subscriptions::mode.eq(&plan.mode),
            subscriptions::baseline.eq(plan.baseline),
            subscriptions::seen.eq(plan.seen.max(plan.baseline)),
            subscriptions::settled.eq(plan.baseline),
            subscriptions::board_cursor.eq(plan.cursor),
            (
                subscriptions::archived_event.eq(plan.archived),
                subscriptions::life.eq(&plan.life),
                subscriptions::updated_at.eq(now),
            ),
        ))
        .returning(SubscriptionRow::as_returning())
        .get_result(conn)
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

/// Whether anything is still told of an event.
pub fn is_told(
    conn: &mut SqliteConnection,
    board: i64,
    incarnation: i64,
    task: &str,
    event: i64,
) -> QueryResult<bool> {
    diesel::select(dsl::exists(
        legs::table
            .inner_join(subscriptions::table)
            .filter(subscriptions::board_id.eq(board))
            .filter(subscriptions::incarnation.eq(incarnation))
            .filter(subscriptions::task.eq(task))
            .filter(legs::event.eq(event)),
    ))
    .get_result(conn)
}
