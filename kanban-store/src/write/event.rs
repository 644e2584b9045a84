//! Appends to `task_events`, and looks for the newest of a kind.

use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, insert_into,
    sqlite::SqliteConnection,
};
use serde::Serialize;
use serde_json::{Map, Value};

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

/// The kind of the newest event of these kinds, and its payload; one that is no object is empty.
pub(super) fn newest(
    connection: &mut SqliteConnection,
    task: &str,
    run: Option<i64>,
    kinds: &[&str],
) -> QueryResult<Option<(String, Map<String, Value>)>> {
    let mut query = task_events::table
        .filter(task_events::task_id.eq(task))
        .filter(task_events::kind.eq_any(kinds))
        .order(task_events::id.desc())
        .select((task_events::kind, task_events::payload))
        .into_boxed();
    if let Some(run) = run {
        query = query.filter(task_events::run_id.eq(run));
    }
    let found: Option<(String, Option<String>)> = query.first(connection).optional()?;
    Ok(found.map(|(kind, payload)| {
        let payload = payload.and_then(|payload| serde_json::from_str(&payload).ok());
        (kind, payload.unwrap_or_default())
    }))
}
