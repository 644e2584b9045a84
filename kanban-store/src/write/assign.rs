//! `assign`: who works on a task.

use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl, update};
use serde::Serialize;

use super::{
    PATIENCE, event,
    task::{forgive, look},
    text::strip,
};
use crate::{
    board::{Board, immediate::Failed, schema::tasks},
    error::StoreError,
};

#[derive(Serialize)]
struct Payload<'a> {
    assignee: Option<&'a str>,
}

/// Gives a task to a profile at `now`, or takes it from everybody; answers with the event's id.
///
/// Who takes a task over starts without the failures of the one before.
pub fn assign(
    board: &mut Board,
    task: &str,
    profile: Option<&str>,
    now: i64,
) -> Result<i64, StoreError> {
    let profile = profile.map(profile_name).transpose()?;
    board.write(PATIENCE, |connection, _| {
        let found = look(connection, task)?;
        if let (Some(holder), "running") = (&found.claim_lock, found.status.as_str()) {
            let (task, holder) = (task.into(), holder.clone());
            return Err(Failed::Refused(StoreError::Claimed { task, holder }));
        }
        update(tasks::table.find(task))
            .set(tasks::assignee.eq(profile.as_deref()))
            .execute(connection)?;
        if found.assignee != profile {
            forgive(connection, task)?;
        }
        let payload = Payload { assignee: profile.as_deref() };
        Ok(event::append(connection, task, None, "assigned", Some(&payload), now)?)
    })
}

/// A profile's name as it is stored: trimmed and in lower case.
pub(super) fn profile_name(name: &str) -> Result<String, StoreError> {
    let name = strip(name);
    if name.is_empty() {
        return Err(StoreError::Blank { what: "the name of the profile" });
    }
    Ok(name.to_lowercase())
}
