//! Outcomes of claims: what came of a send, after it (law D1).

use std::collections::BTreeSet;

use diesel::{prelude::*, sql_types};

use super::{
    attempts,
    claims::TallyRow,
    conditions,
    cursor::RaiseRow,
    ends,
    plan::{close, copy, refresh_all},
    rests,
    rows::PauseRow,
    schema::{aliases, legs},
    states, writes,
};
use crate::fixed::{Bind, Fixed, fixed, run};

/// The outcome of a claim.
#[derive(Clone, Debug)]
pub struct SettlementRow {
    /// The claim.
    pub claim: i64,
    /// The verdict's name.
    pub verdict: String,
    /// Its detail.
    pub detail: String,
    /// What becomes of the legs.
    pub legs: Vec<OutcomeRow>,
    /// Whether the claim is done with.
    pub over: bool,
    /// A session that answers under another name: raw, resolved.
    pub alias: Option<(String, String)>,
    /// A pause to set, or one to lift when its time is past.
    pub pause: Option<PauseRow>,
    /// When.
    pub at: i64,
}

/// What becomes of one leg.
#[derive(Clone, Debug)]
pub struct OutcomeRow {
    /// The leg.
    pub leg: i64,
    /// Its state from now on.
    pub state: String,
    /// Its counts from now on.
    pub tally: TallyRow,
    /// When it may be claimed again.
    pub due_at: i64,
    /// Why.
    pub reason: String,
}

/// Records one outcome; answers the copies it touched, or nothing when the claim is not this
/// instance's to settle.
pub fn settle(
    conn: &mut SqliteConnection,
    instance: &str,
    settlement: &SettlementRow,
) -> QueryResult<Option<BTreeSet<i64>>> {
    let claim = match is_plain(settlement) && end_claim(conn, instance, settlement)? {
        true => None,
        false => match settle_claim(conn, instance, settlement)? {
            Some(claim) => Some(claim),
            None => return Ok(None),
        },
    };
    let mut touched = BTreeSet::new();
    let mut settled = 0;
    for outcome in &settlement.legs {
        if let Some(id) = settle_leg(conn, settlement, outcome)? {
            touched.insert(id);
            settled += 1;
            // What is delivered has its last word in the claim, and a part that was accepted has none yet.
            if let Some((_, _, sent_at)) = &claim
                && ![states::DELIVERED, states::INTENDED].contains(&&*outcome.state)
            {
                let came = (&*settlement.verdict, &*settlement.detail, settlement.at);
                attempts::note(conn, outcome.leg, (settlement.claim, *sent_at), came)?;
            }
        }
    }
    if settlement.over {
        if settled != claim.as_ref().map_or(settlement.legs.len(), |(count, ..)| *count) {
            touched.extend(park_rest(conn, settlement.claim, settlement.at)?);
        }
        writes::free(conn, settlement.claim)?;
    }
    if let Some((raw, resolved)) = &settlement.alias
        && let Some((_, channel, _)) = &claim
    {
        learn(conn, channel, raw, resolved, settlement.at)?;
    }
    if let Some(pause) = &settlement.pause {
        rests::rest(conn, pause, settlement.at)?;
    }
    Ok(Some(touched))
}

/// Records outcomes; answers the cursors that may be raised, and the claims that were none of ours.
pub fn settle_all(
    conn: &mut SqliteConnection,
    instance: &str,
    settlements: &[SettlementRow],
) -> QueryResult<(Vec<RaiseRow>, Vec<i64>)> {
    let mut touched = BTreeSet::new();
    let mut ignored = Vec::new();
    let mut now = 0;
    for settlement in settlements {
        now = now.max(settlement.at);
        match settle(conn, instance, settlement)? {
            Some(copies) => touched.extend(copies),
            None => ignored.push(settlement.claim),
        }
    }
    Ok((refresh_all(conn, &touched, now)?, ignored))
}

/// (state, failures, failed turns, epoch, alone, repeat, replay, part, plain, parent, due, reason, verdict,
/// now, leg, claim)
struct SettleLeg;

impl Fixed for SettleLeg {
    const SQL: &'static str = "UPDATE legs SET state = ?, failures = ?, failed_turns = ?, epoch = ?, \
     alone = ?, repeat = ?, replay = ?, part = ?, plain = ?, parent = ?, due_at = ?, reason = ?, verdict = ?, updated_at = ? \
     WHERE id = ? AND claim_id = ? AND state IN ('intended', 'unknown') RETURNING subscription_id";
}

/// (state, verdict, detail, when it was over, claim, instance)
struct SettleClaim;

/// The number of legs, the channel, when it was recorded.
type ClaimColumns = (sql_types::BigInt, sql_types::Text, sql_types::BigInt);

impl Fixed for SettleClaim {
    const SQL: &'static str = "UPDATE claims SET state = ?, verdict = ?, detail = ?, settled_at = ? \
         WHERE id = ? AND state = 'open' AND instance = ? RETURNING legs, channel, intended_at";
}

fn settle_claim(
    conn: &mut SqliteConnection,
    instance: &str,
    settlement: &SettlementRow,
) -> QueryResult<Option<(usize, String, i64)>> {
    let binds = [
        Bind::Text(if settlement.over { states::OVER } else { states::OPEN }),
        Bind::Text(&settlement.verdict),
        Bind::Text(&settlement.detail),
        Bind::IntOrNull(settlement.over.then_some(settlement.at)),
        Bind::Int(settlement.claim),
        Bind::Text(instance),
    ];
    let claim: Option<(i64, String, i64)> =
        fixed::<SettleClaim, ClaimColumns>(&binds).get_result(conn).optional()?;
    Ok(claim.map(|(count, channel, at)| (usize::try_from(count).unwrap_or(0), channel, at)))
}

/// Whether all of a claim was delivered, with nothing to be learnt from it: as a rule.
fn is_plain(settlement: &SettlementRow) -> bool {
    settlement.over
        && settlement.alias.is_none()
        && settlement.legs.iter().all(|outcome| outcome.state == states::DELIVERED)
}

/// (verdict, detail, now, claim, instance, number of legs)
struct EndClaim;

impl Fixed for EndClaim {
    const SQL: &'static str = "UPDATE claims SET state = 'over', verdict = ?, detail = ?, settled_at = ? \
         WHERE id = ? AND state = 'open' AND instance = ? AND legs = ?";
}

/// Ends a claim, if it is this instance's and has as many legs as the outcome names. Nothing is read back,
/// for which SQLite would make a table.
fn end_claim(
    conn: &mut SqliteConnection,
    instance: &str,
    settlement: &SettlementRow,
) -> QueryResult<bool> {
    let binds = [
        Bind::Text(&settlement.verdict),
        Bind::Text(&settlement.detail),
        Bind::Int(settlement.at),
        Bind::Int(settlement.claim),
        Bind::Text(instance),
        Bind::Int(i64::try_from(settlement.legs.len()).unwrap_or(i64::MAX)),
    ];
    run::<EndClaim>(conn, &binds).map(|ended| ended == 1)
}

fn settle_leg(
    conn: &mut SqliteConnection,
    settlement: &SettlementRow,
    outcome: &OutcomeRow,
) -> QueryResult<Option<i64>> {
    // Left in a claim that is over, a leg would be lost: it is for `park_rest` to find.
    let stays = states::is_final(&outcome.state) || states::is_unsent(&outcome.state);
    if settlement.over && !stays {
        return Ok(None);
    }
    let tally = outcome.tally;
    let binds = [
        Bind::Text(&outcome.state),
        Bind::Int(tally.failures.into()),
        Bind::Int(tally.failed_turns.into()),
        Bind::Int(tally.epoch.into()),
        Bind::Int(tally.alone.into()),
        Bind::Int(tally.repeat.into()),
        Bind::Int(tally.replay.into()),
        Bind::Int(tally.part.into()),
        Bind::Int(tally.plain.into()),
        Bind::Int(tally.parent.into()),
        Bind::Int(outcome.due_at),
        Bind::Text(&outcome.reason),
        Bind::Text(&settlement.verdict),
        Bind::Int(settlement.at),
        Bind::Int(outcome.leg),
        Bind::Int(settlement.claim),
    ];
    let copies: Vec<i64> = fixed::<SettleLeg, sql_types::BigInt>(&binds).load(conn)?;
    let copy_id = copies.into_iter().next();
    if let Some(id) = copy_id
        && states::is_unsent(&outcome.state)
        && tally.replay == 0
        && let Some(row) = copy(conn, id)?
        && let Some(reason) = ends::reason(conn, &row)?
    {
        // Law S2: what was in flight when its subscription ended is not sent again.
        close(conn, outcome.leg, states::CANCELLED, reason, settlement.at)?;
    }
    Ok(copy_id)
}

/// An operator decides on legs that an outcome forgot.
fn park_rest(conn: &mut SqliteConnection, claim: i64, now: i64) -> QueryResult<Vec<i64>> {
    tracing::warn!(claim.id = claim, "an outcome does not name each leg of its claim");
    diesel::update(legs::table)
        .filter(legs::claim_id.eq(claim))
        .filter(conditions::ClaimedLegs)
        .set((
            legs::state.eq(states::PARKED),
            legs::reason.eq("its claim ended without an outcome for it"),
            legs::updated_at.eq(now),
        ))
        .returning(legs::subscription_id)
        .get_results(conn)
}

fn learn(
    conn: &mut SqliteConnection,
    channel: &str,
    raw: &str,
    resolved: &str,
    now: i64,
) -> QueryResult<()> {
    diesel::insert_into(aliases::table)
        .values((
            aliases::channel.eq(channel),
            aliases::raw.eq(raw),
            aliases::resolved.eq(resolved),
            aliases::learnt_at.eq(now),
        ))
        .on_conflict((aliases::channel, aliases::raw))
        .do_update()
        .set((aliases::resolved.eq(resolved), aliases::learnt_at.eq(now)))
        .execute(conn)
        .map(drop)
}
