//! `unblock`: a blocked or scheduled task goes on.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;

use super::{
    PATIENCE,
    event::{self, NO_PAYLOAD},
    parents, resume, run,
    task::{find, forgive, set_status},
};
use crate::{
    board::{Board, schema::tasks},
    error::StoreError,
};

/// Where a task went that was unblocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unblocked {
    /// Its status: `ready`, `todo` while it waits for a parent, or `review`.
    pub status: &'static str,
    /// The id of the `unblocked` event.
    pub event: i64,
}

#[derive(Serialize)]
struct Payload {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_status: Option<&'static str>,
}

/// Unblocks a task at `now`. What it was blocked for stays on it, so that the same block again is
/// seen as a loop.
pub fn unblock(board: &mut Board, task: &str, now: i64) -> Result<Unblocked, StoreError> {
    board.write(PATIENCE, |connection, features| {
        let from: &[&str] =
            if features.branch_name { &["blocked", "scheduled"] } else { &["blocked"] };
        let found = find(connection, task, "unblock", from)?;
        let goes_on = if features.reviews() && found.status == "blocked" {
            resume::after_events(connection, task)?
        } else {
            "ready"
        };
        run::close_leaked(connection, &found, "left open when the task was unblocked", now)?;
        let mut status = parents::landing(connection, features, task)?;
        if status == "ready" {
            status = goes_on;
        }
        set_status(connection, task, status)?;
        update(tasks::table.find(task))
            .set(tasks::current_run_id.eq(None::<i64>))
            .execute(connection)?;
        if features.branch_name {
            forgive(connection, task)?;
        }
        let event = if status == "ready" && goes_on == "ready" {
            event::append(connection, task, None, "unblocked", NO_PAYLOAD, now)?
        } else {
            let resume_status = features.reviews().then_some(goes_on);
            let payload = Payload { status, resume_status };
            event::append(connection, task, None, "unblocked", Some(&payload), now)?
        };
        Ok(Unblocked { status, event })
    })
}
