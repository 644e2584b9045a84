//! Closes a task's open attempt, or records one that never ran.

use diesel::{
    ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, insert_into, sqlite::SqliteConnection,
    update,
};

use super::Found;
use crate::board::schema::{task_runs, tasks};

/// How an attempt ended.
pub(super) struct End<'a> {
    /// Its outcome.
    pub outcome: &'a str,
    /// Its status when it really ran; one that never ran has the outcome as its status.
    pub status: &'a str,
    /// What came of it.
    pub summary: Option<&'a str>,
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
                task_runs::metadata.eq(None::<&str>),
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
    if end.summary.is_none() {
        return Ok(None);
    }
    insert_into(task_runs::table)
        .values((
            task_runs::task_id.eq(task),
            task_runs::profile.eq(found.assignee.as_deref()),
            task_runs::status.eq(end.outcome),
            task_runs::outcome.eq(end.outcome),
            task_runs::summary.eq(end.summary),
            task_runs::started_at.eq(now),
            task_runs::ended_at.eq(now),
        ))
        .returning(task_runs::id)
        .get_result(connection)
        .map(Some)
}
