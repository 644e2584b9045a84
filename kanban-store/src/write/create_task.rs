//! `create`: a new task, ready to be worked on.

use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, insert_into,
    result::{DatabaseErrorKind, Error},
    sqlite::SqliteConnection,
};
use serde::Serialize;

use super::{PATIENCE, event};
use crate::{
    board::{
        Board,
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

#[derive(Serialize)]
struct Created<'a> {
    assignee: Option<&'a str>,
    status: &'a str,
    parents: [&'a str; 0],
    tenant: Option<&'a str>,
    branch_name: Option<&'a str>,
    skills: Option<&'a str>,
    goal_mode: Option<bool>,
}

/// Makes a task at `now` and answers with its id.
pub fn create_task(board: &mut Board, new: &NewTask, now: i64) -> Result<String, StoreError> {
    let title = new.title.trim();
    if title.is_empty() {
        return Err(StoreError::EmptyTitle);
    }
    let assignee = new.assignee.as_deref().map(|name| name.trim().to_lowercase());
    let assignee = assignee.as_deref().filter(|name| !name.is_empty());
    board.write(PATIENCE, |connection, features| {
        if let Some(key) = new.idempotency_key.as_deref()
            && let Some(same) = with_key(connection, key)?
        {
            return Ok(same);
        }
        let id = insert(connection, new, title, assignee, now)?;
        if let (true, Some(session)) = (features.session_id, new.session_id.as_deref()) {
            execute(
                connection,
                "UPDATE tasks SET session_id = ? WHERE id = ?",
                &[Bind::Text(session), Bind::Text(&id)],
            )?;
        }
        let payload = Created {
            assignee,
            status: "ready",
            parents: [],
            tenant: None,
            branch_name: None,
            skills: None,
            goal_mode: None,
        };
        event::append(connection, &id, None, "created", Some(&payload), now)?;
        Ok(id)
    })
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

/// Inserts under a random id; one that is taken already is drawn again.
fn insert(
    connection: &mut SqliteConnection,
    new: &NewTask,
    title: &str,
    assignee: Option<&str>,
    now: i64,
) -> Result<String, Failed> {
    let mut tries = 0;
    loop {
        let id = format!("t_{:08x}", fastrand::u32(..));
        let inserted = insert_into(tasks::table)
            .values((
                tasks::id.eq(&id),
                tasks::title.eq(title),
                tasks::body.eq(new.body.as_deref()),
                tasks::assignee.eq(assignee),
                tasks::status.eq("ready"),
                tasks::priority.eq(new.priority),
                tasks::created_by.eq(new.created_by.as_deref()),
                tasks::created_at.eq(now),
                tasks::workspace_kind.eq("scratch"),
                tasks::idempotency_key.eq(new.idempotency_key.as_deref()),
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
