//! From a decision to what follows from it: the plan first, and all else once it is durable (law D1).

use super::{
    Command, Engine, Notice, Opening,
    state::{Pending, READ_RETRY, Timer},
};
use crate::{
    ids::{BoardId, EventId, LegId},
    plan::Decision,
    record::{Pass, Planned, RowChange, RowOutcome, Sweep},
    subscription::Life,
    time::Timestamp,
};

impl Engine {
    pub(super) fn decided(&mut self, board: BoardId, pass: &Pass, decision: Decision) {
        let Decision { mut plan, stamps, unserved, expired, cuts, .. } = decision;
        if expired > 0 {
            self.out.push(Command::Tell(Notice::Expired { board, events: expired }));
        }
        if let Some(state) = self.boards.get_mut(&board) {
            plan.closes.append(&mut state.closes);
        }
        let closing: Vec<LegId> = plan.closes.iter().map(|(leg, ..)| *leg).collect();
        // Not sent from now on, and not forgotten before the ledger knows that it ended.
        for leg in &closing {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.bound = true;
            }
        }
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if !unserved.is_empty() && unserved != state.unserved {
            state.unserved.clone_from(&unserved);
            self.out.push(Command::Tell(Notice::Unserved { board, rows: unserved }));
        }
        let confirms = plan.subscriptions.iter().filter(|sub| sub.life == Life::Offered);
        let stamps = stamps
            .into_iter()
            .filter_map(|stamp| {
                let RowChange::Stamp { key, .. } = &stamp else {
                    return None;
                };
                let mut confirm = confirms.clone().find(|sub| sub.key == *key)?.clone();
                confirm.life = Life::Live;
                confirm.legs.clear();
                Some((stamp, confirm))
            })
            .collect();
        let confirmed = std::mem::take(&mut state.confirmed);
        for confirm in &confirmed {
            if !plan.subscriptions.iter().any(|sub| sub.key == confirm.key) {
                plan.subscriptions.push(confirm.clone());
            }
        }
        if let Some(held) = &state.backlog.held {
            plan.position.event = held.event;
            plan.position.event_print.clone_from(&held.event_print);
        }
        let notices = cuts
            .into_iter()
            .map(|(event, (task, kind, cut))| Notice::Cut { board, task, event, kind, cut })
            .collect();
        let pending = Pending { position: pass.next.clone(), stamps, confirmed, closing, notices };
        if plan.subscriptions.is_empty() && plan.closes.is_empty() {
            // Nothing of ours happened: the position is kept in memory, not worth a write.
            state.start.position = pending.position;
            state.busy = false;
            self.checked(board);
            if self.boards.get(&board).is_some_and(|state| state.again) {
                self.read(board);
            }
        } else {
            state.pending = Some(pending);
            self.out.push(Command::Plan(state.opening, plan));
        }
    }

    pub(super) fn planned(&mut self, opening: Opening, planned: Planned, now: Timestamp) {
        let board = opening.board;
        let pending = self.still_open(opening).and_then(|state| {
            state.busy = false;
            state.pending.take()
        });
        let Some(Pending { position, stamps, closing, notices, .. }) = pending else {
            // The board was opened anew meanwhile: the ledger knows what came of it.
            return self.load_work();
        };
        self.out.extend(notices.into_iter().map(Command::Tell));
        for leg in closing {
            self.forget_leg(leg);
        }
        for owed in planned.owed {
            self.admit(owed);
        }
        self.queue_raises(planned.raises, now);
        self.checked(board);
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        state.start.position = position;
        let opening = state.opening;
        let (changes, confirms): (Vec<_>, Vec<_>) = stamps.into_iter().unzip();
        state.confirming.extend(confirms);
        if !changes.is_empty() {
            self.out.push(Command::ChangeRows(opening, changes));
        }
        if self.boards.get(&board).is_some_and(|state| state.again) {
            self.read(board);
        }
    }

    /// The board's rows were held against what is open: its lanes may go.
    fn checked(&mut self, board: BoardId) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        let looked = std::mem::take(&mut state.looking);
        for sub in &looked {
            state.unlooked.remove(sub);
        }
        if std::mem::take(&mut state.checking) {
            state.checked = true;
            self.touch_board(board);
        }
        for sub in looked {
            self.touch_sub(sub);
        }
    }

    /// Nothing of the plan has happened: the same is read and decided again, from the old position.
    pub(super) fn plan_failed(&mut self, opening: Opening, now: Timestamp) {
        if let Some(state) = self.still_open(opening)
            && let Some(mut pending) = state.pending.take()
        {
            state.confirmed.append(&mut pending.confirmed);
            if let Some(before) = state.backlog_before.take() {
                state.backlog = before;
            }
            self.keep_open(&pending.closing, now);
        }
        self.read_failed(opening, now);
    }

    /// Legs whose end was not recorded are open as before; their lanes go on after a rest.
    pub(super) fn keep_open(&mut self, legs: &[LegId], now: Timestamp) {
        let at = now.after(READ_RETRY);
        for leg in legs {
            let Some(open) = self.open_leg_mut(*leg) else {
                continue;
            };
            open.bound = false;
            let Some((sub, kind, _)) = self.legs.get(leg) else {
                continue;
            };
            let Some(lane) = self.tracks.get(&(*sub, *kind)).map(|track| track.lane.clone()) else {
                continue;
            };
            if let Some(state) = self.lanes.get_mut(&lane) {
                state.not_before = state.not_before.max(at);
            }
            self.set_timer(Timer::Lane(lane), at);
        }
    }

    pub(super) fn rows_changed(
        &mut self,
        opening: Opening,
        changes: Vec<RowChange>,
        outcomes: Option<Vec<RowOutcome>>,
        now: Timestamp,
    ) {
        if self.still_open(opening).is_none() {
            return;
        }
        match changes.first() {
            Some(RowChange::Stamp { .. }) => self.stamped(opening.board, &changes, outcomes, now),
            Some(RowChange::Delete { .. }) => self.aged_out(opening.board, outcomes),
            _ => self.raises_done(opening.board, outcomes, now),
        }
    }

    fn stamped(
        &mut self,
        board: BoardId,
        stamps: &[RowChange],
        outcomes: Option<Vec<RowOutcome>>,
        now: Timestamp,
    ) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        let failed = outcomes.is_none();
        let outcomes = outcomes.unwrap_or_else(|| vec![RowOutcome::Lost; stamps.len()]);
        let mut held = Vec::new();
        for (change, outcome) in stamps.iter().zip(outcomes) {
            let RowChange::Stamp { key, .. } = change else {
                continue;
            };
            let confirm = state.confirming.iter().position(|sub| sub.key == *key);
            let Some(confirm) = confirm.map(|at| state.confirming.swap_remove(at)) else {
                continue;
            };
            match outcome {
                RowOutcome::Won => held.push(confirm),
                // Not written, or somebody wrote the owner in between: look again. Only the tail over
                // rows shows one that has no events yet.
                RowOutcome::Lost => {
                    state.start.position.rowid = 0;
                    state.start.position.row_print = None;
                    state.sweep = Sweep::Above(EventId(0));
                    state.again = true;
                }
                RowOutcome::Gone => {}
            }
        }
        state.confirmed.extend(held.iter().cloned());
        for confirm in &held {
            for sub in self.subs.values_mut() {
                if sub.board == board
                    && sub.subscription.key == confirm.key
                    && sub.subscription.created_at == confirm.created_at
                {
                    sub.subscription.life = Life::Live;
                }
            }
        }
        if failed {
            self.set_timer(Timer::Read(board), now.after(READ_RETRY));
        } else {
            self.read(board);
        }
    }
}
