//! `claim`: a worker takes a task.

use diesel::{
    ExpressionMethods, QueryDsl, RunQueryDsl, dsl::sql, insert_into, sql_types::BigInt,
    sqlite::SqliteConnection, update,
};
use serde::Serialize;

use super::{
    PATIENCE, event, parents, run,
    task::{Found, look, set_status},
};
use crate::{
    board::{
        Board,
        immediate::Failed,
        schema::{task_runs, tasks},
    },
    error::StoreError,
};

/// How long a claim holds when nothing else is said, in seconds.
pub const CLAIM_SECONDS: i64 = 900;

/// Who takes a task, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// Names the worker; by custom `host:pid`. Hermes takes what is before the `:` for the host.
    pub lock: String,
    /// Seconds until the claim is over unless it is extended; at least 1.
    pub seconds: i64,
}

/// A claim that was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The attempt that it began.
    pub run: i64,
    /// When it is over, in Unix seconds.
    pub expires: i64,
    /// The id of the `claimed` event.
    pub event: i64,
}

#[derive(Serialize)]
struct Claimed<'a> {
    lock: &'a str,
    expires: i64,
    run_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_status: Option<&'a str>,
}

#[derive(Serialize)]
struct Rejected {
    reason: &'static str,
}

#[derive(Serialize)]
struct Reopened {
    reason: &'static str,
    source_status: &'static str,
}

/// Claims a ready task at `now`.
///
/// A task that waits for a parent is refused with [`StoreError::ParentsOpen`]; it goes back to
/// `todo` and an event says so, which are written although the claim is not.
pub fn claim(
    board: &mut Board,
    task: &str,
    claimant: &Claimant,
    now: i64,
) -> Result<Claim, StoreError> {
    board.write(PATIENCE, |connection, _| {
        let found = look(connection, task)?;
        let open = parents::open(connection, task, parents::FINISHED)?;
        if !open.is_empty() {
            if found.status == "ready" {
                set_status(connection, task, "todo")?;
            }
            let payload = Rejected { reason: "parents_not_done" };
            event::append(connection, task, None, "claim_rejected", Some(&payload), now)?;
            return Ok(Err(StoreError::ParentsOpen { task: task.into(), parents: open }));
        }
        if found.status == "ready" {
            run::close_leaked(connection, &found, "left open when the task was claimed anew", now)?;
        }
        take(connection, task, &found, claimant, &["ready"], now)
    })?
}

/// Claims a task that waits for a review at `now`.
pub fn claim_review(
    board: &mut Board,
    task: &str,
    claimant: &Claimant,
    now: i64,
) -> Result<Claim, StoreError> {
    board.write(PATIENCE, |connection, features| {
        if !features.branch_name {
            return Err(Failed::Refused(StoreError::BoardTooOld {
                what: "reviews",
                since: "0.15",
            }));
        }
        let found = look(connection, task)?;
        let open = parents::open(connection, task, parents::FINISHED)?;
        if features.reviews() && !open.is_empty() {
            if found.status == "review" && found.claim_lock.is_none() {
                set_status(connection, task, "todo")?;
                let payload = Reopened { reason: "parent_reopened", source_status: "review" };
                event::append(connection, task, None, "dependency_wait", Some(&payload), now)?;
            }
            return Ok(Err(StoreError::ParentsOpen { task: task.into(), parents: open }));
        }
        take(connection, task, &found, claimant, &["review"], now)
    })?
}

/// Takes a task out of one of these states, unless it is somebody's. What was written before
/// stays written also when it is refused.
fn take(
    connection: &mut SqliteConnection,
    task: &str,
    found: &Found,
    claimant: &Claimant,
    from: &'static [&'static str],
    now: i64,
) -> Result<Result<Claim, StoreError>, Failed> {
    if !from.contains(&found.status.as_str()) {
        let (task, status) = (task.into(), found.status.clone());
        return Ok(Err(StoreError::WrongStatus { operation: "claim", task, status, from }));
    }
    if let Some(holder) = &found.claim_lock {
        return Ok(Err(StoreError::Claimed { task: task.into(), holder: holder.clone() }));
    }
    let expires = now.saturating_add(claimant.seconds.max(1));
    let limit: Option<i64> =
        tasks::table.find(task).select(tasks::max_runtime_seconds).first(connection)?;
    let run = insert_into(task_runs::table)
        .values((
            task_runs::task_id.eq(task),
            task_runs::profile.eq(found.assignee.as_deref()),
            task_runs::step_key.eq(found.step.as_deref()),
            task_runs::status.eq("running"),
            task_runs::claim_lock.eq(&claimant.lock),
            task_runs::claim_expires.eq(expires),
            task_runs::max_runtime_seconds.eq(limit),
            task_runs::started_at.eq(now),
        ))
        .returning(task_runs::id)
        .get_result(connection)?;
    update(tasks::table.find(task))
        .set((
            tasks::status.eq("running"),
            tasks::claim_lock.eq(&claimant.lock),
            tasks::claim_expires.eq(expires),
            // The first start of all stays.
            tasks::started_at.eq(sql("coalesce(started_at, ").bind::<BigInt, _>(now).sql(")")),
            tasks::current_run_id.eq(run),
        ))
        .execute(connection)?;
    let payload = Claimed {
        lock: &claimant.lock,
        expires,
        run_id: run,
        source_status: (found.status == "review").then_some("review"),
    };
    let event = event::append(connection, task, Some(run), "claimed", Some(&payload), now)?;
    Ok(Ok(Claim { run, expires, event }))
}
