//! Which columns a file has: found per file, never guessed from a version (law B2).

use std::path::Path;

use diesel::{Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    connection::read_error,
    statement::{Any, Bind, Cell, query, scalar},
};
use crate::error::StoreError;

/// The columns that not every board has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `task_events.run_id`: absent before 0.13.
    pub run_id: bool,
    /// `kanban_notify_subs.notifier_profile`: absent in the first generation.
    pub notifier_profile: bool,
    /// `kanban_notify_subs.delivery_mode`: only after 0.19.
    pub delivery_mode: bool,
    /// `kanban_notify_subs.last_ping_event_id`: only after 0.19.
    pub last_ping_event_id: bool,
    /// `kanban_notify_subs.chat_type`: only after 0.19.
    pub chat_type: bool,
    /// `kanban_notify_subs.user_id_alt`: only after 0.19.
    pub user_id_alt: bool,
    /// `kanban_notify_subs.delivery_metadata`: only after 0.19.
    pub delivery_metadata: bool,
    /// `tasks.branch_name`: since 0.15.
    pub branch_name: bool,
    /// `tasks.goal_mode` and `tasks.goal_max_turns`: since 0.16.
    pub goal_mode: bool,
    /// `tasks.provider_override`: only after 0.19.
    pub provider_override: bool,
    /// `tasks.session_id`: since 0.15.
    pub session_id: bool,
    /// `tasks.max_runtime_seconds`.
    pub max_runtime_seconds: bool,
    /// `tasks.block_kind` and `tasks.block_recurrences`: since 0.18.
    pub block_kind: bool,
    /// `sqlite_sequence`: there whenever a table counts its ids up for good.
    pub sequence: bool,
    /// What is missing for operations that write as Hermes does.
    #[cfg(feature = "write")]
    unfinished: Option<Gap>,
}

/// Tables with the columns that are looked for.
type Wanted<const N: usize> = [(&'static str, &'static [&'static str]); N];

/// A table, and its column that is missing; no column where the table itself is missing.
type Gap = (&'static str, Option<&'static str>);

/// What every board has; anything without it is refused, by the name of what is missing.
const REQUIRED: Wanted<3> = [
    ("tasks", &["id", "title", "assignee", "status", "result", "created_at"]),
    ("task_events", &["id", "task_id", "kind", "payload", "created_at"]),
    (
        "kanban_notify_subs",
        &["task_id", "platform", "chat_id", "thread_id", "user_id", "created_at", "last_event_id"],
    ),
];

/// What every release, 0.13 and later, has made on a file before it writes a task. An older file
/// lacks some of it until such a release opens it; so does a look-alike, for good.
#[cfg(feature = "write")]
#[rustfmt::skip]
const WRITTEN: Wanted<6> = [
    ("tasks", &["id", "title", "body", "assignee", "status", "priority", "created_by", "created_at", "started_at",
        "completed_at", "workspace_kind", "workspace_path", "claim_lock", "claim_expires", "tenant", "result",
        "idempotency_key", "consecutive_failures", "worker_pid", "last_failure_error", "max_runtime_seconds",
        "last_heartbeat_at", "current_run_id", "current_step_key", "skills", "max_retries"]),
    ("task_events", &["run_id"]),
    ("task_runs", &["id", "task_id", "profile", "step_key", "status", "claim_lock", "claim_expires", "worker_pid",
        "max_runtime_seconds", "last_heartbeat_at", "started_at", "ended_at", "outcome", "summary", "metadata", "error"]),
    ("task_links", &["parent_id", "child_id"]),
    ("task_comments", &["id", "task_id", "author", "body", "created_at"]),
    ("kanban_notify_subs", &["notifier_profile"]),
];

/// The key of the subscriptions table.
const KEY: [&str; 4] = ["task_id", "platform", "chat_id", "thread_id"];

impl Features {
    /// Looks at the tables behind `connection`; refuses what is no board.
    pub(crate) fn find(path: &Path, connection: &mut SqliteConnection) -> Result<Self, StoreError> {
        let mut columns = |table| columns(path, connection, table);
        let tasks = columns("tasks")?;
        let events = columns("task_events")?;
        let subs = columns("kanban_notify_subs")?;
        let sequence = !columns("sqlite_sequence")?.is_empty();
        #[cfg(feature = "write")]
        let unfinished = {
            let (runs, links) = (columns("task_runs")?, columns("task_links")?);
            let comments = columns("task_comments")?;
            missing(&WRITTEN, &[&tasks, &events, &runs, &links, &comments, &subs])
        };
        let is_bare = tasks.is_empty() && events.is_empty() && subs.is_empty() && !sequence;
        if is_bare && !has_tables(path, connection)? {
            return Err(StoreError::BoardEmpty { path: path.into() });
        }
        let flaw = missing(&REQUIRED, &[&tasks, &events, &subs])
            .map(told)
            .or_else(|| wrong_keys(&events, &subs))
            .or(wrong_encoding(path, connection)?);
        if let Some(flaw) = flaw {
            return Err(StoreError::LookAlike { path: path.into(), flaw });
        }
        let has = |table: &[Column], name| table.iter().any(|column| column.name == name);
        Ok(Self {
            run_id: has(&events, "run_id"),
            notifier_profile: has(&subs, "notifier_profile"),
            delivery_mode: has(&subs, "delivery_mode"),
            last_ping_event_id: has(&subs, "last_ping_event_id"),
            chat_type: has(&subs, "chat_type"),
            user_id_alt: has(&subs, "user_id_alt"),
            delivery_metadata: has(&subs, "delivery_metadata"),
            branch_name: has(&tasks, "branch_name"),
            goal_mode: has(&tasks, "goal_mode") && has(&tasks, "goal_max_turns"),
            provider_override: has(&tasks, "provider_override"),
            session_id: has(&tasks, "session_id"),
            max_runtime_seconds: has(&tasks, "max_runtime_seconds"),
            block_kind: has(&tasks, "block_kind") && has(&tasks, "block_recurrences"),
            sequence,
            #[cfg(feature = "write")]
            unfinished,
        })
    }

    /// Whether a Hermes after 0.19 had the file open: one that hands tasks over for review.
    #[cfg(feature = "write")]
    pub(crate) fn reviews(&self) -> bool {
        self.delivery_mode || self.provider_override
    }

    /// Refuses to write tasks where something is missing for it, before anything is written.
    #[cfg(feature = "write")]
    pub(crate) fn check_finished(&self, path: &Path) -> Result<(), StoreError> {
        match self.unfinished {
            Some(missing) => {
                Err(StoreError::BoardUnfinished { path: path.into(), flaw: told(missing) })
            }
            None => Ok(()),
        }
    }
}

/// Changes whenever somebody changes the tables of the file.
pub(crate) fn schema_version(
    path: &Path,
    connection: &mut SqliteConnection,
) -> Result<i64, StoreError> {
    scalar(connection, "PRAGMA schema_version", &[])
        .map(|cell| cell.as_int().unwrap_or_default())
        .map_err(|source| read_error(path, source))
}

/// The file's columns, if somebody changed its tables since `known`.
pub(crate) fn changed(
    path: &Path,
    known: i64,
    connection: &mut SqliteConnection,
) -> Result<Option<(i64, Features)>, StoreError> {
    let schema = schema_version(path, connection)?;
    if schema == known {
        return Ok(None);
    }
    Ok(Some((schema, Features::find(path, connection)?)))
}

#[derive(Debug)]
struct Column {
    name: String,
    declared: String,
    not_null: bool,
    in_key: bool,
}

#[derive(Queryable)]
struct ColumnRow {
    name: Cell,
    declared: Cell,
    not_null: Cell,
    key: Cell,
}

fn columns(
    path: &Path,
    connection: &mut SqliteConnection,
    table: &str,
) -> Result<Vec<Column>, StoreError> {
    let rows: Vec<ColumnRow> = query::<(Any, Any, Any, Any)>(
        "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)",
        &[Bind::Text(table)],
    )
    .load(connection)
    .map_err(|source| read_error(path, source))?;
    let set = |cell: &Cell| cell.as_int().is_some_and(|value| value != 0);
    Ok(rows
        .into_iter()
        .map(|row| Column {
            not_null: set(&row.not_null),
            in_key: set(&row.key),
            name: row.name.into_text().unwrap_or_default().to_ascii_lowercase(),
            declared: row.declared.into_text().unwrap_or_default(),
        })
        .collect())
}

/// Whether there is a table of whatever name.
fn has_tables(path: &Path, connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let count = scalar(connection, "SELECT count(*) FROM sqlite_master", &[])
        .map_err(|source| read_error(path, source))?;
    Ok(count.as_int().is_some_and(|count| count > 0))
}

fn missing<const N: usize>(wanted: &Wanted<N>, found: &[&Vec<Column>; N]) -> Option<Gap> {
    wanted.iter().zip(found).find_map(|((table, wanted), found)| {
        if found.is_empty() {
            return Some((*table, None));
        }
        let lacks = |name: &&&str| found.iter().all(|column| column.name != **name);
        wanted.iter().find(lacks).map(|name| (*table, Some(*name)))
    })
}

fn told((table, column): Gap) -> String {
    match column {
        None => format!("it has no table `{table}`"),
        Some(column) => format!("table `{table}` has no column `{column}`"),
    }
}

/// A row must be found by its key alone, and an event's id must be its rowid.
fn wrong_keys(events: &[Column], subs: &[Column]) -> Option<String> {
    let id = events.iter().find(|column| column.name == "id")?;
    if !id.in_key || !id.declared.eq_ignore_ascii_case("integer") {
        return Some("column `id` of table `task_events` is not its integer key".into());
    }
    let stray = subs.iter().find(|column| column.in_key != KEY.contains(&column.name.as_str()));
    if let Some(stray) = stray {
        let is = if stray.in_key { "is" } else { "is not" };
        return Some(format!(
            "column `{}` of table `kanban_notify_subs` {is} part of its key",
            stray.name
        ));
    }
    let loose = subs.iter().find(|column| column.in_key && !column.not_null)?;
    Some(format!("column `{}` of table `kanban_notify_subs` may be NULL", loose.name))
}

/// Text is read as the bytes that are stored, which are UTF-8 on every board.
fn wrong_encoding(
    path: &Path,
    connection: &mut SqliteConnection,
) -> Result<Option<String>, StoreError> {
    let encoding = scalar(connection, "PRAGMA encoding", &[])
        .map_err(|source| read_error(path, source))?
        .into_text()
        .unwrap_or_default();
    Ok((encoding != "UTF-8").then(|| format!("its text is stored as {encoding}, not as UTF-8")))
}
