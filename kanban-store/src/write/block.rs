//! `block`: a worker stops and waits for somebody.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;

use super::{PATIENCE, event, find, run};
use crate::{
    board::{
        Board,
        schema::tasks,
        statement::{Bind, Cell, execute, scalar},
    },
    error::StoreError,
};

/// The same block for the second time in a row goes to triage.
const LOOP_LIMIT: i64 = 2;

/// What a block came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The task is blocked; with the event's id.
    Blocked(i64),
    /// It was blocked for the same reason before and went to triage; with the event's id.
    Loop(i64),
}

#[derive(Serialize)]
struct Payload<'a> {
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recurrences: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
}

/// Blocks a task at `now`. `kind` is `needs_input`, `capability`, `transient` or none.
pub fn block(
    board: &mut Board,
    task: &str,
    reason: Option<&str>,
    kind: Option<&str>,
    now: i64,
) -> Result<Blocked, StoreError> {
    board.write(PATIENCE, |connection, features| {
        let found = find(connection, task, "block", &["running", "ready"])?;
        // Files without the columns know one kind of block and count nothing.
        let mut times = None;
        if features.block_kind {
            let same = Bind::TextOrNull(kind);
            let before = scalar(
                connection,
                "SELECT block_recurrences FROM tasks WHERE id = ? AND block_kind IS ?",
                &[Bind::Text(task), same],
            )?;
            let count = match before {
                Cell::Int(count) => count.saturating_add(1),
                _ => 1,
            };
            execute(
                connection,
                "UPDATE tasks SET block_kind = ?, block_recurrences = ? WHERE id = ?",
                &[same, Bind::Int(count), Bind::Text(task)],
            )?;
            times = Some(count);
        }
        let looping = times.is_some_and(|count| count >= LOOP_LIMIT);
        update(tasks::table.find(task))
            .set((
                tasks::status.eq(if looping { "triage" } else { "blocked" }),
                tasks::claim_lock.eq(None::<&str>),
                tasks::claim_expires.eq(None::<i64>),
                tasks::worker_pid.eq(None::<i64>),
            ))
            .execute(connection)?;
        let end = run::End { outcome: "blocked", status: "blocked", summary: reason };
        let run = run::end(connection, task, &found, &end, now)?;
        let payload = Payload {
            reason,
            kind: times.map(|_| kind),
            recurrences: times,
            limit: looping.then_some(LOOP_LIMIT),
        };
        let name = if looping { "block_loop_detected" } else { "blocked" };
        let id = event::append(connection, task, run, name, Some(&payload), now)?;
        Ok(if looping { Blocked::Loop(id) } else { Blocked::Blocked(id) })
    })
}
