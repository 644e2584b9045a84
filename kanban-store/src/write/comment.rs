//! `comment`: somebody says something on a task.

use diesel::{ExpressionMethods, RunQueryDsl, insert_into};
use serde::Serialize;

use super::{
    PATIENCE, event,
    task::look,
    text::{length, strip},
};
use crate::{
    board::{Board, schema::task_comments},
    error::StoreError,
};

#[derive(Serialize)]
struct Payload<'a> {
    author: &'a str,
    len: usize,
}

/// Adds a comment at `now`; answers with its id.
pub fn comment(
    board: &mut Board,
    task: &str,
    author: &str,
    body: &str,
    now: i64,
) -> Result<i64, StoreError> {
    for (what, text) in [("the comment", body), ("the author", author)] {
        if strip(text).is_empty() {
            return Err(StoreError::Blank { what });
        }
    }
    board.write(PATIENCE, |connection, _| {
        look(connection, task)?;
        let id = insert_into(task_comments::table)
            .values((
                task_comments::task_id.eq(task),
                task_comments::author.eq(strip(author)),
                task_comments::body.eq(strip(body)),
                task_comments::created_at.eq(now),
            ))
            .returning(task_comments::id)
            .get_result(connection)?;
        let payload = Payload { author, len: length(body) };
        event::append(connection, task, None, "commented", Some(&payload), now)?;
        Ok(id)
    })
}
