//! `complete`: a task is done.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;

use super::{PATIENCE, event, find, promote, run};
use crate::{
    board::{
        Board,
        schema::tasks,
        statement::{Bind, execute},
    },
    error::StoreError,
};

/// What a task came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The result, kept on the card.
    pub result: Option<String>,
    /// What the worker says of it; the result, if it is not given.
    pub summary: Option<String>,
}

#[derive(Serialize)]
struct Completed<'a> {
    result_len: usize,
    summary: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    artifacts: &'a [String],
}

/// The longest first line of a summary in an event, in characters.
const SUMMARY_CHARS: usize = 400;

/// Completes a task at `now`; answers with the id of the `completed` event.
pub fn complete(
    board: &mut Board,
    task: &str,
    completion: &Completion,
    now: i64,
) -> Result<i64, StoreError> {
    let result = completion.result.as_deref();
    let summary = completion.summary.as_deref().or(result);
    let id = board.write(PATIENCE, |connection, features| {
        let found = find(connection, task, "complete", &["running", "ready", "blocked", "review"])?;
        update(tasks::table.find(task))
            .set((
                tasks::status.eq("done"),
                tasks::result.eq(result),
                tasks::completed_at.eq(now),
                tasks::claim_lock.eq(None::<&str>),
                tasks::claim_expires.eq(None::<i64>),
                tasks::worker_pid.eq(None::<i64>),
            ))
            .execute(connection)?;
        if features.block_kind {
            execute(
                connection,
                "UPDATE tasks SET block_kind = NULL, block_recurrences = 0 WHERE id = ?",
                &[Bind::Text(task)],
            )?;
        }
        let end = run::End { outcome: "completed", status: "done", summary };
        let run = run::end(connection, task, &found, &end, now)?;
        let payload = Completed {
            result_len: result.map_or(0, |result| result.chars().count()),
            summary: summary.and_then(first_line),
            artifacts: &[],
        };
        Ok(event::append(connection, task, run, "completed", Some(&payload), now)?)
    })?;
    // Apart from the completion, as Hermes does it: what waits for this task may go on.
    board.write(PATIENCE, |connection, _| {
        update(tasks::table.find(task))
            .set((tasks::consecutive_failures.eq(0), tasks::last_failure_error.eq(None::<&str>)))
            .execute(connection)?;
        promote::children(connection, task, now)
    })?;
    Ok(id)
}

fn first_line(text: &str) -> Option<String> {
    let line = text.trim().lines().next()?.trim();
    (!line.is_empty()).then(|| line.chars().take(SUMMARY_CHARS).collect())
}
