//! `unlink`: a task waits no longer for another one.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, delete};

use super::{PATIENCE, event, link::Link, ready::promote_ready};
use crate::{
    board::{Board, immediate::Failed, schema::task_links},
    error::StoreError,
};

/// Removes a link at `now`; answers with the event's id. The child may be ready then.
pub fn unlink(board: &mut Board, parent: &str, child: &str, now: i64) -> Result<i64, StoreError> {
    board.write(PATIENCE, |connection, features| {
        let row = task_links::table
            .filter(task_links::parent_id.eq(parent))
            .filter(task_links::child_id.eq(child));
        if delete(row).execute(connection)? == 0 {
            let (parent, child) = (parent.into(), child.into());
            return Err(Failed::Refused(StoreError::NotLinked { parent, child }));
        }
        let payload = Link { parent, child };
        let id = event::append(connection, child, None, "unlinked", Some(&payload), now)?;
        promote_ready(connection, features, now)?;
        Ok(id)
    })
}
