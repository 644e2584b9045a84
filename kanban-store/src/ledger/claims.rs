//! Claims: the intent before a send, and the outcome after it (law D1).

use std::collections::{BTreeMap, BTreeSet};

use diesel::{prelude::*, sql_types};

use super::{
    attempts, conditions,
    cursor::RaiseRow,
    ends,
    plan::{close, copy, refresh_all},
    reads, rests,
    rows::PauseRow,
    schema::{aliases, legs},
    states, writes,
};
use crate::statement::{Bind, Fixed, fixed};

/// A claim to be recorded before it is sent.
#[derive(Clone, Debug)]
pub struct IntentRow {
    /// The lane it is to hold.
    pub lane: String,
    /// `chat` or `session`.
    pub target: String,
    /// The channel.
    pub channel: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// Its legs.
    pub legs: Vec<i64>,
    /// The counts that each leg must still have.
    pub tallies: Vec<TallyRow>,
    /// The idempotency key.
    pub key: String,
    /// The reference.
    pub reference: String,
    /// The bytes.
    pub body: String,
    /// When.
    pub at: i64,
}

/// The counts of one leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = legs, check_for_backend(diesel::sqlite::Sqlite))]
pub struct TallyRow {
    /// Failed attempts.
    pub failures: i32,
    /// Failed turns.
    pub failed_turns: i32,
    /// The epoch.
    pub epoch: i32,
    /// Whether it must travel alone.
    pub alone: i32,
    /// Whether it may be a repeat.
    pub repeat: i32,
    /// Whether an operator asked for it again.
    pub replay: i32,
    /// How many parts of its message were accepted.
    pub part: i32,
    /// Whether it goes as plain text.
    pub plain: i32,
    /// Whether it goes to the chat above its thread.
    pub parent: i32,
}

/// What became of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intended {
    /// Recorded under this id.
    Won(i64),
    /// Another claim holds the lane.
    Held,
    /// The channel rests until then.
    Paused(i64),
    /// A leg cannot be claimed, or not as it was known; nothing was recorded.
    Taken,
}

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

/// Records one intent, as [`intend_all`] does.
pub fn intend(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
) -> QueryResult<Intended> {
    let until = rests::until(conn, &intent.channel)?;
    intend_one(conn, instance, intent, until)
}

/// Records intents, each or nothing of it (laws D6, D9). The caller holds the write transaction, so what
/// is looked at first still holds when it is written.
pub fn intend_all(
    conn: &mut SqliteConnection,
    instance: &str,
    intents: &[IntentRow],
) -> QueryResult<Vec<Intended>> {
    // Until when each channel rests, asked once.
    let mut known = BTreeMap::new();
    let mut intended = Vec::with_capacity(intents.len());
    for intent in intents {
        let channel = intent.channel.as_str();
        let until = match known.get(channel) {
            Some(until) => *until,
            None => *known.entry(channel).or_insert(rests::until(conn, channel)?),
        };
        intended.push(intend_one(conn, instance, intent, until)?);
    }
    Ok(intended)
}

/// Records one outcome; answers the copies it touched, or nothing when the claim is not this
/// instance's to settle.
pub fn settle(
    conn: &mut SqliteConnection,
    instance: &str,
    settlement: &SettlementRow,
) -> QueryResult<Option<BTreeSet<i64>>> {
    let binds = [
        Bind::Text(if settlement.over { states::OVER } else { states::OPEN }),
        Bind::Text(&settlement.verdict),
        Bind::Text(&settlement.detail),
        Bind::IntOrNull(settlement.over.then_some(settlement.at)),
        Bind::Int(settlement.claim),
        Bind::Text(instance),
    ];
    let claim: Option<(i32, String, String, i64)> =
        fixed::<SettleClaim, ClaimColumns>(&binds).load(conn)?.into_iter().next();
    let Some((count, lane, channel, sent_at)) = claim else {
        return Ok(None);
    };
    let mut touched = BTreeSet::new();
    let mut settled = 0;
    for outcome in &settlement.legs {
        if let Some(id) = settle_leg(conn, settlement, outcome)? {
            touched.insert(id);
            settled += 1;
            // What is delivered has its last word in the claim, and a part that was accepted has none yet.
            if ![states::DELIVERED, states::INTENDED].contains(&&*outcome.state) {
                let came = (&*settlement.verdict, &*settlement.detail, settlement.at);
                attempts::note(conn, outcome.leg, (settlement.claim, sent_at), came)?;
            }
        }
    }
    if settlement.over {
        if settled != count {
            touched.extend(park_rest(conn, settlement.claim, settlement.at)?);
        }
        writes::free(conn, &lane)?;
    }
    if let Some((raw, resolved)) = &settlement.alias {
        learn(conn, &channel, raw, resolved, settlement.at)?;
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

fn intend_one(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
    rests_until: Option<i64>,
) -> QueryResult<Intended> {
    if let Some(until) = rests_until.filter(|until| *until > intent.at) {
        return Ok(Intended::Paused(until));
    }
    let Some(claim) = writes::record(conn, instance, intent)? else {
        return Ok(Intended::Held);
    };
    if are_unsent(conn, intent)? && writes::take_legs(conn, claim, intent)? {
        return Ok(Intended::Won(claim));
    }
    writes::free(conn, &intent.lane)?;
    writes::withdraw(conn, claim)?;
    Ok(Intended::Taken)
}

/// Whether there are legs, each named once, of which nothing was sent since they had these counts.
fn are_unsent(conn: &mut SqliteConnection, intent: &IntentRow) -> QueryResult<bool> {
    let count = intent.legs.len();
    if count <= 1 {
        // The one is looked at when it is taken; of several, one that is gone must leave the others alone.
        return Ok(count == 1 && intent.tallies.len() == 1);
    }
    let distinct: BTreeSet<i64> = intent.legs.iter().copied().collect();
    for (leg, known) in intent.legs.iter().zip(&intent.tallies) {
        if reads::unsent(conn, *leg)?.as_ref() != Some(known) {
            return Ok(false);
        }
    }
    Ok(distinct.len() == count && intent.tallies.len() == count)
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

/// The number of legs, the lane, the channel, when it was recorded.
type ClaimColumns = (sql_types::Integer, sql_types::Text, sql_types::Text, sql_types::BigInt);

impl Fixed for SettleClaim {
    const SQL: &'static str = "UPDATE claims SET state = ?, verdict = ?, detail = ?, settled_at = ? \
         WHERE id = ? AND state = 'open' AND instance = ? RETURNING legs, lane, channel, intended_at";
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
