//! A board at a glance: how many tasks stand where, the newest of them, and what runs.

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    Board,
    lists::{ListedTask, tasks},
    statement::{Any, Bind, Cell, query},
};
use crate::error::StoreError;

/// A board at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Statuses in the order of a task's life; those that are not known come last.
    pub columns: Vec<Column>,
    /// Tasks at work, the longest running first.
    pub running: Vec<RunningTask>,
}

/// The tasks of one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The status.
    pub status: String,
    /// How many tasks have it.
    pub count: i64,
    /// The first of them, the last to be moved first.
    pub tasks: Vec<ListedTask>,
}

/// A task at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who works on it.
    pub assignee: Option<String>,
    /// When this attempt began, in Unix seconds.
    pub since: Option<i64>,
    /// The last sign of life, in Unix seconds.
    pub heartbeat_at: Option<i64>,
}

/// Statuses in the order of a task's life. `archived` is not shown.
const ORDER: [&str; 8] =
    ["triage", "todo", "scheduled", "ready", "running", "blocked", "review", "done"];

const COUNTS: &str = "SELECT status, count(*) FROM tasks GROUP BY status";
const NEWEST: &str = "SELECT id, substr(title, 1, 4096), status, assignee, created_at FROM tasks WHERE status = ? \
     ORDER BY coalesce(completed_at, started_at, created_at) DESC, id LIMIT ?";
const RUNNING: &str = "SELECT t.id, substr(t.title, 1, 4096), t.assignee, coalesce(r.started_at, t.started_at), \
     t.last_heartbeat_at FROM tasks t LEFT JOIN task_runs r ON r.id = t.current_run_id \
     WHERE t.status = 'running' ORDER BY coalesce(r.started_at, t.started_at), t.id LIMIT ?";

impl Board {
    /// Reads a glance, with at most `most` tasks of each status and at most `most` at work.
    pub fn overview(&mut self, most: usize) -> Result<Overview, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.list(|board| {
            let mut columns = counts(&mut board.reader)?;
            for column in &mut columns {
                let binds = [Bind::Text(&column.status), Bind::Int(most)];
                column.tasks = tasks(&mut board.reader, NEWEST, &binds)?;
            }
            Ok(Overview { columns, running: running(&mut board.reader, most)? })
        })
    }
}

#[derive(Queryable)]
struct RawCount {
    status: Cell,
    count: Cell,
}

fn counts(connection: &mut SqliteConnection) -> QueryResult<Vec<Column>> {
    let rows: Vec<RawCount> = query::<(Any, Any)>(COUNTS, &[]).load(connection)?;
    let mut columns: Vec<Column> = rows
        .into_iter()
        .filter_map(|row| {
            let (status, count) = (row.status.into_text()?, row.count.as_int()?);
            Some(Column { status, count, tasks: Vec::new() })
        })
        .filter(|column| column.status != "archived")
        .collect();
    let place = |status: &str| ORDER.iter().position(|known| *known == status);
    columns.sort_by_key(|c| (place(&c.status).unwrap_or(ORDER.len()), c.status.clone()));
    Ok(columns)
}

#[derive(Queryable)]
struct RawRunning {
    id: Cell,
    title: Cell,
    assignee: Cell,
    since: Cell,
    heartbeat: Cell,
}

fn running(connection: &mut SqliteConnection, most: i64) -> QueryResult<Vec<RunningTask>> {
    let rows: Vec<RawRunning> =
        query::<(Any, Any, Any, Any, Any)>(RUNNING, &[Bind::Int(most)]).load(connection)?;
    let read = |row: RawRunning| {
        Some(RunningTask {
            id: row.id.into_text()?,
            title: row.title.into_text().unwrap_or_default(),
            assignee: row.assignee.into_text(),
            since: row.since.as_int(),
            heartbeat_at: row.heartbeat.as_int(),
        })
    };
    Ok(rows.into_iter().filter_map(read).collect())
}
