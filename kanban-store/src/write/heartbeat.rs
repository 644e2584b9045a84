//! `heartbeat`: a worker says that it lives, and keeps its claim.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;

use super::{
    Claimant, PATIENCE,
    event::{self, NO_PAYLOAD},
    task::find,
};
use crate::{
    board::{
        Board,
        immediate::Failed,
        schema::{task_runs, tasks},
    },
    error::StoreError,
};

#[derive(Serialize)]
struct Note<'a> {
    note: &'a str,
}

/// Records at `now` that a worker lives, with a note on how far it is; answers with the event's id.
///
/// With `run` it is refused once that attempt is over.
pub fn heartbeat(
    board: &mut Board,
    task: &str,
    note: Option<&str>,
    run: Option<i64>,
    now: i64,
) -> Result<i64, StoreError> {
    board.write(PATIENCE, |connection, _| {
        let found = find(connection, task, "send a heartbeat for", &["running"])?;
        let run = found.in_run(task, run)?.current_run;
        update(tasks::table.find(task))
            .set(tasks::last_heartbeat_at.eq(now))
            .execute(connection)?;
        if let Some(run) = run {
            update(task_runs::table.find(run))
                .set(task_runs::last_heartbeat_at.eq(now))
                .execute(connection)?;
        }
        Ok(match note.filter(|note| !note.is_empty()) {
            Some(note) => {
                event::append(connection, task, run, "heartbeat", Some(&Note { note }), now)?
            }
            None => event::append(connection, task, run, "heartbeat", NO_PAYLOAD, now)?,
        })
    })
}

/// Makes a claim last longer from `now` on; answers with when it will be over. Writes no event.
pub fn extend_claim(
    board: &mut Board,
    task: &str,
    claimant: &Claimant,
    now: i64,
) -> Result<i64, StoreError> {
    let expires = now.saturating_add(claimant.seconds.max(1));
    board.write(PATIENCE, |connection, _| {
        let found = find(connection, task, "extend the claim on", &["running"])?;
        if found.claim_lock.as_deref() != Some(&claimant.lock) {
            let lock = claimant.lock.clone();
            return Err(Failed::Refused(StoreError::ClaimLost { task: task.into(), lock }));
        }
        update(tasks::table.find(task))
            .set(tasks::claim_expires.eq(expires))
            .execute(connection)?;
        if let Some(run) = found.current_run {
            update(task_runs::table.find(run))
                .set(task_runs::claim_expires.eq(expires))
                .execute(connection)?;
        }
        Ok(expires)
    })
}
