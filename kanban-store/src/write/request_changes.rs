//! `request-changes`: a reviewer hands a task back.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;
use serde_json::Value;

use super::{
    PATIENCE,
    assign::profile_name,
    event, parents,
    request_review::NO_REVIEWS,
    resume, run,
    task::{find, release},
    text::{filled, strip},
};
use crate::{
    board::{Board, immediate::Failed, schema::tasks},
    error::StoreError,
};

/// A task that was handed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedBack {
    /// Who has to go on with it.
    pub implementer: String,
    /// Its status: `ready`, or `todo` while it waits for a parent.
    pub status: &'static str,
    /// The id of the `changes_requested` event.
    pub event: i64,
}

#[derive(Serialize)]
struct Payload<'a> {
    reason: &'a str,
    implementer: &'a str,
    reviewer: Option<&'a str>,
    status: &'static str,
}

/// Hands a task back at `now` to who asked for the review, out of the attempt of a reviewer who
/// claimed it. With `run` it is refused once that attempt is over.
///
/// Only on boards of a Hermes after 0.19, which takes secrets out of the reason first; here the
/// caller has to.
pub fn request_changes(
    board: &mut Board,
    task: &str,
    reason: &str,
    run: Option<i64>,
    now: i64,
) -> Result<HandedBack, StoreError> {
    let reason = strip(reason);
    if reason.is_empty() {
        return Err(StoreError::Blank { what: "the reason" });
    }
    board.write(PATIENCE, |connection, features| {
        if !features.reviews() {
            return Err(Failed::Refused(NO_REVIEWS));
        }
        let found = find(connection, task, "request changes of", &["running"])?;
        let found = found.in_run(task, run)?;
        let no = |reason| Failed::Refused(StoreError::NoReview { task: task.into(), reason });
        if resume::of_run(connection, task, found.current_run)? != "review" {
            return Err(no("its attempt is no review; claim it as one, or block it"));
        }
        let requested = event::newest(connection, task, None, &["review_requested"])?;
        let implementer = requested.as_ref().and_then(|(_, payload)| payload.get("implementer"));
        let implementer = filled(implementer.and_then(Value::as_str))
            .ok_or_else(|| no("nothing says who asked for the review; assign and unblock it"))?;
        let reviewer = filled(found.assignee.as_deref()).map(profile_name).transpose();
        let reviewer = reviewer.map_err(Failed::Refused)?;
        let status = parents::landing(connection, features, task)?;
        release(connection, task, status)?;
        update(tasks::table.find(task)).set(tasks::assignee.eq(implementer)).execute(connection)?;
        let end = run::End {
            outcome: "changes_requested",
            status,
            summary: Some(reason),
            metadata: None,
            record: false,
        };
        let run = run::end(connection, task, &found, &end, now)?;
        let payload = Payload { reason, implementer, reviewer: reviewer.as_deref(), status };
        let kind = "changes_requested";
        let event = event::append(connection, task, run, kind, Some(&payload), now)?;
        Ok(HandedBack { implementer: implementer.to_owned(), status, event })
    })
}
