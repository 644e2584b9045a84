//! Tasks: what Hermes' own commands would write.

use kanban_store::write::{self, Blocked, Completion, NewTask};

use super::{Context, on_board, unix_now};

/// Makes a task; answers with its id.
pub fn create(
    ctx: &Context,
    board: Option<&str>,
    title: &str,
    body: Option<String>,
    assignee: Option<String>,
) -> anyhow::Result<String> {
    let (found, mut board) = ctx.board(board)?;
    let new = NewTask {
        title: title.to_owned(),
        body,
        assignee,
        created_by: Some("kanban-gateway".to_owned()),
        session_id: None,
        idempotency_key: None,
        priority: 0,
    };
    write::create_task(&mut board, &new, unix_now()).map_err(|error| on_board(error, &found.slug))
}

/// Completes a task; answers with the id of the event.
pub fn complete(
    ctx: &Context,
    board: Option<&str>,
    task: &str,
    result: Option<String>,
    summary: Option<String>,
) -> anyhow::Result<i64> {
    let (found, mut board) = ctx.board(board)?;
    let completion = Completion { result, summary };
    write::complete(&mut board, task, &completion, unix_now())
        .map_err(|error| on_board(error, &found.slug))
}

/// Blocks a task; answers in words with what became of it.
pub fn block(
    ctx: &Context,
    board: Option<&str>,
    task: &str,
    reason: Option<&str>,
    kind: Option<&str>,
) -> anyhow::Result<String> {
    let (found, mut board) = ctx.board(board)?;
    let blocked = write::block(&mut board, task, reason, kind, unix_now())
        .map_err(|error| on_board(error, &found.slug))?;
    Ok(match blocked {
        Blocked::Blocked(_) => format!("{task} is blocked"),
        Blocked::Loop(_) => {
            format!("{task} was blocked for the same reason again and is in triage")
        }
    })
}
