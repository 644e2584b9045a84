//! Rows that are written for each delivery, by fixed text: a built query costs as much again as the write.

use diesel::{prelude::*, sql_types::BigInt};

use super::{claims::IntentRow, plan::LegPlan, rows::EventRow};
use crate::statement::{Bind, Fixed, fixed, run};

/// (board, incarnation, event, kind, task, title, assignee, handoff, session, notes, written at, print)
struct Tell;

impl Fixed for Tell {
    const SQL: &'static str = "INSERT INTO events (board_id, incarnation, event, kind, task, title, \
     assignee, handoff, session, notes, written_at, print) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
}

/// Notes what is told of an event; it is noted once.
pub(super) fn tell(conn: &mut SqliteConnection, event: &EventRow) -> QueryResult<()> {
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
    run::<Tell>(conn, &binds).map(drop)
}

/// (copy, event, kind, state, due, planned, reason, now)
struct Need;

impl Fixed for Need {
    const SQL: &'static str = "INSERT INTO legs (subscription_id, event, kind, state, due_at, planned_at, \
     failures, failed_turns, epoch, alone, repeat, replay, dropped, reason, verdict, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, '', ?) ON CONFLICT DO NOTHING";
}

/// Notes a copy's need for an event; it is noted once.
pub(super) fn need(
    conn: &mut SqliteConnection,
    subscription: i64,
    leg: &LegPlan,
) -> QueryResult<()> {
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
    run::<Need>(conn, &binds).map(drop)
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
    const SQL: &'static str = "INSERT INTO lanes (lane, claim_id) VALUES (?, ?)";
}

/// Notes a claim, which then holds its lane and its legs.
pub(super) fn record(
    conn: &mut SqliteConnection,
    instance: &str,
    intent: &IntentRow,
) -> QueryResult<i64> {
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
    run::<Hold>(conn, &[Bind::Text(&intent.lane), Bind::Int(id)])?;
    for leg in &intent.legs {
        let (claim, at, leg) = (Bind::Int(id), Bind::Int(intent.at), Bind::Int(*leg));
        run::<ClaimLeg>(conn, &[claim, at, at, at, leg])?;
    }
    Ok(id)
}

/// (claim, now, now, now, leg)
struct ClaimLeg;

impl Fixed for ClaimLeg {
    const SQL: &'static str = "UPDATE legs SET state = 'intended', claim_id = ?, \
     first_attempt_at = coalesce(first_attempt_at, ?), last_attempt_at = ?, updated_at = ? \
     WHERE id = ?";
}
