//! Makes tasks ready that waited for a finished one.

use diesel::{
    ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, RunQueryDsl,
    sqlite::SqliteConnection, update,
};

use super::event::{self, NO_PAYLOAD};
use crate::board::{
    immediate::Failed,
    schema::{task_events, task_links, tasks},
};

/// Promotes the children of `parent` whose parents are all finished.
pub(super) fn children(
    connection: &mut SqliteConnection,
    parent: &str,
    now: i64,
) -> Result<(), Failed> {
    let children: Vec<(String, String)> = task_links::table
        .inner_join(tasks::table.on(tasks::id.eq(task_links::child_id)))
        .filter(task_links::parent_id.eq(parent))
        .filter(tasks::status.eq_any(["todo", "blocked"]))
        .select((tasks::id, tasks::status))
        .order(tasks::id)
        .load(connection)?;
    for (child, status) in children {
        let open: i64 = task_links::table
            .inner_join(tasks::table.on(tasks::id.eq(task_links::parent_id)))
            .filter(task_links::child_id.eq(&child))
            .filter(tasks::status.ne_all(["done", "archived"]))
            .count()
            .get_result(connection)?;
        if open > 0 || (status == "blocked" && is_sticky(connection, &child)?) {
            continue;
        }
        update(tasks::table.find(&child)).set(tasks::status.eq("ready")).execute(connection)?;
        event::append(connection, &child, None, "promoted", NO_PAYLOAD, now)?;
    }
    Ok(())
}

/// A task that somebody blocked stays so until somebody unblocks it.
fn is_sticky(connection: &mut SqliteConnection, task: &str) -> Result<bool, Failed> {
    let newest: Option<String> = task_events::table
        .filter(task_events::task_id.eq(task))
        .filter(task_events::kind.eq_any(["blocked", "unblocked"]))
        .order(task_events::id.desc())
        .select(task_events::kind)
        .first(connection)
        .optional()?;
    Ok(newest.as_deref() == Some("blocked"))
}
