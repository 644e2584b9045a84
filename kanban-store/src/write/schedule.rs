//! `schedule`: a task waits for a time, not for a person.

use serde::Serialize;

use super::{
    PATIENCE, Stop, event, run,
    task::{find, release},
};
use crate::{
    board::{Board, immediate::Failed},
    error::StoreError,
};

#[derive(Serialize)]
struct Payload<'a> {
    reason: Option<&'a str>,
}

/// Puts a task aside at `now`; answers with the event's id. Nothing wakes it but
/// [`unblock`](super::unblock()), when its time has come.
pub fn schedule(board: &mut Board, task: &str, stop: &Stop, now: i64) -> Result<i64, StoreError> {
    let reason = stop.reason.as_deref();
    board.write(PATIENCE, |connection, features| {
        if !features.branch_name {
            let what = "scheduled tasks";
            return Err(Failed::Refused(StoreError::BoardTooOld { what, since: "0.15" }));
        }
        let from = &["todo", "ready", "running", "blocked"];
        let found = find(connection, task, "schedule", from)?.in_run(task, stop.run)?;
        release(connection, task, "scheduled")?;
        let end = run::End::because("scheduled", reason);
        let run = run::end(connection, task, &found, &end, now)?;
        Ok(event::append(connection, task, run, "scheduled", Some(&Payload { reason }), now)?)
    })
}
