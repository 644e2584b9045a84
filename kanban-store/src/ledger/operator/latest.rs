//! The newest deliveries, whatever came of them.

use diesel::prelude::*;

use super::dead::{DeadLeg, Joined, dead_leg, joined};
use crate::ledger::schema::{boards, legs};

/// The newest deliveries of a board, the last to be planned first.
pub fn latest(conn: &mut SqliteConnection, board: &str, most: i64) -> QueryResult<Vec<DeadLeg>> {
    let rows = joined()
        .filter(boards::slug.eq(board.to_owned()))
        .order(legs::id.desc())
        .limit(most)
        .load::<Joined>(conn)?;
    Ok(rows.iter().map(dead_leg).collect())
}
