//! What a task waits for.

use diesel::{
    ExpressionMethods, JoinOnDsl, QueryDsl, QueryResult, RunQueryDsl, sqlite::SqliteConnection,
};

use crate::board::{
    Features,
    schema::{task_links, tasks},
};

/// Parents in these states are waited for no longer.
pub(super) const FINISHED: &[&str] = &["done", "archived"];

/// The parents of a task that are in none of these states.
pub(super) fn open(
    connection: &mut SqliteConnection,
    task: &str,
    finished: &[&str],
) -> QueryResult<Vec<String>> {
    task_links::table
        .inner_join(tasks::table.on(tasks::id.eq(task_links::parent_id)))
        .filter(task_links::child_id.eq(task))
        .filter(tasks::status.ne_all(finished))
        .select(tasks::id)
        .order(tasks::id)
        .load(connection)
}

/// Where a task goes that may go on: `ready`, unless it waits for a parent. Up to Hermes 0.19 an
/// archived parent counts as one that is waited for here, and nowhere else.
pub(super) fn landing(
    connection: &mut SqliteConnection,
    features: &Features,
    task: &str,
) -> QueryResult<&'static str> {
    let finished = if features.reviews() { FINISHED } else { &["done"] };
    Ok(if open(connection, task, finished)?.is_empty() { "ready" } else { "todo" })
}

/// Those of these ids that are no tasks, in order.
pub(super) fn missing(
    connection: &mut SqliteConnection,
    ids: &[String],
) -> QueryResult<Vec<String>> {
    let there: Vec<String> =
        tasks::table.filter(tasks::id.eq_any(ids)).select(tasks::id).load(connection)?;
    Ok(ids.iter().filter(|id| !there.contains(id)).cloned().collect())
}
