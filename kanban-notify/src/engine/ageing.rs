//! Rows to which nothing has happened for long: the last way in which a subscription ends (law S3).

use super::{
    Command, Engine,
    state::{AGE_EVERY, Timer},
};
use crate::{
    ids::BoardId,
    leg::LegKind,
    ownership::{self, Ownership},
    record::{AGED_ROWS, Aged, AgedRows, Pass, RowChange, RowOutcome, SubscriptionPlan},
    subscription::{Life, Row, Subscription},
    time::Timestamp,
};

impl Engine {
    /// Asks the next read for aged rows, from the first one on.
    pub(super) fn look_for_aged(&mut self, board: BoardId, now: Timestamp) {
        let Some(retention) = self.policy.retention else { return };
        self.set_timer(Timer::Age(board), now.after(AGE_EVERY));
        if let Some(state) = self.boards.get_mut(&board) {
            state.age = Some(Aged { before: now.before(retention), above: i64::MIN });
            self.read(board);
        }
    }

    /// Deletes those that are ours and owed nothing, and goes on with the next.
    pub(super) fn aged(&mut self, board: BoardId, pass: &Pass, copies: &[Subscription]) {
        let Some(AgedRows { before, rows }) = &pass.aged else { return };
        let before = *before;
        let mut deletes = Vec::new();
        let mut ends = Vec::new();
        for row in rows {
            let copy = copies.iter().find(|c| c.key == row.key && c.created_at == row.created_at);
            let Some(copy) = copy.filter(|copy| self.is_over(board, row, copy)) else {
                continue;
            };
            let (key, created_at) = (row.key.clone(), row.created_at);
            deletes.push(RowChange::Delete { key, created_at, aged: Some(before) });
            ends.push(end(copy, row));
        }
        let Some(state) = self.boards.get_mut(&board) else { return };
        if let Some(last) = rows.last()
            && rows.len() >= AGED_ROWS
        {
            state.age = Some(Aged { before, above: last.rowid });
            state.again = true;
        }
        if !deletes.is_empty() && state.ageing.is_empty() {
            state.ageing = ends;
            self.out.push(Command::ChangeRows(state.opening, deletes));
        }
    }

    fn is_over(&self, board: BoardId, row: &Row, copy: &Subscription) -> bool {
        let Some(state) = self.boards.get(&board) else { return false };
        let has_mode = state.start.has_delivery_mode;
        let owner = ownership::decide(row, Some(copy), has_mode, &self.policy, &self.world);
        let open = [LegKind::Ping, LegKind::Wake]
            .iter()
            .any(|kind| self.tracks.contains_key(&(copy.id, *kind)))
            || self.waits(copy.id);
        let raised = !state.raises.contains_key(&copy.id)
            && !state.raising.iter().any(|raise| raise.subscription == copy.id);
        copy.life == Life::Live && matches!(owner, Ownership::Ours { .. }) && !open && raised
    }

    /// The deletions ended; those that could not be made come with the next look.
    pub(super) fn aged_out(&mut self, board: BoardId, outcomes: Option<Vec<RowOutcome>>) {
        let Some(state) = self.boards.get_mut(&board) else { return };
        let ends = std::mem::take(&mut state.ageing);
        let gone = |outcome: &RowOutcome| *outcome != RowOutcome::Lost;
        let outcomes = outcomes.unwrap_or_default();
        let gone = ends.into_iter().zip(outcomes).filter(|(_, outcome)| gone(outcome));
        state.confirmed.extend(gone.map(|(end, _)| end));
        if !state.confirmed.is_empty() {
            self.read(board);
        }
    }
}

fn end(copy: &Subscription, row: &Row) -> SubscriptionPlan {
    SubscriptionPlan {
        key: copy.key.clone(),
        created_at: copy.created_at,
        profile: copy.profile.clone(),
        adopted: copy.adopted.clone(),
        mode: copy.mode,
        baseline: copy.baseline,
        seen: copy.seen,
        cursor: row.cursor,
        archived: None,
        life: Life::Gone,
        legs: Vec::new(),
    }
}
