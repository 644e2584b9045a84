//! How subscriptions end in the ledger, and what stays owed to them (laws S2, O3).

use diesel::prelude::*;

use super::{
    conditions,
    rows::SubscriptionRow,
    schema::{boards, legs, subscriptions},
    states,
};
use crate::fixed::{Bind, Fixed, run};

/// Ends the unsent legs of a copy, except those that stay owed; answers how many.
pub fn cancel_unsent(
    conn: &mut SqliteConnection,
    copy: i64,
    reason: &str,
    now: i64,
) -> QueryResult<usize> {
    diesel::update(legs::table)
        .filter(legs::subscription_id.eq(copy))
        .filter(conditions::UnsentLegs)
        .set((legs::state.eq(states::CANCELLED), legs::reason.eq(reason), legs::updated_at.eq(now)))
        .execute(conn)
}

/// Notes that a row is not on the board any more. What is unsent ends with it, but what is owed to an
/// adopted API session (laws S2, O3).
pub fn vanished(conn: &mut SqliteConnection, copy: i64, now: i64) -> QueryResult<()> {
    let row = diesel::update(subscriptions::table.find(copy))
        .set((subscriptions::life.eq(states::GONE), subscriptions::updated_at.eq(now)))
        .returning(SubscriptionRow::as_returning())
        .get_result(conn)
        .optional()?;
    match row {
        Some(row) if !is_owed_after_its_row(&row) => {
            cancel_unsent(conn, row.id, "the subscription ended", now).map(drop)
        }
        _ => Ok(()),
    }
}

/// Notes that a board's cursor was raised.
pub fn note_raised(conn: &mut SqliteConnection, copy: i64, to: i64, now: i64) -> QueryResult<()> {
    let binds = [to, now, copy, to].map(Bind::Int);
    run::<NoteRaised>(conn, &binds).map(drop)
}

/// (cursor, now, copy, cursor)
struct NoteRaised;

impl Fixed for NoteRaised {
    const SQL: &'static str = "UPDATE subscriptions SET board_cursor = ?, updated_at = ? WHERE id = ? AND board_cursor < ?";
}

/// Why nothing more may be sent for a copy, if so (laws S2, O3).
pub fn reason(
    conn: &mut SqliteConnection,
    row: &SubscriptionRow,
) -> QueryResult<Option<&'static str>> {
    Ok(match row.life.as_str() {
        states::RELEASED => Some("released to its previous owner"),
        states::GONE if !is_owed_after_its_row(row) => Some("the subscription ended"),
        states::GONE if is_of_another_file(conn, row)? => Some("the board was replaced"),
        _ => None,
    })
}

/// Closes those of `legs` that were settled since an older copy of the ledger was made, by all that their
/// boards say: the row has ended, or its cursor has passed the event (law D10).
///
/// Replays and what was planned at `older` or later are this ledger's own.
pub fn close_outdated(
    conn: &mut SqliteConnection,
    legs: &[i64],
    older: i64,
    now: i64,
) -> QueryResult<usize> {
    let passed =
        subscriptions::life.eq(states::LIVE).and(subscriptions::board_cursor.ge(legs::event));
    let outdated: Vec<i64> = legs::table
        .inner_join(subscriptions::table)
        .filter(legs::id.eq_any(legs))
        .filter(legs::planned_at.lt(older).and(legs::replay.eq(0)))
        .filter(subscriptions::life.eq(states::GONE).or(passed))
        .select(legs::id)
        .load(conn)?;
    diesel::update(legs::table)
        .filter(legs::id.eq_any(outdated))
        .filter(conditions::UnsentLegs)
        .set((
            legs::state.eq(states::TAKEN),
            legs::reason.eq("settled since this copy of the ledger was made"),
            legs::updated_at.eq(now),
        ))
        .execute(conn)
}

/// Whether what is owed to a copy stays owed when its row is gone: an adopted API session (law O3).
pub fn is_owed_after_its_row(row: &SubscriptionRow) -> bool {
    row.adopted == 1 && row.platform.trim().eq_ignore_ascii_case("api_server")
}

fn is_of_another_file(conn: &mut SqliteConnection, row: &SubscriptionRow) -> QueryResult<bool> {
    let now: Option<i64> =
        boards::table.find(row.board_id).select(boards::incarnation).get_result(conn).optional()?;
    Ok(now != Some(row.incarnation))
}
