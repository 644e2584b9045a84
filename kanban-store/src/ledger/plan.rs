//! What a pass over a board decided, recorded in one transaction (law F2).

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use diesel::{dsl, prelude::*};

use super::{
    begun::{self, OpenRow},
    boards::{self, PositionRow},
    conditions, copies,
    cursor::{self, RaiseRow},
    reads,
    rows::{BoardRow, EventRow, SubscriptionRow},
    schema::{legs, subscriptions},
    states, writes,
};

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
    // By event, what this plan noted of it: nothing, where it was noted before.
    let mut told: HashMap<i64, Option<&EventRow>> = HashMap::new();
    for copy in &plan.subscriptions {
        let (mut row, is_new) = copies::upsert(conn, &board, copy, plan.at)?;
        let mut new = Vec::with_capacity(copy.legs.len());
        let mut known = !is_new;
        for leg in &copy.legs {
            // What is told of an event that was noted earlier, or otherwise, stands in the ledger alone.
            let noted = match told.entry(leg.event.event) {
                Entry::Occupied(noted) => *noted.get(),
                Entry::Vacant(first) => {
                    *first.insert(writes::tell(conn, &leg.event)?.then_some(&leg.event))
                }
            };
            known |= noted != Some(&leg.event);
            new.extend(writes::need(conn, row.id, leg)?.map(|id| copies::leg_row(id, row.id, leg)));
        }
        let ended =
            touched.remove(&row.id) || copy.legs.iter().any(|leg| states::is_final(&leg.state));
        let legs = if known { open_legs(conn, &row)? } else { copies::open(new) };
        let lowest = legs.iter().find(|(leg, ..)| leg.replay == 0).map(|(leg, ..)| leg.event);
        raises.extend(cursor::refresh(conn, &mut row, lowest, ended, plan.at)?);
        owed.push(OwedRows { subscription: row, legs });
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
