//! `archive`: a task is put away.

use super::{
    PATIENCE,
    event::{self, NO_PAYLOAD},
    ready::promote_ready,
    run,
    task::{find, release},
};
use crate::{board::Board, error::StoreError};

/// Every state but the one that it goes to.
const FROM: &[&str] =
    &["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done"];

/// Archives a task at `now`; answers with the event's id. What waits for it may go on.
///
/// A worker that is at it is not stopped, and its folder is not removed: processes and files are
/// Hermes' alone.
pub fn archive(board: &mut Board, task: &str, now: i64) -> Result<i64, StoreError> {
    board.write(PATIENCE, |connection, features| {
        let found = find(connection, task, "archive", FROM)?;
        release(connection, task, "archived")?;
        let end = run::End {
            outcome: "reclaimed",
            status: "reclaimed",
            summary: Some("open when the task was archived"),
            metadata: None,
            record: false,
        };
        let run = run::end(connection, task, &found, &end, now)?;
        let id = event::append(connection, task, run, "archived", NO_PAYLOAD, now)?;
        if features.branch_name {
            promote_ready(connection, features, now)?;
        }
        Ok(id)
    })
}
