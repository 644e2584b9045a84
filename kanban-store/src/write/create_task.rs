//! `create`: a new task.

use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, insert_into,
    result::{DatabaseErrorKind, Error},
    sqlite::SqliteConnection,
};
use serde::Serialize;

use super::{
    PATIENCE, event, inherit, json, link,
    options::{Checked, Start, TaskOptions, Workspace, assignee, check, check_board},
    parents,
    text::strip,
};
use crate::{
    board::{
        Board, Features,
        discovery::default_workdir,
        immediate::Failed,
        schema::tasks,
        statement::{Bind, execute},
    },
    error::StoreError,
};

/// A task to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTask {
    /// What it is called; trimmed, not empty.
    pub title: String,
    /// The text of the card.
    pub body: Option<String>,
    /// Which profile works on it; lower-cased.
    pub assignee: Option<String>,
    /// Who made it.
    pub created_by: Option<String>,
    /// The session that asked for it; dropped where the file has no such column.
    pub session_id: Option<String>,
    /// A second task with the same key, while the first is not archived, is the first one.
    pub idempotency_key: Option<String>,
    /// Higher goes first.
    pub priority: i64,
}

/// Keys that not every Hermes writes are `None`; those that it writes as null are `Some(None)`.
#[derive(Serialize)]
struct Created<'a> {
    assignee: Option<&'a str>,
    status: &'a str,
    parents: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    creator_task_id: Option<Option<&'a str>>,
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_path: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_name: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<Option<&'a str>>,
    skills: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal_mode: Option<Option<bool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_override: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_override: Option<Option<&'a str>>,
}

#[derive(Serialize)]
struct BlockedAtFirst<'a> {
    reason: &'static str,
    status: &'static str,
    actor: &'a str,
}

/// Makes a task at `now` and answers with its id.
pub fn create_task(board: &mut Board, new: &NewTask, now: i64) -> Result<String, StoreError> {
    create_task_with(board, new, &TaskOptions::default(), now)
}

/// Makes a task at `now`, with more to say about it, and answers with its id.
///
/// Projects are not among the options: each profile keeps its own, in a file that is Hermes' alone.
/// Hermes likewise makes a task without one when it does not know the project.
pub fn create_task_with(
    board: &mut Board,
    new: &NewTask,
    options: &TaskOptions,
    now: i64,
) -> Result<String, StoreError> {
    let assignee = assignee(new.assignee.as_deref())?;
    let title = strip(&new.title);
    if title.is_empty() {
        return Err(StoreError::EmptyTitle);
    }
    let checked = check(options)?;
    let mut usual = None;
    if options.workspace_path.is_none() && options.workspace != Workspace::Scratch {
        usual = default_workdir(board.path());
    }
    board.write(PATIENCE, |connection, features| {
        check_board(options, &checked, features).map_err(Failed::Refused)?;
        if let Some(key) = new.idempotency_key.as_deref().filter(|key| !key.is_empty())
            && let Some(same) = with_key(connection, key)?
        {
            return Ok(same);
        }
        // Hermes looks for the board's own folder since 0.15.
        let usual = usual.as_deref().filter(|_| features.branch_name);
        let folder = options.workspace_path.as_deref().or(usual);
        let (status, tenant) = begin(connection, features, options, &checked)?;
        let row = Row {
            new,
            options,
            title,
            assignee: assignee.as_deref(),
            status,
            folder,
            skills: checked.skills.as_ref().map(json::ascii_line),
            tenant: tenant.as_deref(),
        };
        let id = insert(connection, &row, now)?;
        complement(connection, features, &id, &row, &checked)?;
        for parent in &checked.parents {
            link::add(connection, parent, &id)?;
        }
        let newer = features.reviews();
        let payload = Created {
            assignee: row.assignee,
            status,
            parents: &checked.parents,
            creator_task_id: newer.then_some(None),
            tenant: row.tenant,
            workspace_kind: newer.then_some(options.workspace.name()),
            workspace_path: newer.then_some(folder),
            branch_name: features.branch_name.then_some(checked.branch.as_deref()),
            project_id: newer.then_some(None),
            skills: checked.skills.as_deref().filter(|skills| !skills.is_empty()),
            goal_mode: features.goal_mode.then_some(options.goal_mode.then_some(true)),
            model_override: newer.then_some(None),
            provider_override: newer.then_some(None),
        };
        event::append(connection, &id, None, "created", Some(&payload), now)?;
        if newer && status == "blocked" {
            let actor = new.created_by.as_deref().filter(|name| !name.is_empty()).unwrap_or("user");
            let payload = BlockedAtFirst { reason: "initial_status", status, actor };
            event::append(connection, &id, None, "blocked", Some(&payload), now)?;
        }
        inherit::subscriptions(connection, features, &id, &checked.parents, now)?;
        Ok(id)
    })
}

/// What goes into the row.
struct Row<'a> {
    new: &'a NewTask,
    options: &'a TaskOptions,
    title: &'a str,
    assignee: Option<&'a str>,
    status: &'static str,
    folder: Option<&'a str>,
    skills: Option<String>,
    tenant: Option<&'a str>,
}

fn with_key(connection: &mut SqliteConnection, key: &str) -> Result<Option<String>, Failed> {
    Ok(tasks::table
        .filter(tasks::idempotency_key.eq(key))
        .filter(tasks::status.ne("archived"))
        .order(tasks::created_at.desc())
        .select(tasks::id)
        .first(connection)
        .optional()?)
}

/// The status that the task begins with, and whose it is.
fn begin(
    connection: &mut SqliteConnection,
    features: &Features,
    options: &TaskOptions,
    checked: &Checked,
) -> Result<(&'static str, Option<String>), Failed> {
    let missing = parents::missing(connection, &checked.parents)?;
    if !missing.is_empty() {
        return Err(Failed::Refused(StoreError::UnknownParents { tasks: missing }));
    }
    let mut waits = false;
    let mut tenant = options.tenant.clone();
    for parent in &checked.parents {
        let (status, of): (String, Option<String>) =
            tasks::table.find(parent).select((tasks::status, tasks::tenant)).first(connection)?;
        // Unlike everywhere else, an archived parent is waited for at first.
        waits |= status != "done";
        if features.reviews() && tenant.is_none() {
            tenant = of.filter(|of| !of.is_empty());
        }
    }
    let status = match options.start {
        Start::Blocked => "blocked",
        Start::Triage => "triage",
        Start::Normal if waits => "todo",
        Start::Normal => "ready",
    };
    Ok((status, tenant))
}

/// Inserts under a random id; one that is taken already is drawn again.
fn insert(connection: &mut SqliteConnection, row: &Row<'_>, now: i64) -> Result<String, Failed> {
    let mut tries = 0;
    loop {
        let id = format!("t_{:08x}", fastrand::u32(..));
        let inserted = insert_into(tasks::table)
            .values((
                tasks::id.eq(&id),
                tasks::title.eq(row.title),
                tasks::body.eq(row.new.body.as_deref()),
                tasks::assignee.eq(row.assignee),
                tasks::status.eq(row.status),
                tasks::priority.eq(row.new.priority),
                tasks::created_by.eq(row.new.created_by.as_deref()),
                tasks::created_at.eq(now),
                tasks::workspace_kind.eq(row.options.workspace.name()),
                tasks::workspace_path.eq(row.folder),
                tasks::tenant.eq(row.tenant),
                tasks::idempotency_key.eq(row.new.idempotency_key.as_deref()),
                tasks::max_runtime_seconds.eq(row.options.max_runtime_seconds),
                tasks::skills.eq(row.skills.as_deref()),
                tasks::max_retries.eq(row.options.max_retries),
            ))
            .execute(connection);
        match inserted {
            Ok(_) => return Ok(id),
            Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) if tries < 3 => {
                tries += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Fills in the columns that only some files have.
fn complement(
    connection: &mut SqliteConnection,
    features: &Features,
    id: &str,
    row: &Row<'_>,
    checked: &Checked,
) -> Result<(), Failed> {
    let mut set = |there: bool, column: &str, value: Bind<'_>| {
        if !there {
            return Ok(0);
        }
        let sql = format!("UPDATE tasks SET {column} = ? WHERE id = ?");
        execute(connection, &sql, &[value, Bind::Text(id)])
    };
    set(features.session_id, "session_id", Bind::TextOrNull(row.new.session_id.as_deref()))?;
    set(features.branch_name, "branch_name", Bind::TextOrNull(checked.branch.as_deref()))?;
    set(features.goal_mode, "goal_mode", Bind::Int(row.options.goal_mode.into()))?;
    set(features.goal_mode, "goal_max_turns", Bind::IntOrNull(row.options.goal_max_turns))?;
    Ok(())
}
