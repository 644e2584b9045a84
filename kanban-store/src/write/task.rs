//! What every operation has to know of its task first, and how it leaves a claim.

use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
    sqlite::SqliteConnection, update,
};

use crate::{
    board::{immediate::Failed, schema::tasks},
    error::StoreError,
};

/// What an operation has to know of a task.
#[derive(diesel::Queryable)]
pub(super) struct Found {
    pub status: String,
    pub assignee: Option<String>,
    pub claim_lock: Option<String>,
    pub current_run: Option<i64>,
    pub step: Option<String>,
}

/// The task, in whatever state it is.
pub(super) fn look(connection: &mut SqliteConnection, task: &str) -> Result<Found, Failed> {
    let found: Option<Found> = tasks::table
        .find(task)
        .select((
            tasks::status,
            tasks::assignee,
            tasks::claim_lock,
            // Hermes takes a 0 for none.
            diesel::dsl::sql::<diesel::sql_types::Nullable<diesel::sql_types::BigInt>>(
                "nullif(current_run_id, 0)",
            ),
            tasks::current_step_key,
        ))
        .first(connection)
        .optional()?;
    found.ok_or_else(|| Failed::Refused(StoreError::UnknownTask { task: task.into() }))
}

/// The task, which must be in one of these states.
pub(super) fn find(
    connection: &mut SqliteConnection,
    task: &str,
    operation: &'static str,
    from: &'static [&'static str],
) -> Result<Found, Failed> {
    let found = look(connection, task)?;
    if from.contains(&found.status.as_str()) {
        return Ok(found);
    }
    let status = found.status;
    Err(Failed::Refused(StoreError::WrongStatus { operation, task: task.into(), status, from }))
}

impl Found {
    /// Refuses what a worker asks for whose attempt is over.
    pub(super) fn in_run(self, task: &str, run: Option<i64>) -> Result<Self, Failed> {
        match run {
            Some(run) if self.current_run != Some(run) => {
                Err(Failed::Refused(StoreError::RunOver { task: task.into(), run }))
            }
            _ => Ok(self),
        }
    }
}

/// Sets the status; nobody works on the task any more.
pub(super) fn release(
    connection: &mut SqliteConnection,
    task: &str,
    status: &str,
) -> QueryResult<()> {
    update(tasks::table.find(task))
        .set((
            tasks::status.eq(status),
            tasks::claim_lock.eq(None::<&str>),
            tasks::claim_expires.eq(None::<i64>),
            tasks::worker_pid.eq(None::<i64>),
        ))
        .execute(connection)
        .map(drop)
}

/// Sets the status and nothing else.
pub(super) fn set_status(
    connection: &mut SqliteConnection,
    task: &str,
    status: &str,
) -> QueryResult<()> {
    update(tasks::table.find(task)).set(tasks::status.eq(status)).execute(connection).map(drop)
}

/// Forgets the failures in a row, after which the dispatcher would give up.
pub(super) fn forgive(connection: &mut SqliteConnection, task: &str) -> QueryResult<()> {
    update(tasks::table.find(task))
        .set((tasks::consecutive_failures.eq(0), tasks::last_failure_error.eq(None::<&str>)))
        .execute(connection)
        .map(drop)
}
