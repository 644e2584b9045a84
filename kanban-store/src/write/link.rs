//! `link`: a task is to wait for another one.

use std::collections::HashSet;

use diesel::{
    ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, insert_into, sqlite::SqliteConnection,
};
use serde::Serialize;

use super::{
    PATIENCE, event, inherit,
    task::{look, set_status},
};
use crate::{
    board::{Board, immediate::Failed, schema::task_links},
    error::StoreError,
};

/// The payload of what happens to a link.
#[derive(Serialize)]
pub(super) struct Link<'a> {
    pub parent: &'a str,
    pub child: &'a str,
}

/// Makes `child` wait for `parent` from `now` on; answers with the event's id. A link that is there
/// already is told of again.
pub fn link(board: &mut Board, parent: &str, child: &str, now: i64) -> Result<i64, StoreError> {
    board.write(PATIENCE, |connection, features| {
        let waited_for = look(connection, parent)?;
        let waits = look(connection, child)?;
        if would_cycle(connection, parent, child)? {
            let (parent, child) = (parent.into(), child.into());
            return Err(Failed::Refused(StoreError::Cycle { parent, child }));
        }
        add(connection, parent, child)?;
        if waited_for.status != "done" && waits.status == "ready" {
            set_status(connection, child, "todo")?;
        }
        let payload = Link { parent, child };
        let id = event::append(connection, child, None, "linked", Some(&payload), now)?;
        inherit::subscriptions(connection, features, child, &[parent.to_owned()], now)?;
        Ok(id)
    })
}

/// The link itself, unless it is there.
pub(super) fn add(connection: &mut SqliteConnection, parent: &str, child: &str) -> QueryResult<()> {
    insert_into(task_links::table)
        .values((task_links::parent_id.eq(parent), task_links::child_id.eq(child)))
        .on_conflict_do_nothing()
        .execute(connection)
        .map(drop)
}

/// Whether `parent` waits for `child` already, or is the same.
fn would_cycle(connection: &mut SqliteConnection, parent: &str, child: &str) -> QueryResult<bool> {
    let mut seen = HashSet::new();
    let mut next = vec![child.to_owned()];
    while let Some(task) = next.pop() {
        if task == parent {
            return Ok(true);
        }
        if seen.insert(task.clone()) {
            let waiting: Vec<String> = task_links::table
                .filter(task_links::parent_id.eq(&task))
                .select(task_links::child_id)
                .load(connection)?;
            next.extend(waiting);
        }
    }
    Ok(false)
}
