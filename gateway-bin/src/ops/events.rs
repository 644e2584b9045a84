//! Events of a board, as they were written.

use kanban_store::{StoreError, board::ListedEvent};
use serde::Serialize;
use serde_json::Value;

use super::{Context, time::Moment};

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
    /// When it was written.
    pub created_at: Moment,
    /// Its payload; as text where it is no JSON.
    pub payload: Option<Value>,
}

/// Some events of a board.
#[derive(Clone, Debug)]
pub struct Found {
    /// Oldest first.
    pub events: Vec<EventLine>,
    /// Whether there are more, earlier ones or, with `after`, later ones.
    pub cut: bool,
}

/// The newest events of one task or of all, at most `limit`; with `after`, the first ones above that id.
pub fn list(
    ctx: &Context,
    board: Option<&str>,
    task: Option<&str>,
    after: Option<i64>,
    limit: usize,
) -> anyhow::Result<Found> {
    let (found, mut board) = ctx.board(board)?;
    if let Some(task) = task
        && board.task(task)?.is_none()
        && board.events(Some(task), 0, 1)?.is_empty()
    {
        let task = task.to_owned();
        return Err(super::on_board(StoreError::UnknownTask { task }, &found.slug));
    }
    let mut events = match after {
        Some(after) => board.events(task, after, limit.saturating_add(1))?,
        None => board.events(task, 0, usize::MAX)?,
    };
    let more = events.len().saturating_sub(limit);
    match after {
        Some(_) => events.truncate(limit),
        None => drop(events.drain(..more)),
    }
    let line = |event: ListedEvent| EventLine {
        id: event.id,
        task: event.task,
        kind: event.kind,
        run: event.run,
        created_at: Moment::from_secs(event.created_at),
        payload: event.payload.map(json),
    };
    Ok(Found { events: events.into_iter().map(line).collect(), cut: more > 0 })
}

/// Stored JSON as JSON; anything else as the text that it is.
pub(super) fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
