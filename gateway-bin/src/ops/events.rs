//! Events of a board, as they were written.

use kanban_store::StoreError;
use serde::Serialize;

use super::Context;

/// One event.
#[derive(Clone, Debug, Serialize)]
pub struct EventLine {
    /// Its id on the board.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Its kind.
    pub kind: String,
    /// The attempt it belongs to.
    pub run: Option<i64>,
    /// When it was written, in Unix seconds.
    pub created_at: i64,
    /// Its payload, as stored.
    pub payload: Option<String>,
}

/// Events above `after`, of one task or of all, oldest first, at most `limit`.
pub fn list(
    ctx: &Context,
    board: Option<&str>,
    task: Option<&str>,
    after: i64,
    limit: usize,
) -> anyhow::Result<Vec<EventLine>> {
    let (found, mut board) = ctx.board(board)?;
    if let Some(task) = task
        && board.task(task)?.is_none()
        && board.events(Some(task), 0, 1)?.is_empty()
    {
        let task = task.to_owned();
        return Err(super::on_board(StoreError::UnknownTask { task }, &found.slug));
    }
    let events = board.events(task, after, limit)?;
    Ok(events
        .into_iter()
        .map(|event| EventLine {
            id: event.id,
            task: event.task,
            kind: event.kind,
            run: event.run,
            created_at: event.created_at,
            payload: event.payload,
        })
        .collect())
}
