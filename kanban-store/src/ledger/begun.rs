//! Messages of which parts were accepted: their bytes are kept for the parts that are left (law D5).

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::{
    conditions,
    rows::{EventRow, LegRow},
    schema::{claims, legs},
};

/// An open leg with its event, and the bytes of its message if that was begun.
pub type OpenRow = (LegRow, EventRow, Option<String>);

/// Adds to an open leg the bytes of its last claim, where parts of it were accepted.
pub(super) fn open_row(
    conn: &mut SqliteConnection,
    leg: LegRow,
    event: EventRow,
) -> QueryResult<OpenRow> {
    let body = match leg.claim_id.filter(|_| leg.part > 0) {
        Some(claim) => claims::table
            .find(claim)
            .select(claims::body)
            .get_result::<String>(conn)
            .optional()?
            .filter(|body| !body.is_empty()),
        None => None,
    };
    Ok((leg, event, body))
}

/// The claims whose bytes are still needed for the rest of a message: of what is open, and of what an
/// operator may take up again.
pub(super) fn needed(conn: &mut SqliteConnection) -> QueryResult<BTreeSet<i64>> {
    let mut claims: Vec<Option<i64>> = legs::table
        .filter(conditions::OpenLegs)
        .filter(legs::part.gt(0))
        .select(legs::claim_id)
        .load(conn)?;
    let dead: Vec<Option<i64>> = legs::table
        .filter(conditions::DeadLegs)
        .filter(legs::part.gt(0))
        .filter(legs::dropped.eq(0))
        .select(legs::claim_id)
        .load(conn)?;
    claims.extend(dead);
    Ok(claims.into_iter().flatten().collect())
}
