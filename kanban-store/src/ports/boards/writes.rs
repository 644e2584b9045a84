//! Changes that wait for a board's write lock, while its thread goes on reading (law B4).

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    record::{RowChange, RowOutcome},
};

use super::convert::{kind, row_edit, row_outcome, told};
use crate::{
    board::{Board, Committed, MAX_EDITS, RowEdit, lock_step},
    error::StoreError,
};

/// Between two of our transactions, while others write as well.
const TURN: Duration = Duration::from_millis(50);
/// Others write as well if one of them committed so recently.
const RECENT: Duration = Duration::from_secs(1);

pub(super) struct Writes {
    queue: VecDeque<Pending>,
    patience: Duration,
    /// The next try.
    at: Instant,
    /// Since when the lock was not to be had.
    waiting_since: Option<Instant>,
}

struct Pending {
    edits: Vec<RowEdit>,
    outcomes: Vec<RowOutcome>,
    reply: oneshot::Sender<Result<Vec<RowOutcome>, PortError>>,
}

/// What came of one try.
#[derive(Default)]
pub(super) struct Tried {
    /// The board's data version before and after, if our commit alone moved it.
    pub own_step: Option<(i64, i64)>,
    /// Why the board cannot be served any more.
    pub lost: Option<StoreError>,
}

impl Writes {
    pub(super) fn new(patience: Duration) -> Self {
        Self { queue: VecDeque::new(), patience, at: Instant::now(), waiting_since: None }
    }

    /// When the next try is due; `None` when there is nothing to write.
    pub(super) fn next_at(&self) -> Option<Instant> {
        (!self.queue.is_empty()).then_some(self.at)
    }

    pub(super) fn push(
        &mut self,
        changes: Vec<RowChange>,
        reply: oneshot::Sender<Result<Vec<RowOutcome>, PortError>>,
        now: Instant,
    ) {
        // A stamp races another notifier for a row that is minutes old at most: it goes at once.
        let urgent = changes.iter().any(|change| matches!(change, RowChange::Stamp { .. }));
        if urgent && self.waiting_since.is_none() {
            self.at = now;
        }
        self.queue.push_back(Pending {
            outcomes: Vec::with_capacity(changes.len()),
            edits: changes.into_iter().map(row_edit).collect(),
            reply,
        });
    }

    /// Tries one transaction with as much of the queue as it may hold.
    pub(super) fn go(
        &mut self,
        board: &mut Board,
        now: Instant,
        foreign_at: Option<Instant>,
    ) -> Tried {
        let edits: Vec<RowEdit> = self
            .queue
            .iter()
            .flat_map(|pending| pending.edits.iter().skip(pending.outcomes.len()))
            .take(MAX_EDITS)
            .cloned()
            .collect();
        match board.try_change(&edits) {
            Ok(Some(Committed { outcomes, own_step })) => {
                self.waiting_since = None;
                let crowded = own_step.is_none()
                    || foreign_at.is_some_and(|at| now.saturating_duration_since(at) < RECENT);
                self.at = if crowded { now + TURN } else { now };
                self.hand_out(outcomes.into_iter().map(row_outcome));
                Tried { own_step, lost: None }
            }
            Ok(None) => {
                let since = *self.waiting_since.get_or_insert(now);
                let waited = now.saturating_duration_since(since);
                self.at = now + lock_step(waited);
                if waited >= self.patience {
                    self.waiting_since = None;
                    let error = StoreError::BoardBusy { waited };
                    self.fail_all(told(&error).as_str());
                }
                Tried::default()
            }
            Err(error) => {
                let text = told(&error);
                let kind = kind(&error);
                self.fail(text.as_str(), kind);
                Tried { own_step: None, lost: Some(error) }
            }
        }
    }

    /// Answers everything that waits with the same failure, which may pass.
    pub(super) fn fail_all(&mut self, why: &str) {
        self.fail(why, PortErrorKind::Weather);
    }

    fn fail(&mut self, why: &str, kind: PortErrorKind) {
        for pending in self.queue.drain(..) {
            // The asker may have gone.
            drop(pending.reply.send(Err(PortError {
                operation: "changing the board",
                kind,
                source: why.into(),
            })));
        }
    }

    fn hand_out(&mut self, mut outcomes: impl Iterator<Item = RowOutcome>) {
        while let Some(first) = self.queue.front_mut() {
            let wanted = first.edits.len().saturating_sub(first.outcomes.len());
            first.outcomes.extend(outcomes.by_ref().take(wanted));
            if first.outcomes.len() < first.edits.len() {
                return;
            }
            if let Some(done) = self.queue.pop_front() {
                drop(done.reply.send(Ok(done.outcomes)));
            }
        }
    }
}
