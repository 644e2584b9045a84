//! Appends to `task_events`.

use diesel::{ExpressionMethods, QueryResult, RunQueryDsl, insert_into, sqlite::SqliteConnection};
use serde::Serialize;

use super::json;
use crate::board::schema::task_events;

/// An event without a payload.
pub(super) const NO_PAYLOAD: Option<&()> = None;

/// Appends one event and answers with its id.
pub(super) fn append(
    connection: &mut SqliteConnection,
    task: &str,
    run: Option<i64>,
    kind: &str,
    payload: Option<&impl Serialize>,
    now: i64,
) -> QueryResult<i64> {
    insert_into(task_events::table)
        .values((
            task_events::task_id.eq(task),
            task_events::run_id.eq(run),
            task_events::kind.eq(kind),
            task_events::payload.eq(payload.map(|payload| json::line(payload))),
            task_events::created_at.eq(now),
        ))
        .returning(task_events::id)
        .get_result(connection)
}
