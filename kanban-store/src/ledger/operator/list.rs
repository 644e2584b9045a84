//! Listings of a ledger.

use std::collections::BTreeMap;

use diesel::{dsl, prelude::*};

use super::dead::ClaimInfo;
use crate::ledger::{
    conditions,
    rows::{BoardRow, ClaimRow, PauseRow, SubscriptionRow},
    schema::{boards, claims, instances, lanes, legs, pauses, subscriptions},
    states,
};

/// Which copies to list; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionFilter {
    /// Of this board, by name.
    pub board: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// In this life: `offered`, `live`, `gone`, `released`.
    pub life: Option<String>,
    /// Adopted ones, or others.
    pub adopted: Option<bool>,
}

/// A copy as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SubscriptionInfo {
    /// The ledger's id.
    pub id: i64,
    /// The board's id.
    pub board_id: i64,
    /// The board's name.
    pub board: String,
    /// The board's path.
    pub path: String,
    /// The task.
    pub task: String,
    /// The platform.
    pub platform: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// When the row was made, in UTC microseconds.
    pub created_at: i64,
    /// The Hermes profile.
    pub profile: String,
    /// Whether we stamped the row.
    pub adopted: bool,
    /// What stood there before.
    pub previous_owner: Option<String>,
    /// What the row asks for.
    pub mode: String,
    /// Judged up to here.
    pub seen: i64,
    /// Settled up to here.
    pub settled: i64,
    /// The board's cursor, as last seen or raised.
    pub board_cursor: i64,
    /// `offered`, `live`, `gone` or `released`.
    pub life: String,
    /// When anything of it was last changed, in UTC microseconds.
    pub updated_at: i64,
    /// How many of its legs are open.
    pub open_legs: i64,
}

/// Sums over the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Legs by state, dropped ones aside.
    pub legs: BTreeMap<String, i64>,
    /// Legs that an operator dropped.
    pub dropped: i64,
    /// Copies by life, of the boards as they are now.
    pub subscriptions: BTreeMap<String, i64>,
    /// Cursors that are to be raised.
    pub raises: i64,
    /// When the oldest open leg was planned, in UTC microseconds.
    pub oldest_open: Option<i64>,
}

/// A board as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BoardInfo {
    /// The id.
    pub id: i64,
    /// The name.
    pub slug: String,
    /// The path.
    pub path: String,
    /// Which file behind the path it is.
    pub incarnation: i64,
    /// The newest event that was read.
    pub position: i64,
    /// When it was last read with news or opened, in UTC microseconds.
    pub updated_at: i64,
}

/// A lane that is held.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LaneInfo {
    /// The lane.
    pub lane: String,
    /// The instance that holds it.
    pub instance: String,
    /// The claim.
    pub claim: ClaimInfo,
}

/// A process that uses the ledger.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct InstanceInfo {
    /// Its id.
    pub id: String,
    /// Its process id.
    pub pid: i64,
    /// When it began, in UTC microseconds.
    pub started_at: i64,
}

/// Copies by id.
pub fn subscriptions(
    conn: &mut SqliteConnection,
    filter: &SubscriptionFilter,
) -> QueryResult<Vec<SubscriptionInfo>> {
    let mut query = subscriptions::table
        .inner_join(boards::table)
        .filter(subscriptions::incarnation.eq(boards::incarnation))
        .order(subscriptions::id)
        .select((SubscriptionRow::as_select(), BoardRow::as_select()))
        .into_boxed();
    if let Some(board) = &filter.board {
        query = query.filter(boards::slug.eq(board));
    }
    if let Some(task) = &filter.task {
        query = query.filter(subscriptions::task.eq(task));
    }
    if let Some(life) = &filter.life {
        query = query.filter(subscriptions::life.eq(life));
    }
    if let Some(adopted) = filter.adopted {
        query = query.filter(subscriptions::adopted.eq(i32::from(adopted)));
    }
    let rows = query.load::<(SubscriptionRow, BoardRow)>(conn)?;
    let open: BTreeMap<i64, i64> = legs::table
        .filter(conditions::OpenLegs)
        .group_by(legs::subscription_id)
        .select((legs::subscription_id, dsl::count_star()))
        .load(conn)?
        .into_iter()
        .collect();
    Ok(rows
        .into_iter()
        .map(|(row, board)| SubscriptionInfo {
            open_legs: open.get(&row.id).copied().unwrap_or(0),
            id: row.id,
            board_id: board.id,
            board: board.slug,
            path: board.path,
            task: row.task,
            platform: row.platform,
            chat: row.chat,
            thread: row.thread,
            created_at: row.created_at,
            profile: row.profile,
            adopted: row.adopted == 1,
            previous_owner: row.previous_owner,
            mode: row.mode,
            seen: row.seen,
            settled: row.settled,
            board_cursor: row.board_cursor,
            life: row.life,
            updated_at: row.updated_at,
        })
        .collect())
}

/// Sums. Reads every leg once: for people, not for loops.
pub fn counts(conn: &mut SqliteConnection) -> QueryResult<Counts> {
    let legs = legs::table
        .filter(legs::dropped.eq(0))
        .group_by(legs::state)
        .select((legs::state, dsl::count_star()))
        .load::<(String, i64)>(conn)?;
    let lives = subscriptions::table
        .inner_join(boards::table)
        .filter(subscriptions::incarnation.eq(boards::incarnation))
        .group_by(subscriptions::life)
        .select((subscriptions::life, dsl::count_star()))
        .load::<(String, i64)>(conn)?;
    Ok(Counts {
        legs: legs.into_iter().collect(),
        dropped: legs::table
            .filter(conditions::DeadLegs)
            .filter(legs::dropped.eq(1))
            .count()
            .get_result(conn)?,
        subscriptions: lives.into_iter().collect(),
        raises: subscriptions::table.filter(conditions::ToRaise).count().get_result(conn)?,
        oldest_open: legs::table
            .filter(conditions::OpenLegs)
            .select(dsl::min(legs::planned_at))
            .get_result(conn)?,
    })
}

/// Legs by final state that came to it at `since` or later, dropped ones aside.
pub fn ended_since(conn: &mut SqliteConnection, since: i64) -> QueryResult<BTreeMap<String, i64>> {
    let ended = [states::DELIVERED, states::PARKED, states::EXPIRED];
    let legs = legs::table
        .filter(legs::dropped.eq(0))
        .filter(legs::state.eq_any(ended))
        .filter(legs::updated_at.ge(since))
        .group_by(legs::state)
        .select((legs::state, dsl::count_star()))
        .load::<(String, i64)>(conn)?;
    Ok(legs.into_iter().collect())
}

/// Boards by id.
pub fn boards(conn: &mut SqliteConnection) -> QueryResult<Vec<BoardInfo>> {
    let rows = crate::ledger::boards::all(conn)?;
    Ok(rows
        .into_iter()
        .map(|row| BoardInfo {
            id: row.id,
            slug: row.slug,
            path: row.path,
            incarnation: row.incarnation,
            position: row.position_event,
            updated_at: row.updated_at,
        })
        .collect())
}

/// Lanes by name.
pub fn lanes(conn: &mut SqliteConnection) -> QueryResult<Vec<LaneInfo>> {
    let rows = lanes::table
        .inner_join(claims::table)
        .order(lanes::lane)
        .select(ClaimRow::as_select())
        .load(conn)?;
    Ok(rows
        .into_iter()
        .map(|claim| LaneInfo {
            lane: claim.lane.clone(),
            instance: claim.instance.clone(),
            claim: claim.into(),
        })
        .collect())
}

/// Pauses by channel.
pub fn pauses(conn: &mut SqliteConnection) -> QueryResult<Vec<PauseRow>> {
    pauses::table.order(pauses::channel).select(PauseRow::as_select()).load(conn)
}

/// Instances, oldest first.
pub fn instances(conn: &mut SqliteConnection) -> QueryResult<Vec<InstanceInfo>> {
    let rows = instances::table
        .order((instances::started_at, instances::id))
        .select((instances::id, instances::pid, instances::started_at))
        .load::<(String, i64, i64)>(conn)?;
    Ok(rows.into_iter().map(|(id, pid, started_at)| InstanceInfo { id, pid, started_at }).collect())
}
