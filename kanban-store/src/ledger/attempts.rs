//! What came of earlier requests for a leg, for whoever asks how it went (law D11).

use diesel::prelude::*;

use super::{
    rows::ClaimRow,
    schema::{attempts, claims},
};

/// So many of a leg are kept, the newest ones.
pub const KEPT: i64 = 32;

/// What came of one request for a leg.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, serde::Serialize)]
pub struct Attempt {
    /// The claim that it was.
    pub claim: i64,
    /// When the claim was recorded, in UTC microseconds.
    pub sent_at: i64,
    /// When its outcome was, in UTC microseconds.
    pub ended_at: i64,
    /// The verdict.
    pub verdict: String,
    /// Its detail.
    pub detail: String,
}

/// The attempts of a leg, oldest first.
pub fn of_leg(conn: &mut SqliteConnection, leg: i64) -> QueryResult<Vec<Attempt>> {
    attempts::table
        .filter(attempts::leg_id.eq(leg))
        .order(attempts::id)
        .select((
            attempts::claim_id,
            attempts::sent_at,
            attempts::ended_at,
            attempts::verdict,
            attempts::detail,
        ))
        .load(conn)
}

/// Notes what came of a claim for one of its legs, and forgets the oldest beyond [`KEPT`].
pub(super) fn note(
    conn: &mut SqliteConnection,
    leg: i64,
    (claim, sent_at): (i64, i64),
    (verdict, detail, at): (&str, &str, i64),
) -> QueryResult<()> {
    diesel::insert_into(attempts::table)
        .values((
            attempts::leg_id.eq(leg),
            attempts::claim_id.eq(claim),
            attempts::sent_at.eq(sent_at),
            attempts::ended_at.eq(at),
            attempts::verdict.eq(verdict),
            attempts::detail.eq(detail),
        ))
        .execute(conn)?;
    let beyond: Option<i64> = attempts::table
        .filter(attempts::leg_id.eq(leg))
        .order(attempts::id.desc())
        .offset(KEPT)
        .limit(1)
        .select(attempts::id)
        .first(conn)
        .optional()?;
    if let Some(oldest) = beyond {
        diesel::delete(attempts::table)
            .filter(attempts::leg_id.eq(leg))
            .filter(attempts::id.le(oldest))
            .execute(conn)?;
    }
    Ok(())
}

/// Notes what came of a leg's last claim, because the leg is about to forget it. Nothing if that is
/// noted or pruned.
pub(super) fn keep(conn: &mut SqliteConnection, leg: i64, claim: Option<i64>) -> QueryResult<()> {
    let Some(id) = claim else { return Ok(()) };
    let row = claims::table.find(id).select(ClaimRow::as_select()).first(conn).optional()?;
    let Some((claim, ended)) = row.and_then(|row| row.settled_at.map(|at| (row, at))) else {
        return Ok(());
    };
    if of_leg(conn, leg)?.iter().any(|attempt| attempt.tells(id, ended)) {
        return Ok(());
    }
    note(conn, leg, (id, claim.intended_at), (&claim.verdict, &claim.detail, ended))
}

impl Attempt {
    /// Whether this is what came of a claim at that time.
    pub fn tells(&self, claim: i64, ended_at: i64) -> bool {
        self.claim == claim && self.ended_at == ended_at
    }
}
