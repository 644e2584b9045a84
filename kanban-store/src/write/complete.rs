//! `complete`: a task is done.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, sqlite::SqliteConnection, update};
use serde::Serialize;

use super::{
    Metadata, PATIENCE, cards, event, parents,
    ready::promote_ready,
    run,
    task::{find, forgive, look, release},
    text::{filled, first_line, length},
};
use crate::{
    board::{
        Board, Features,
        immediate::Failed,
        schema::tasks,
        statement::{Bind, execute},
    },
    error::StoreError,
};

/// What a task came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The result, kept on the card.
    pub result: Option<String>,
    /// What the worker says of it; the result, if it is not given.
    pub summary: Option<String>,
}

/// What a worker hands over besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handover {
    /// Facts for whoever goes on, kept with the attempt.
    pub metadata: Metadata,
    /// Files that came of it; they are sent with the notice. See [`complete_with`].
    pub artifacts: Vec<String>,
    /// Tasks that the worker made on the way. One that it did not make stops the completion.
    pub created: Vec<String>,
    /// The worker's attempt: refused once that is over.
    pub run: Option<i64>,
}

#[derive(Serialize)]
struct Completed {
    result_len: usize,
    summary: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verified_cards: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<String>,
}

/// The longest first line of a summary in an event, in characters.
pub(super) const SUMMARY_CHARS: usize = 400;

/// What is said of a reviewed task that somebody completes without a word.
const APPROVED: &str = "Approved in review, with nothing to add.";

const FROM: &[&str] = &["running", "ready", "blocked"];
const FROM_REVIEW: &[&str] = &["running", "ready", "blocked", "review"];

/// Completes a task at `now`; answers with the id of the `completed` event.
pub fn complete(
    board: &mut Board,
    task: &str,
    completion: &Completion,
    now: i64,
) -> Result<i64, StoreError> {
    complete_with(board, task, completion, &Handover::default(), now)
}

/// Completes a task at `now`, with what its worker hands over; answers with the id of the event.
///
/// What waits for the task may go on, in the same transaction. Three things are Hermes' alone,
/// because they are about files: a scratch folder is not removed, files named in the text alone
/// are not looked for, and files are not copied out of the folder. An artifact that lies in it is
/// refused, because the next Hermes that cleans up would take it away.
///
/// A summary of nothing but white space is refused; Hermes 0.19 ends in an error there.
pub fn complete_with(
    board: &mut Board,
    task: &str,
    completion: &Completion,
    handover: &Handover,
    now: i64,
) -> Result<i64, StoreError> {
    let result = completion.result.as_deref();
    let said = completion.summary.as_deref();
    let summary = said.or(result);
    if blank(summary) {
        return Err(StoreError::Blank { what: "the summary" });
    }
    let mut metadata = handover.metadata.clone();
    metadata.add_artifacts(&handover.artifacts);
    let told = said.filter(|said| !said.is_empty()).or(result);
    board.write(PATIENCE, |connection, features| {
        let verified_cards = match vouch(connection, task, &handover.created, told, now)? {
            Ok(cards) => cards,
            // The refusal is written, and nothing else.
            Err(refusal) => return Ok(Err(refusal)),
        };
        let from = if features.reviews() { FROM_REVIEW } else { FROM };
        let found = find(connection, task, "complete", from)?.in_run(task, handover.run)?;
        if features.reviews() {
            let parents = parents::open(connection, task, parents::FINISHED)?;
            if !parents.is_empty() {
                return Err(Failed::Refused(StoreError::ParentsOpen {
                    task: task.into(),
                    parents,
                }));
            }
        }
        let mut artifacts = metadata.artifacts();
        refuse_scratch(connection, task, &artifacts)?;
        mark_done(connection, features, task, result, now)?;
        let mut kept = (summary, metadata.stored());
        let reviewed = found.status == "review";
        let silent = reviewed && !there(summary);
        if silent && found.current_run.is_none() && kept.1.is_none() {
            let approval = r#"{"source_status": "review", "approval": "manual"}"#;
            kept = (Some(APPROVED), Some(approval.to_owned()));
        }
        let end = run::End {
            outcome: "completed",
            status: "done",
            summary: kept.0,
            metadata: kept.1.as_deref(),
            record: reviewed || there(said) || there(result) || kept.1.is_some(),
        };
        let run = run::end(connection, task, &found, &end, now)?;
        if !features.branch_name {
            // Hermes sends files since 0.15.
            artifacts.clear();
        }
        let told = if silent { Some(APPROVED) } else { summary };
        let payload = Completed {
            result_len: result.map_or(0, length),
            summary: told.and_then(|text| first_line(text, SUMMARY_CHARS)),
            verified_cards,
            artifacts,
        };
        let id = event::append(connection, task, run, "completed", Some(&payload), now)?;
        let texts: Vec<&str> = [said, result].into_iter().flatten().collect();
        cards::suspect(connection, task, run, &texts.join(" "), now)?;
        promote_ready(connection, features, now)?;
        Ok(Ok(id))
    })?
}

/// The task's own row.
fn mark_done(
    connection: &mut SqliteConnection,
    features: &Features,
    task: &str,
    result: Option<&str>,
    now: i64,
) -> Result<(), Failed> {
    release(connection, task, "done")?;
    update(tasks::table.find(task))
        .set((tasks::result.eq(result), tasks::completed_at.eq(now)))
        .execute(connection)?;
    if features.block_kind {
        execute(
            connection,
            "UPDATE tasks SET block_kind = NULL, block_recurrences = 0 WHERE id = ?",
            &[Bind::Text(task)],
        )?;
    }
    forgive(connection, task)?;
    Ok(())
}

/// Whether something is said.
fn there(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Whether what is said is nothing but white space.
fn blank(text: Option<&str>) -> bool {
    there(text) && filled(text).is_none()
}

/// Those of the named tasks that the worker made, or a refusal if it did not make them all.
fn vouch(
    connection: &mut SqliteConnection,
    task: &str,
    named: &[String],
    told: Option<&str>,
    now: i64,
) -> Result<Result<Vec<String>, StoreError>, Failed> {
    if named.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let found = look(connection, task)?;
    let cards = cards::verify(connection, task, &found, named)?;
    if cards.phantom.is_empty() {
        return Ok(Ok(cards.verified));
    }
    if blank(told) {
        return Err(Failed::Refused(StoreError::Blank { what: "the summary" }));
    }
    cards::refuse(connection, task, &cards, told, now)?;
    Ok(Err(StoreError::PhantomCards { task: task.into(), cards: cards.phantom }))
}

/// Refuses files that lie in the task's own temporary folder.
pub(super) fn refuse_scratch(
    connection: &mut SqliteConnection,
    task: &str,
    artifacts: &[String],
) -> Result<(), Failed> {
    if artifacts.is_empty() {
        return Ok(());
    }
    let folder: (String, Option<String>) = tasks::table
        .find(task)
        .select((tasks::workspace_kind, tasks::workspace_path))
        .first(connection)?;
    let ("scratch", Some(folder)) = (folder.0.as_str(), folder.1.filter(|path| !path.is_empty()))
    else {
        return Ok(());
    };
    match artifacts.iter().find(|file| std::path::Path::new(file).starts_with(&folder)) {
        Some(artifact) => Err(Failed::Refused(StoreError::ScratchArtifact {
            task: task.into(),
            artifact: artifact.clone(),
        })),
        None => Ok(()),
    }
}
