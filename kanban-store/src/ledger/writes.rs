//! Rows that are written for each delivery, by fixed text: a built query costs as much again as the write.

use diesel::{prelude::*, sql_types::BigInt};

use super::{claims::IntentRow, plan::LegPlan, rows::EventRow};
use crate::fixed::{Bind, Fixed, fixed, run};

/// (board, incarnation, event, kind, task, title, assignee, handoff, session, notes, written at, print)
struct Tell;

impl Fixed for Tell {
    const SQL: &'static str = "INSERT INTO events (board_id, incarnation, event, kind, task, title, \
     assignee, handoff, session, notes, written_at, print) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
}

/// Notes what is told of an event; it is noted once. Says whether this was the time.
pub(super) fn tell(conn: &mut SqliteConnection, event: &EventRow) -> QueryResult<bool> {
    let binds = [
        Bind::Int(event.board_id),
        Bind::Int(event.incarnation),
        Bind::Int(event.event),
        Bind::Text(&event.kind),
        Bind::Text(&event.task),
        Bind::Text(&event.title),
        Bind::TextOrNull(event.assignee.as_deref()),
        Bind::TextOrNull(event.handoff.as_deref()),
        Bind::TextOrNull(event.session.as_deref()),
        Bind::Text(&event.notes),
        Bind::Int(event.written_at),
        Bind::Text(&event.print),
    ];
    run::<Tell>(conn, &binds).map(|noted| noted == 1)
}

/// (copy, event, kind, state, due, planned, reason, now)
struct Need;

impl Fixed for Need {
    const SQL: &'static str = "INSERT INTO legs (subscription_id, event, kind, state, due_at, planned_at, \
     failures, failed_turns, epoch, alone, repeat, replay, dropped, reason, verdict, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, '', ?) ON CONFLICT DO NOTHING RETURNING id";
}

/// Notes a copy's need for an event; it is noted once. Answers the leg, if this was the time.
pub(super) fn need(
    conn: &mut SqliteConnection,
    subscription: i64,
    leg: &LegPlan,
) -> QueryResult<Option<i64>> {
    let binds = [
        Bind::Int(subscription),
        Bind::Int(leg.event.event),
        Bind::Text(&leg.kind),
        Bind::Text(&leg.state),
        Bind::Int(leg.planned_at),
        Bind::Int(leg.planned_at),
        Bind::Text(&leg.reason),
        Bind::Int(leg.planned_at),
    ];
    fixed::<Need, BigInt>(&binds).get_result(conn).optional()
}

/// (instance, lane, target, channel, chat, thread, key, reference, body, number of legs, now)
struct Record;

impl Fixed for Record {
    const SQL: &'static str = "INSERT INTO claims (instance, lane, target, channel, chat, thread, key, \
     reference, body, legs, state, verdict, detail, intended_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', '', '', ?) RETURNING id";
}

/// (lane, claim)
struct Hold;

impl Fixed for Hold {
    const SQL: &'static str =
        "INSERT INTO lanes (lane, claim_id) VALUES (?, ?) ON CONFLICT (lane) DO NOTHING";
}

/// (claim)
struct Withdraw;

impl Fixed for Withdraw {
    const SQL: &'static str = "DELETE FROM claims WHERE id = ?";
}

/// (claim)
struct Free;

impl Fixed for Free {
    const SQL: &'static str = "DELETE FROM lanes WHERE claim_id = ?";
}

/// The lane that a claim holds is held no more.
pub(super) fn free(conn: &mut SqliteConnection, claim: i64) -> QueryResult<()> {
    run::<Free>(conn, &[Bind::Int(claim)]).map(drop)
}

/// Forgets a claim that was noted in this transaction.
pub(super) fn withdraw(conn: &mut SqliteConnection, claim: i64) -> QueryResult<()> {
    run::<Withdraw>(conn, &[Bind::Int(claim)]).map(drop)
}

/// Notes a claim, which then holds its lane; nothing, if another one holds it.
pub(super) fn record(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
) -> QueryResult<Option<i64>> {
    let binds = [
        Bind::Text(instance),
        Bind::Text(&intent.lane),
        Bind::Text(&intent.target),
        Bind::Text(&intent.channel),
        Bind::Text(&intent.chat),
        Bind::Text(&intent.thread),
        Bind::Text(&intent.key),
        Bind::Text(&intent.reference),
        Bind::Text(&intent.body),
        Bind::Int(i64::try_from(intent.legs.len()).unwrap_or(i64::MAX)),
        Bind::Int(intent.at),
    ];
    let id: i64 = fixed::<Record, BigInt>(&binds).get_result(conn)?;
    if run::<Hold>(conn, &[Bind::Text(&intent.lane), Bind::Int(id)])? == 0 {
        // Rare: the engine knows of the lanes that it holds itself.
        withdraw(conn, id)?;
        return Ok(None);
    }
    Ok(Some(id))
}

/// Gives a claim its legs; says whether each of them was there, unsent, with these counts.
pub(super) fn take_legs(
    conn: &mut SqliteConnection,
    claim: i64,
    intent: &IntentRow,
) -> QueryResult<bool> {
    for (leg, known) in intent.legs.iter().zip(&intent.tallies) {
        let binds = [
            Bind::Int(claim),
            Bind::Int(intent.at),
            Bind::Int(intent.at),
            Bind::Int(intent.at),
            Bind::Int(*leg),
            Bind::Int(known.failures.into()),
            Bind::Int(known.failed_turns.into()),
            Bind::Int(known.epoch.into()),
            Bind::Int(known.alone.into()),
            Bind::Int(known.repeat.into()),
            Bind::Int(known.replay.into()),
            Bind::Int(known.part.into()),
            Bind::Int(known.plain.into()),
            Bind::Int(known.parent.into()),
        ];
        if run::<TakeLeg>(conn, &binds)? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// (claim, now, now, now, leg, failures, failed turns, epoch, alone, repeat, replay, part, plain, parent)
struct TakeLeg;

impl Fixed for TakeLeg {
    const SQL: &'static str = "UPDATE legs SET state = 'intended', claim_id = ?, \
     first_attempt_at = coalesce(first_attempt_at, ?), last_attempt_at = ?, updated_at = ? \
     WHERE id = ? AND state IN ('planned', 'retrying') AND failures = ? AND failed_turns = ? \
     AND epoch = ? AND alone = ? AND repeat = ? AND replay = ? AND part = ? AND plain = ? AND parent = ?";
}
