//! A delivery of unknown outcome that is wanted again: its claim is taken up where it was left, so that
//! it is looked for before anything is sent (laws D11, W6).

use diesel::prelude::*;

use crate::ledger::{
    rows::{ClaimRow, LegRow},
    schema::{claims, lanes, legs},
    states,
};

/// The instance of a claim that the next running one takes over, as it does those of the dead (law D9).
const NOBODY: &str = "";

/// What became of the wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reopened {
    /// The claim is open again, with this leg.
    Done,
    /// There is nothing to look for: its outcome is known, or its claim is forgotten.
    Nothing,
    /// Not now, and why.
    Refused(&'static str),
}

/// Opens the last claim of an ended leg again, if its outcome was never found out.
pub(super) fn reopen(conn: &mut SqliteConnection, leg: &LegRow, now: i64) -> QueryResult<Reopened> {
    let Some(claim) = claim(conn, leg)? else {
        return Ok(Reopened::Nothing);
    };
    let together = claim.state == states::OPEN && claim.instance == NOBODY;
    if claim.state == states::OPEN && !together {
        return Ok(Reopened::Refused(
            "others of its message are being looked into; try again later",
        ));
    }
    if !together {
        let held = diesel::insert_into(lanes::table)
            .values((lanes::lane.eq(&claim.lane), lanes::claim_id.eq(claim.id)))
            .on_conflict_do_nothing()
            .execute(conn)?
            == 0;
        if held {
            return Ok(Reopened::Refused(
                "another delivery to its destination is under way; try again when that is over",
            ));
        }
    }
    diesel::update(claims::table.find(claim.id))
        .set((
            claims::state.eq(states::OPEN),
            claims::instance.eq(NOBODY),
            claims::legs.eq(if together { claim.legs.saturating_add(1) } else { 1 }),
            claims::settled_at.eq(None::<i64>),
        ))
        .execute(conn)?;
    // Planned after its claim was recorded: that tells the engine that somebody asked.
    diesel::update(legs::table.find(leg.id))
        .set((
            legs::state.eq(states::UNKNOWN),
            legs::replay.eq(1),
            legs::dropped.eq(0),
            legs::failures.eq(0),
            legs::failed_turns.eq(0),
            legs::planned_at.eq(now),
            legs::reason.eq(""),
            legs::updated_at.eq(now),
        ))
        .execute(conn)?;
    Ok(Reopened::Done)
}

fn claim(conn: &mut SqliteConnection, leg: &LegRow) -> QueryResult<Option<ClaimRow>> {
    let Some(id) = leg.claim_id.filter(|_| leg.verdict == UNKNOWN_VERDICT) else {
        return Ok(None);
    };
    // A claim that is long over has lost its bytes.
    claims::table
        .find(id)
        .filter(claims::body.ne(""))
        .select(ClaimRow::as_select())
        .first(conn)
        .optional()
}

/// The verdict of an attempt whose outcome nobody knows.
pub(super) const UNKNOWN_VERDICT: &str = "unknown";
