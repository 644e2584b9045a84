//! Attempts at a task: opened by a claim, closed by whatever ends it.

use diesel::{
    ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, insert_into, sqlite::SqliteConnection,
    update,
};

use super::task::Found;
use crate::board::{
    schema::{task_runs, tasks},
    statement::{Bind, execute},
};

/// How an attempt ended.
pub(super) struct End<'a> {
    /// Its outcome.
    pub outcome: &'a str,
    /// Its status when it really ran; one that never ran has the outcome as its status.
    pub status: &'a str,
    /// What came of it.
    pub summary: Option<&'a str>,
    /// More of it, as JSON.
    pub metadata: Option<&'a str>,
    /// Whether there is something to record when nobody worked on the task.
    pub record: bool,
}

impl<'a> End<'a> {
    /// An attempt that ends with a reason, or with none.
    pub(super) fn because(outcome: &'a str, reason: Option<&'a str>) -> Self {
        let record = reason.is_some_and(|reason| !reason.is_empty());
        Self { outcome, status: outcome, summary: reason, metadata: None, record }
    }
}

/// Ends the task's attempt; the attempt's id, or `None` when there is nothing to record.
pub(super) fn end(
    connection: &mut SqliteConnection,
    task: &str,
    found: &Found,
    end: &End<'_>,
    now: i64,
) -> QueryResult<Option<i64>> {
    if let Some(run) = found.current_run {
        update(task_runs::table.find(run))
            .filter(task_runs::ended_at.is_null())
            .set((
                task_runs::status.eq(end.status),
                task_runs::outcome.eq(end.outcome),
                task_runs::summary.eq(end.summary),
                task_runs::error.eq(None::<&str>),
                task_runs::metadata.eq(end.metadata),
                task_runs::ended_at.eq(now),
                task_runs::claim_lock.eq(None::<&str>),
                task_runs::claim_expires.eq(None::<i64>),
                task_runs::worker_pid.eq(None::<i64>),
            ))
            .execute(connection)?;
        update(tasks::table.find(task))
            .set(tasks::current_run_id.eq(None::<i64>))
            .execute(connection)?;
        return Ok(Some(run));
    }
    if !end.record {
        return Ok(None);
    }
    insert_into(task_runs::table)
        .values((
            task_runs::task_id.eq(task),
            task_runs::profile.eq(found.assignee.as_deref()),
            task_runs::step_key.eq(found.step.as_deref()),
            task_runs::status.eq(end.outcome),
            task_runs::outcome.eq(end.outcome),
            task_runs::summary.eq(end.summary),
            task_runs::metadata.eq(end.metadata),
            task_runs::started_at.eq(now),
            task_runs::ended_at.eq(now),
        ))
        .returning(task_runs::id)
        .get_result(connection)
        .map(Some)
}

/// Closes an attempt that was left open when its task went on without it.
pub(super) fn close_leaked(
    connection: &mut SqliteConnection,
    found: &Found,
    note: &str,
    now: i64,
) -> QueryResult<()> {
    let Some(run) = found.current_run else {
        return Ok(());
    };
    execute(
        connection,
        "UPDATE task_runs SET status = 'reclaimed', outcome = 'reclaimed', \
         summary = coalesce(summary, ?), ended_at = ?, claim_lock = NULL, claim_expires = NULL, \
         worker_pid = NULL WHERE id = ? AND ended_at IS NULL",
        &[Bind::Text(note), Bind::Int(now), Bind::Int(run)],
    )
    .map(drop)
}
