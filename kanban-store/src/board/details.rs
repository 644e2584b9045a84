//! Everything about one task: its row as it is stored, its neighbours, comments, attempts.

use std::collections::BTreeSet;

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};
use serde_json::{Map, Value};

use super::{
    Board,
    statement::{Any, Bind, Cell, query},
};
use crate::error::StoreError;

/// A row by the names of its columns; values that JSON cannot hold are null.
pub type Fields = Map<String, Value>;

/// Everything about one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskDetails {
    /// The row of `tasks`, with the columns that this file has.
    pub task: Fields,
    /// Tasks that this one waits for.
    pub parents: Vec<String>,
    /// Tasks that wait for this one.
    pub children: Vec<String>,
    /// Comments, oldest first.
    pub comments: Vec<Fields>,
    /// Attempts, oldest first: rows of `task_runs`.
    pub runs: Vec<Fields>,
}

/// What an abbreviated task id leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundTask {
    /// This task.
    One(String),
    /// No task.
    None,
    /// Several tasks; the first of them.
    Several(Vec<String>),
}

impl FoundTask {
    /// The same among ids that are known from elsewhere than a board: whole, or as they begin, with `t_` or
    /// without.
    pub fn among<'a>(ids: impl IntoIterator<Item = &'a str>, text: &str) -> Self {
        let begins = |id: &str| {
            id.starts_with(text) || id.strip_prefix("t_").is_some_and(|id| id.starts_with(text))
        };
        let mut found: BTreeSet<&str> = ids.into_iter().filter(|id| begins(id)).collect();
        if found.contains(text) {
            found = BTreeSet::from([text]);
        }
        if text.is_empty() {
            found.clear();
        }
        Self::of(found.into_iter().map(str::to_owned).collect())
    }

    fn of(mut found: Vec<String>) -> Self {
        match found.len() {
            0 | 1 => found.pop().map_or(Self::None, Self::One),
            _ => Self::Several(found),
        }
    }
}

/// Of longer texts so many characters are shown.
const LONGEST: usize = 1_048_576;

/// So many candidates are named.
const CANDIDATES: i64 = 6;

impl Board {
    /// The task whose id is `text`, or begins with it, or with `t_` and it.
    pub fn find_task(&mut self, text: &str) -> Result<FoundTask, StoreError> {
        const EXACT: &str = "SELECT id FROM tasks WHERE id = ?";
        const BEGINS: &str = "SELECT id FROM tasks WHERE substr(id, 1, length(?)) = ? OR \
             substr(id, 1, length(?) + 2) = 't_' || ? ORDER BY id LIMIT ?";
        self.list(|board| {
            let mut found = ids(&mut board.reader, EXACT, &[Bind::Text(text)])?;
            if found.is_empty() && !text.is_empty() {
                let binds = [text; 4].map(Bind::Text);
                let binds: Vec<Bind<'_>> =
                    binds.into_iter().chain([Bind::Int(CANDIDATES)]).collect();
                found = ids(&mut board.reader, BEGINS, &binds)?;
            }
            Ok(FoundTask::of(found))
        })
    }

    /// Everything about a task; `None` when there is none with this id.
    pub fn task_details(&mut self, id: &str) -> Result<Option<TaskDetails>, StoreError> {
        self.list(|board| {
            let reader = &mut board.reader;
            let Some(task) = rows(reader, "tasks", "id", id)?.into_iter().next() else {
                return Ok(None);
            };
            let of = [Bind::Text(id)];
            const PARENTS: &str =
                "SELECT parent_id FROM task_links WHERE child_id = ? ORDER BY parent_id";
            const CHILDREN: &str =
                "SELECT child_id FROM task_links WHERE parent_id = ? ORDER BY child_id";
            Ok(Some(TaskDetails {
                task,
                parents: ids(reader, PARENTS, &of)?,
                children: ids(reader, CHILDREN, &of)?,
                comments: rows(reader, "task_comments", "task_id", id)?,
                runs: rows(reader, "task_runs", "task_id", id)?,
            }))
        })
    }
}

#[derive(Queryable)]
struct One(Cell);

fn ids(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<Vec<String>> {
    let rows: Vec<One> = query::<(Any,)>(sql, binds).load(connection)?;
    Ok(rows.into_iter().filter_map(|row| row.0.into_text()).collect())
}

/// The rows of `table` whose `column` is `value`, with every column that the file has.
///
/// Read column by column, because their number is not known here; all from one snapshot. The names come
/// from the file and are quoted.
fn rows(
    connection: &mut SqliteConnection,
    table: &'static str,
    column: &'static str,
    value: &str,
) -> QueryResult<Vec<Fields>> {
    let found: Vec<One> =
        query::<(Any,)>("SELECT name FROM pragma_table_info(?)", &[Bind::Text(table)])
            .load(connection)?;
    let mut all: Vec<Fields> = Vec::new();
    // A name with a question mark would be taken for a parameter; Hermes has none.
    for name in found.into_iter().filter_map(|row| row.0.into_text()) {
        if name.contains('?') {
            continue;
        }
        let quoted = name.replace('"', "\"\"");
        // A text of many megabytes is for nobody to read in one piece.
        let sql = format!(
            "SELECT iif(octet_length(\"{quoted}\") > {LONGEST}, substr(\"{quoted}\", 1, {LONGEST}), \
             \"{quoted}\") FROM {table} WHERE {column} = ? ORDER BY rowid"
        );
        let cells: Vec<One> = query::<(Any,)>(&sql, &[Bind::Text(value)]).load(connection)?;
        all.resize_with(all.len().max(cells.len()), Fields::new);
        for (fields, cell) in all.iter_mut().zip(cells) {
            fields.insert(name.clone(), json(cell.0));
        }
    }
    Ok(all)
}

fn json(cell: Cell) -> Value {
    match cell {
        Cell::Int(number) => number.into(),
        Cell::Real(number) => {
            serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number)
        }
        Cell::Text(text) => text.into(),
        Cell::Null | Cell::BrokenText(_) | Cell::Blob(_) => Value::Null,
    }
}
