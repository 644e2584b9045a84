//! What Hermes' own commands write to a board, in the same shape (law B1): one file per operation.
//!
//! Times are Unix seconds and always given. Each operation is one immediate transaction, and waits
//! up to [`PATIENCE`] for the board's write lock (laws B3, B4).

mod block;
mod complete;
mod create_board;
mod create_task;
mod event;
mod json;
mod promote;
mod run;
mod subscribe;

use std::time::Duration;

pub use block::{Blocked, block};
pub use complete::{Completion, complete};
pub use create_board::{create_board, create_named_board};
pub use create_task::{NewTask, create_task};
pub use subscribe::{NewSubscription, subscribe, unsubscribe};

use diesel::{OptionalExtension, QueryDsl, RunQueryDsl, sqlite::SqliteConnection};

use crate::{
    board::{immediate::Failed, schema::tasks},
    error::StoreError,
};

/// How long an operation waits for the write lock.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What an operation has to know of a task.
#[derive(diesel::Queryable)]
struct Found {
    status: String,
    assignee: Option<String>,
    current_run: Option<i64>,
}

/// The task, which must be in one of these states.
fn find(
    connection: &mut SqliteConnection,
    task: &str,
    operation: &'static str,
    from: &[&str],
) -> Result<Found, Failed> {
    let found: Option<Found> = tasks::table
        .find(task)
        .select((tasks::status, tasks::assignee, tasks::current_run_id))
        .first(connection)
        .optional()?;
    match found {
        None => Err(Failed::Refused(StoreError::UnknownTask { task: task.into() })),
        Some(found) if from.contains(&found.status.as_str()) => Ok(found),
        Some(found) => Err(Failed::Refused(StoreError::WrongStatus {
            operation,
            task: task.into(),
            status: found.status,
        })),
    }
}
