//! `complete`: a task is done.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
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
        Board,
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
    let blank = |text: Option<&str>| {
        text.is_some_and(|text| !text.is_empty() && filled(Some(text)).is_none())
    };
    if blank(summary) {
        return Err(StoreError::Blank { what: "the summary" });
    }
    let mut metadata = handover.metadata.clone();
    metadata.add_artifacts(&handover.artifacts);
    let there = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    board.write(PATIENCE, |connection, features| {
        let mut verified_cards = Vec::new();
        if !handover.created.is_empty() {
            let found = look(connection, task)?;
            let cards = cards::verify(connection, task, &found, &handover.created)?;
            if !cards.phantom.is_empty() {
                let said = said.filter(|said| !said.is_empty()).or(result);
                if blank(said) {
                    return Err(Failed::Refused(StoreError::Blank { what: "the summary" }));
                }
                cards::refuse(connection, task, &cards, said, now)?;
                // The refusal is written, and nothing else.
                let cards = cards.phantom;
                return Ok(Err(StoreError::PhantomCards { task: task.into(), cards }));
            }
            verified_cards = cards.verified;
        }
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
            verified_cards: verified_cards.clone(),
            artifacts,
        };
        let id = event::append(connection, task, run, "completed", Some(&payload), now)?;
        let texts: Vec<&str> = [said, result].into_iter().flatten().collect();
        cards::suspect(connection, task, run, &texts.join(" "), now)?;
        forgive(connection, task)?;
        promote_ready(connection, features, now)?;
        Ok(Ok(id))
    })?
}

/// Refuses files that lie in the task's own temporary folder.
pub(super) fn refuse_scratch(
    connection: &mut diesel::SqliteConnection,
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
