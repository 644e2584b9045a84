//! `request-review`: a worker hands its task over to somebody who looks at it.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, sqlite::SqliteConnection, update};
use serde::Serialize;
use serde_json::Value;

use super::{
    Metadata, PATIENCE,
    assign::profile_name,
    complete::{SUMMARY_CHARS, refuse_scratch},
    event, parents, run,
    task::{find, release},
    text::{filled, first_line},
};
use crate::{
    board::{
        Board,
        immediate::Failed,
        schema::{task_runs, tasks},
    },
    error::StoreError,
};

/// What reviews are called in refusals, and the first Hermes that hands tasks over for one.
pub(super) const NO_REVIEWS: StoreError =
    StoreError::BoardTooOld { what: "hand-overs for review", since: "0.20" };

/// What a worker hands over for review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Review {
    /// What the worker says of it.
    pub summary: Option<String>,
    /// Facts for the reviewer, kept with the attempt; files that came of it by [`Metadata::add_artifacts`].
    pub metadata: Metadata,
    /// The profile that is to look at it. Without one it is the one that looked at it last.
    pub reviewer: Option<String>,
    /// The worker's attempt: refused once that is over.
    pub run: Option<i64>,
    /// Although somebody works on it, and it is not known to be the one who asks.
    pub force: bool,
}

#[derive(Serialize)]
struct Payload<'a> {
    summary: Option<String>,
    implementer: Option<&'a str>,
    reviewer: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<String>,
}

/// Hands a task over for review at `now`; answers with the event's id.
///
/// Only on boards of a Hermes after 0.19: an older one would not know what became of the task. That
/// Hermes takes secrets out of what is said first; here the caller has to.
pub fn request_review(
    board: &mut Board,
    task: &str,
    review: &Review,
    now: i64,
) -> Result<i64, StoreError> {
    let summary = review.summary.as_deref();
    let named = review.reviewer.as_deref().map(profile_name).transpose()?;
    board.write(PATIENCE, |connection, features| {
        if !features.reviews() {
            return Err(Failed::Refused(NO_REVIEWS));
        }
        let found = find(connection, task, "request a review of", &["running", "ready"])?
            .in_run(task, review.run)?;
        let open = parents::open(connection, task, parents::FINISHED)?;
        if !open.is_empty() {
            let task = task.into();
            return Err(Failed::Refused(StoreError::ParentsOpen { task, parents: open }));
        }
        if let (Some(holder), "running", None, false) =
            (&found.claim_lock, found.status.as_str(), review.run, review.force)
        {
            let (task, holder) = (task.into(), holder.clone());
            return Err(Failed::Refused(StoreError::Claimed { task, holder }));
        }
        let reviewer = match &named {
            Some(named) => Some(named.clone()),
            None => last_reviewer(connection, task)?,
        };
        let artifacts = review.metadata.artifacts();
        refuse_scratch(connection, task, &artifacts)?;
        release(connection, task, "review")?;
        if let Some(reviewer) = &reviewer {
            update(tasks::table.find(task))
                .set(tasks::assignee.eq(reviewer))
                .execute(connection)?;
        }
        let stored = review.metadata.stored();
        let end = run::End {
            outcome: "review_requested",
            status: "review",
            summary,
            metadata: stored.as_deref(),
            record: stored.is_some() || summary.is_some_and(|summary| !summary.is_empty()),
        };
        // An attempt that is made up here is the reviewer's: the task is by now.
        let implementer = found.assignee.clone();
        let mut found = found;
        found.assignee = reviewer.clone().or(found.assignee);
        let run = run::end(connection, task, &found, &end, now)?;
        let payload = Payload {
            summary: summary.and_then(|summary| first_line(summary, SUMMARY_CHARS)),
            implementer: implementer.as_deref(),
            reviewer: reviewer.as_deref(),
            artifacts,
        };
        Ok(event::append(connection, task, run, "review_requested", Some(&payload), now)?)
    })
}

/// Who asked for changes last; `None` if nobody ever did.
fn last_reviewer(connection: &mut SqliteConnection, task: &str) -> Result<Option<String>, Failed> {
    let runs: Vec<i64> = task_runs::table
        .filter(task_runs::task_id.eq(task))
        .filter(task_runs::outcome.eq("changes_requested"))
        .order(task_runs::id.desc())
        .select(task_runs::id)
        .limit(1)
        .load(connection)?;
    let Some(run) = runs.first() else {
        return Ok(None);
    };
    let told = event::newest(connection, task, Some(*run), &["changes_requested"])?;
    let reviewer = told.as_ref().and_then(|(_, payload)| payload.get("reviewer"));
    match filled(reviewer.and_then(Value::as_str)) {
        Some(name) => Ok(Some(profile_name(name).map_err(Failed::Refused)?)),
        None => Err(Failed::Refused(StoreError::NoReview {
            task: task.into(),
            reason: "nothing says who asked for changes; name a reviewer",
        })),
    }
}
