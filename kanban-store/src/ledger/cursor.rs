//! How far a subscription is settled, and which cursors may be raised for it (law D1).

use diesel::{dsl, prelude::*};

use super::{
    conditions,
    reads::{ColumnsOf, copy_columns},
    rows::SubscriptionRow,
    schema::{boards, legs, subscriptions},
    states,
};
use crate::fixed::{Bind, Fixed, fixed, run};

/// A cursor that may be raised on its board to the copy's `settled`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaiseRow {
    /// The copy.
    pub subscription: SubscriptionRow,
    /// Whether the task's last event is settled and nothing else is open (law S3).
    pub archived: bool,
}

/// The high-water mark of a copy.
///
/// `lowest` is the lowest event with an open leg, replays aside: they were settled once, and the
/// cursor has passed or may pass them. `judged` is the greatest event with a leg below it.
pub fn settled(row: &SubscriptionRow, lowest: Option<i64>, judged: Option<i64>) -> i64 {
    let floor = row.settled.max(row.baseline);
    match lowest {
        None => floor.max(row.seen).max(row.board_cursor),
        Some(lowest) => {
            // The board's own cursor counts only when nothing is owed at or below it: the row may
            // have been settled by somebody else while we still owe (law O3).
            let board = Some(row.board_cursor).filter(|cursor| *cursor < lowest);
            [judged, board].into_iter().flatten().fold(floor, i64::max)
        }
    }
}

/// (settled, now, copy)
struct Settle;

impl Fixed for Settle {
    const SQL: &'static str = "UPDATE subscriptions SET settled = ?, updated_at = ? WHERE id = ?";
}

/// (now, copy, copy)
struct SettleAll;

impl Fixed for SettleAll {
    // What `settled` says where nothing is open; a mark never is below the baseline.
    const SQL: &'static str = concat!(
        "UPDATE subscriptions SET updated_at = ?, settled = CASE \
     WHEN seen >= settled AND seen >= board_cursor THEN seen \
     WHEN board_cursor >= settled THEN board_cursor ELSE settled END \
     WHERE id = ? AND (settled < seen OR settled < board_cursor) AND NOT EXISTS (SELECT 1 FROM legs WHERE subscription_id = ? AND replay = 0 \
     AND legs.state IN ('planned', 'intended', 'retrying', 'unknown')) \
     RETURNING ",
        copy_columns!()
    );
}

/// Brings a copy's `settled` up to date after one of its legs has ended; answers its raise, if there is
/// one.
pub fn refresh_after(
    conn: &mut SqliteConnection,
    copy: i64,
    now: i64,
) -> QueryResult<Option<RaiseRow>> {
    // As a rule nothing else is open and the mark rises; one statement does it.
    let binds = [now, copy, copy].map(Bind::Int);
    let whole = fixed::<SettleAll, ColumnsOf<SubscriptionRow>>(&binds);
    let row: Option<SubscriptionRow> = whole.load(conn)?.into_iter().next();
    if let Some(row) = row {
        return raise_of(conn, row);
    }
    let Some(mut row) = super::plan::copy(conn, copy)? else {
        return Ok(None);
    };
    let lowest = lowest_open(conn, row.id)?;
    refresh(conn, &mut row, lowest, true, now)
}

/// Brings a copy's `settled` up to date with its legs, the lowest open one of which is for the event
/// `lowest`, replays aside; answers its raise if there is one.
///
/// `ended` says whether a leg has ended since the last time: what ended earlier has counted then.
pub fn refresh(
    conn: &mut SqliteConnection,
    row: &mut SubscriptionRow,
    lowest: Option<i64>,
    ended: bool,
    now: i64,
) -> QueryResult<Option<RaiseRow>> {
    let judged = match lowest.filter(|_| ended) {
        Some(lowest) => judged_below(conn, row.id, lowest)?,
        None => None,
    };
    let settled = settled(row, lowest, judged);
    if settled != row.settled {
        run::<Settle>(conn, &[settled, now, row.id].map(Bind::Int))?;
        row.settled = settled;
    }
    if is_behind(row) { raise_of(conn, row.clone()) } else { Ok(None) }
}

/// The raise of a copy as it stands, if its board's cursor is behind.
pub fn raise_of(
    conn: &mut SqliteConnection,
    row: SubscriptionRow,
) -> QueryResult<Option<RaiseRow>> {
    if !is_behind(&row) {
        return Ok(None);
    }
    let over = row.archived_event.is_some_and(|archived| archived <= row.settled);
    let archived = over && !has_open(conn, row.id)?;
    Ok(Some(RaiseRow { subscription: row, archived }))
}

/// Every raise that is due. Boards' former incarnations have none.
pub fn raises(conn: &mut SqliteConnection) -> QueryResult<Vec<RaiseRow>> {
    let rows = subscriptions::table
        .inner_join(boards::table)
        .filter(conditions::ToRaise)
        .filter(subscriptions::incarnation.eq(boards::incarnation))
        .order(subscriptions::id)
        .select(SubscriptionRow::as_select())
        .load(conn)?;
    let mut raises = Vec::new();
    for row in rows {
        raises.extend(raise_of(conn, row)?);
    }
    Ok(raises)
}

fn is_behind(row: &SubscriptionRow) -> bool {
    row.life == states::LIVE && row.settled > row.board_cursor
}

fn lowest_open(conn: &mut SqliteConnection, subscription: i64) -> QueryResult<Option<i64>> {
    legs::table
        .filter(legs::subscription_id.eq(subscription))
        .filter(conditions::OpenLegs)
        .filter(legs::replay.eq(0))
        .select(dsl::min(legs::event))
        .get_result(conn)
}

fn judged_below(
    conn: &mut SqliteConnection,
    subscription: i64,
    event: i64,
) -> QueryResult<Option<i64>> {
    legs::table
        .filter(legs::subscription_id.eq(subscription))
        .filter(legs::event.lt(event))
        .select(dsl::max(legs::event))
        .get_result(conn)
}

fn has_open(conn: &mut SqliteConnection, subscription: i64) -> QueryResult<bool> {
    diesel::select(dsl::exists(
        legs::table.filter(legs::subscription_id.eq(subscription)).filter(conditions::OpenLegs),
    ))
    .get_result(conn)
}
