//! `block`: a worker stops and waits for somebody.

use serde::Serialize;

use super::{
    PATIENCE, event, resume, run,
    task::{find, release},
};
use crate::{
    board::{
        Board,
        immediate::Failed,
        statement::{Bind, Cell, execute, scalar},
    },
    error::StoreError,
};

/// The same block for the second time in a row goes to triage.
const LOOP_LIMIT: i64 = 2;

/// The states that a worker may stop in.
const FROM: &[&str] = &["running", "ready"];

/// What a worker waits for. Work that waits for other tasks is not blocked: see [`depend`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// An answer or a decision.
    NeedsInput,
    /// Something that it cannot or may not do.
    Capability,
    /// Trouble that may pass.
    Transient,
}

impl BlockKind {
    /// The name of the kind on a board.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeedsInput => "needs_input",
            Self::Capability => "capability",
            Self::Transient => "transient",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Result<Self, StoreError> {
        match name {
            "needs_input" => Ok(Self::NeedsInput),
            "capability" => Ok(Self::Capability),
            "transient" => Ok(Self::Transient),
            other => Err(StoreError::BadValue {
                what: "kind of block",
                value: other.into(),
                advice: "take `needs_input`, `capability`, `transient` or none",
            }),
        }
    }
}

/// Why a worker stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// What somebody else is to know or to do.
    pub reason: Option<String>,
    /// The worker's attempt: refused once that is over.
    pub run: Option<i64>,
}

/// What a block came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The task is blocked; with the event's id.
    Blocked(i64),
    /// It was blocked for the same reason before and went to triage; with the event's id.
    Loop(i64),
}

#[derive(Serialize)]
struct Payload<'a> {
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recurrences: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
}

/// Blocks a task at `now`; `kind` is the name of a [`BlockKind`], or none.
pub fn block(
    board: &mut Board,
    task: &str,
    reason: Option<&str>,
    kind: Option<&str>,
    now: i64,
) -> Result<Blocked, StoreError> {
    let kind = kind.map(BlockKind::parse).transpose()?;
    block_with(board, task, &Stop { reason: reason.map(str::to_owned), run: None }, kind, now)
}

/// Blocks a task at `now`. On a file that knows no kinds of blocks the kind is dropped.
pub fn block_with(
    board: &mut Board,
    task: &str,
    stop: &Stop,
    kind: Option<BlockKind>,
    now: i64,
) -> Result<Blocked, StoreError> {
    let reason = stop.reason.as_deref();
    let kind = kind.map(BlockKind::name);
    board.write(PATIENCE, |connection, features| {
        let found = find(connection, task, "block", FROM)?.in_run(task, stop.run)?;
        // Files without the columns know one kind of block and count nothing.
        let mut times = None;
        if features.block_kind {
            let same = Bind::TextOrNull(kind);
            let before = scalar(
                connection,
                "SELECT block_recurrences FROM tasks WHERE id = ? AND block_kind IS ?",
                &[Bind::Text(task), same],
            )?;
            let count = match before {
                Cell::Int(count) => count.saturating_add(1),
                _ => 1,
            };
            execute(
                connection,
                "UPDATE tasks SET block_kind = ?, block_recurrences = ? WHERE id = ?",
                &[same, Bind::Int(count), Bind::Text(task)],
            )?;
            times = Some(count);
        }
        let source = features
            .reviews()
            .then(|| resume::of_run(connection, task, found.current_run))
            .transpose()?;
        let looping = times.is_some_and(|count| count >= LOOP_LIMIT);
        release(connection, task, if looping { "triage" } else { "blocked" })?;
        let run = run::end(connection, task, &found, &run::End::because("blocked", reason), now)?;
        let payload = Payload {
            reason,
            kind: times.map(|_| kind),
            recurrences: times,
            source_status: source,
            limit: looping.then_some(LOOP_LIMIT),
        };
        let name = if looping { "block_loop_detected" } else { "blocked" };
        let id = event::append(connection, task, run, name, Some(&payload), now)?;
        Ok(if looping { Blocked::Loop(id) } else { Blocked::Blocked(id) })
    })
}

/// Puts a task back at `now` until the tasks that it waits for are finished: a block of the kind
/// `dependency`, of which nobody is told. Answers with the event's id.
///
/// Link it to what it waits for as well: without an open parent it becomes ready again at once.
pub fn depend(board: &mut Board, task: &str, stop: &Stop, now: i64) -> Result<i64, StoreError> {
    let (reason, kind) = (stop.reason.as_deref(), "dependency");
    board.write(PATIENCE, |connection, features| {
        if !features.block_kind {
            let what = "tasks that wait for others by a block";
            return Err(Failed::Refused(StoreError::BoardTooOld { what, since: "0.18" }));
        }
        let found = find(connection, task, "put back", FROM)?.in_run(task, stop.run)?;
        let source = features
            .reviews()
            .then(|| resume::of_run(connection, task, found.current_run))
            .transpose()?;
        release(connection, task, "todo")?;
        execute(
            connection,
            "UPDATE tasks SET block_kind = ? WHERE id = ?",
            &[Bind::Text(kind), Bind::Text(task)],
        )?;
        let run = run::end(connection, task, &found, &run::End::because("blocked", reason), now)?;
        let payload = Payload {
            reason,
            kind: Some(Some(kind)),
            recurrences: None,
            source_status: source,
            limit: None,
        };
        Ok(event::append(connection, task, run, "dependency_wait", Some(&payload), now)?)
    })
}
