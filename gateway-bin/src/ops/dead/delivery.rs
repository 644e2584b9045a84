//! Deliveries as they are printed: every time in one form, JSON as JSON.

use kanban_store::ledger::{
    operator::{Attempt, ClaimInfo, DeadDetail, DeadLeg},
    states,
};
use serde::Serialize;
use serde_json::Value;

use crate::ops::{events, time::Moment};

/// A delivery as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    /// Its id.
    pub id: i64,
    /// The subscription's id.
    pub subscription: i64,
    /// The board.
    pub board: String,
    /// The task.
    pub task: String,
    /// The task's title.
    pub title: String,
    /// The event's id.
    pub event: i64,
    /// What happened.
    pub event_kind: String,
    /// When it happened.
    pub event_at: Moment,
    /// `ping` or `wake`.
    pub kind: String,
    /// The platform.
    pub platform: String,
    /// The Hermes profile.
    pub profile: String,
    /// The chat or raw session.
    pub chat: String,
    /// The thread.
    pub thread: String,
    /// Where it stands.
    pub state: String,
    /// The last verdict; empty when nothing was sent.
    pub verdict: String,
    /// Why.
    pub reason: String,
    /// Attempts that failed.
    pub failures: i32,
    /// Which repetition on purpose this is.
    pub epoch: i32,
    /// Whether an operator dropped it.
    pub dropped: bool,
    /// When it was planned.
    pub planned_at: Moment,
    /// When it may be sent, while it is still to be.
    pub due_at: Option<Moment>,
    /// When it was first sent.
    pub first_attempt_at: Option<Moment>,
    /// When it was last sent.
    pub last_attempt_at: Option<Moment>,
}

impl From<DeadLeg> for Delivery {
    fn from(leg: DeadLeg) -> Self {
        let unsent = states::is_unsent(&leg.state);
        Self {
            id: leg.id,
            subscription: leg.subscription,
            board: leg.board,
            task: leg.task,
            title: leg.title,
            event: leg.event,
            event_kind: leg.event_kind,
            event_at: Moment::from_micros(leg.event_at),
            kind: leg.kind,
            platform: leg.platform,
            profile: leg.profile,
            chat: leg.chat,
            thread: leg.thread,
            state: leg.state,
            verdict: leg.verdict,
            reason: leg.reason,
            failures: leg.failures,
            epoch: leg.epoch,
            dropped: leg.dropped,
            planned_at: Moment::from_micros(leg.planned_at),
            due_at: unsent.then(|| Moment::from_micros(leg.due_at)),
            first_attempt_at: leg.first_attempt_at.map(Moment::from_micros),
            last_attempt_at: leg.last_attempt_at.map(Moment::from_micros),
        }
    }
}

/// Everything about one delivery as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The delivery.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// Who worked on the task.
    pub assignee: Option<String>,
    /// The worker's hand-off.
    pub handoff: Option<String>,
    /// Small facts.
    pub notes: Value,
    /// The life of the subscription.
    pub life: String,
    /// The last request that carried it, unless that is forgotten.
    pub claim: Option<Claim>,
    /// What came of each request that did not deliver it, and of those before a repeat on purpose.
    pub attempts: Vec<Attempted>,
}

/// What came of one request as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Attempted {
    /// The request's id; one that is sent again with the same bytes keeps it.
    pub claim: i64,
    /// When it was recorded, right before it was sent.
    pub sent_at: Moment,
    /// When its outcome was recorded.
    pub ended_at: Moment,
    /// The verdict.
    pub verdict: String,
    /// Its detail.
    pub detail: String,
}

impl From<Attempt> for Attempted {
    fn from(attempt: Attempt) -> Self {
        Self {
            claim: attempt.claim,
            sent_at: Moment::from_micros(attempt.sent_at),
            ended_at: Moment::from_micros(attempt.ended_at),
            verdict: attempt.verdict,
            detail: attempt.detail,
        }
    }
}

/// One request as it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// Its id.
    pub id: i64,
    /// The destination.
    pub lane: String,
    /// The idempotency key.
    pub key: String,
    /// The reference in the text.
    pub reference: String,
    /// `open` or `over`.
    pub state: String,
    /// The last verdict.
    pub verdict: String,
    /// Its detail.
    pub detail: String,
    /// How many deliveries it carried.
    pub legs: i32,
    /// When it was recorded.
    pub intended_at: Moment,
    /// When it was over.
    pub settled_at: Option<Moment>,
}

impl From<DeadDetail> for Shown {
    fn from(detail: DeadDetail) -> Self {
        let claim = |claim: ClaimInfo| Claim {
            id: claim.id,
            lane: claim.lane,
            key: claim.key,
            reference: claim.reference,
            state: claim.state,
            verdict: claim.verdict,
            detail: claim.detail,
            legs: claim.legs,
            intended_at: Moment::from_micros(claim.intended_at),
            settled_at: claim.settled_at.map(Moment::from_micros),
        };
        Self {
            delivery: detail.leg.into(),
            assignee: detail.assignee,
            handoff: detail.handoff,
            notes: events::json(detail.notes),
            life: detail.life,
            claim: detail.claim.map(claim),
            attempts: detail.attempts.into_iter().map(Attempted::from).collect(),
        }
    }
}
