//! Tasks as they are: lists, and everything about one.

use kanban_store::board::Board;
pub use kanban_store::board::{Fields, TaskFilter};
use serde::Serialize;
use serde_json::Value;

use super::{
    Context, Unusable,
    events::{EventLine, line},
    tasks::Card,
    time::Moment,
};

/// A task in a list.
#[derive(Clone, Debug, Serialize)]
pub struct TaskLine {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: String,
    /// Who it is assigned to.
    pub assignee: Option<String>,
    /// When it was made.
    pub created_at: Moment,
    /// Its title.
    pub title: String,
}

/// Everything about a task.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The board.
    pub board: String,
    /// The row of the task, with the columns that its board has.
    pub task: Fields,
    /// Tasks that it waits for.
    pub parents: Vec<String>,
    /// Tasks that wait for it.
    pub children: Vec<String>,
    /// Comments, oldest first.
    pub comments: Vec<Fields>,
    /// Attempts, oldest first.
    pub runs: Vec<Fields>,
    /// Its newest events, oldest first.
    pub events: Vec<EventLine>,
}

/// Events that are shown with a task.
const EVENTS: usize = 50;

/// Columns that hold times, in every table.
const TIMES: [&str; 6] =
    ["created_at", "started_at", "completed_at", "ended_at", "claim_expires", "last_heartbeat_at"];

/// The tasks that a filter names.
pub fn list(
    ctx: &Context,
    board: Option<&str>,
    filter: &TaskFilter,
) -> anyhow::Result<Vec<TaskLine>> {
    let (_, mut board) = ctx.board(board)?;
    let filter = checked(&mut board, filter)?;
    let tasks = board.list_tasks(&filter)?.into_iter().map(|task| TaskLine {
        id: task.id,
        status: task.status,
        assignee: task.assignee,
        created_at: Moment::from_secs(task.created_at),
        title: task.title,
    });
    Ok(tasks.collect())
}

/// The filter as the board spells it. A status that no task can have is a slip of the pen.
fn checked(board: &mut Board, filter: &TaskFilter) -> anyhow::Result<TaskFilter> {
    let mut filter = filter.clone();
    filter.assignee = filter.assignee.map(|name| name.trim().to_lowercase());
    if let Some(status) = &filter.status
        && !STATUSES.contains(&status.as_str())
        && !board.overview(0)?.columns.iter().any(|column| column.status == *status)
    {
        let known = STATUSES.join(", ");
        return Err(Unusable(format!("`{status}` is no status; there are {known}")).into());
    }
    Ok(filter)
}

/// The statuses that Hermes knows.
const STATUSES: [&str; 9] =
    ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done", "archived"];

/// A filter by its parts.
pub fn filter(
    status: Option<String>,
    assignee: Option<String>,
    archived: bool,
    limit: Option<usize>,
) -> TaskFilter {
    TaskFilter { status, assignee, archived, limit }
}

/// Everything about a task.
pub fn show(card: Card) -> anyhow::Result<Shown> {
    let (slug, mut board, task) = card.parts();
    let found = board.task_details(&task)?;
    // Nobody waits for a task that was deleted between the two looks.
    let details = found.ok_or_else(|| anyhow::anyhow!("task {task} is gone"))?;
    let events = board.newest_events(Some(&task), EVENTS)?.into_iter().map(line).collect();
    Ok(Shown {
        board: slug,
        task: timed(details.task),
        parents: details.parents,
        children: details.children,
        comments: details.comments.into_iter().map(timed).collect(),
        runs: details.runs.into_iter().map(timed).collect(),
        events,
    })
}

/// Times as everywhere else.
fn timed(mut fields: Fields) -> Fields {
    for name in TIMES {
        if let Some(value) = fields.get_mut(name)
            && let Some(seconds) = value.as_i64()
        {
            *value = Value::String(Moment::from_secs(seconds).to_string());
        }
    }
    fields
}
