//! Makes tasks ready that wait for nobody any more.

use diesel::{RunQueryDsl, sqlite::SqliteConnection};
use serde::Serialize;

use super::{
    PATIENCE,
    event::{self, NO_PAYLOAD},
    resume,
    task::{forgive, set_status},
};
use crate::{
    board::{
        Board, Features,
        immediate::Failed,
        statement::{Any, Cell, query},
    },
    error::StoreError,
};

/// So many failures in a row keep a task blocked, unless the task says otherwise.
const FAILURE_LIMIT: i64 = 2;

/// Promotes every task whose parents are finished; answers with how many there were.
///
/// A task that somebody blocked stays so until somebody unblocks it, and so does one that failed
/// too often. Operations that finish or unlink a task do this by themselves.
pub fn recompute_ready(board: &mut Board, now: i64) -> Result<usize, StoreError> {
    board.write(PATIENCE, |connection, features| promote_ready(connection, features, now))
}

#[derive(Serialize)]
struct Resumed {
    status: &'static str,
}

/// The same within a transaction.
pub(super) fn promote_ready(
    connection: &mut SqliteConnection,
    features: &Features,
    now: i64,
) -> Result<usize, Failed> {
    let rows: Vec<(Cell, Cell)> = query::<(Any, Any)>(&waiting(features), &[]).load(connection)?;
    let mut promoted: usize = 0;
    for (task, status) in rows {
        let Some(task) = task.into_text() else {
            continue;
        };
        let to =
            if features.reviews() { resume::after_events(connection, &task)? } else { "ready" };
        set_status(connection, &task, to)?;
        // A Hermes before 0.16 counted anew here, and knew no limit.
        if !features.goal_mode && status.as_text() == Some("blocked") {
            forgive(connection, &task)?;
        }
        if to == "ready" {
            event::append(connection, &task, None, "promoted", NO_PAYLOAD, now)?;
        } else {
            let payload = Resumed { status: to };
            event::append(connection, &task, None, "promoted", Some(&payload), now)?;
        }
        promoted = promoted.saturating_add(1);
    }
    Ok(promoted)
}

/// The tasks to promote, in the order in which Hermes comes across them.
fn waiting(features: &Features) -> String {
    let blocked = if features.goal_mode {
        format!(
            "OR status = 'blocked' AND {NOT_STICKY} AND \
             coalesce(consecutive_failures, 0) < coalesce(max_retries, {FAILURE_LIMIT})"
        )
    } else if features.branch_name {
        format!("OR status = 'blocked' AND {NOT_STICKY}")
    } else {
        String::new()
    };
    format!(
        "SELECT id, status FROM tasks t WHERE status IN ('todo', 'blocked') \
         AND (status = 'todo' {blocked}) AND NOT EXISTS (SELECT 1 FROM task_links l \
         JOIN tasks p ON p.id = l.parent_id WHERE l.child_id = t.id \
         AND p.status NOT IN ('done', 'archived')) ORDER BY status, rowid"
    )
}

/// Nobody blocked it since it was unblocked last.
const NOT_STICKY: &str = "(SELECT kind FROM task_events e WHERE e.task_id = t.id \
     AND kind IN ('blocked', 'unblocked') ORDER BY e.id DESC LIMIT 1) IS NOT 'blocked'";
