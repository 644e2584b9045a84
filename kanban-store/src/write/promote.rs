//! `promote`: somebody makes a task ready by hand.

use serde::Serialize;

use super::{
    PATIENCE, event, parents,
    task::{find, set_status},
};
use crate::{
    board::{Board, immediate::Failed},
    error::StoreError,
};

/// Who makes a task ready, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: Option<String>,
    /// Although it waits for a parent. A Hermes after 0.19 knows no such thing, because its next
    /// claim would undo it; there it is refused like any other.
    pub force: bool,
}

#[derive(Serialize)]
struct Payload<'a> {
    actor: &'a str,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forced: Option<bool>,
}

/// Makes a waiting or blocked task ready at `now`; answers with the event's id.
pub fn promote(
    board: &mut Board,
    task: &str,
    promotion: &Promotion,
    now: i64,
) -> Result<i64, StoreError> {
    board.write(PATIENCE, |connection, features| {
        if !features.branch_name {
            let what = "promotions by hand";
            return Err(Failed::Refused(StoreError::BoardTooOld { what, since: "0.15" }));
        }
        find(connection, task, "promote", &["todo", "blocked"])?;
        if !promotion.force || features.reviews() {
            let parents = parents::open(connection, task, parents::FINISHED)?;
            if !parents.is_empty() {
                return Err(Failed::Refused(StoreError::ParentsOpen {
                    task: task.into(),
                    parents,
                }));
            }
        }
        set_status(connection, task, "ready")?;
        let payload = Payload {
            actor: &promotion.actor,
            reason: promotion.reason.as_deref(),
            forced: (!features.reviews()).then_some(promotion.force),
        };
        Ok(event::append(connection, task, None, "promoted_manual", Some(&payload), now)?)
    })
}
