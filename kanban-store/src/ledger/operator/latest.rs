//! The newest deliveries, whatever came of them.

use diesel::prelude::*;

use super::dead::{DeadLeg, Joined, dead_leg, joined};
use crate::ledger::schema::{boards, legs, subscriptions};

/// Every delivery for a task of a board, in the order in which they were planned.
pub fn of_task(conn: &mut SqliteConnection, board: &str, task: &str) -> QueryResult<Vec<i64>> {
    let rows = joined()
        .filter(boards::slug.eq(board.to_owned()))
        .filter(subscriptions::task.eq(task.to_owned()))
        .order(legs::id)
        .load::<Joined>(conn)?;
    Ok(rows.iter().map(|row| row.0.id).collect())
}

/// The newest deliveries of a board, the last to be planned first.
pub fn latest(conn: &mut SqliteConnection, board: &str, most: i64) -> QueryResult<Vec<DeadLeg>> {
    let rows = joined()
        .filter(boards::slug.eq(board.to_owned()))
        .order(legs::id.desc())
        .limit(most)
        .load::<Joined>(conn)?;
    Ok(rows.iter().map(dead_leg).collect())
}
