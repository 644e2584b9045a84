//! Cursors follow outcomes: paced, in small transactions, and waited for by nothing (laws B4, D1).

use super::{
    Command, Engine,
    state::{RAISE_PACE, RAISE_ROWS, Timer},
};
use crate::{
    ids::BoardId,
    record::{Raise, RowChange, RowOutcome},
    time::Timestamp,
};

impl Engine {
    /// Remembers cursors to be raised; a later one for the same row takes the earlier one's place.
    pub(super) fn queue_raises(&mut self, raises: Vec<Raise>, now: Timestamp) {
        let mut boards = Vec::new();
        for raise in raises {
            let Some(state) = self.boards.get_mut(&raise.board) else {
                // The ledger remembers it until the board is open.
                self.missed.insert(raise.board);
                continue;
            };
            boards.push(raise.board);
            let queued = state.raises.entry(raise.subscription).or_insert_with(|| raise.clone());
            if queued.to <= raise.to {
                *queued = raise;
            }
        }
        boards.dedup();
        for board in boards {
            self.flush_raises(board, now);
        }
    }

    /// Starts the next transaction on a board, or sets the timer for it.
    pub(super) fn flush_raises(&mut self, board: BoardId, now: Timestamp) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if !state.usable || !state.raising.is_empty() || state.raises.is_empty() {
            return;
        }
        if state.next_write > now {
            let at = state.next_write;
            self.set_timer(Timer::Raise(board), at);
            return;
        }
        let mut changes = Vec::new();
        while changes.len() < RAISE_ROWS {
            let Some((_, raise)) = state.raises.pop_first() else {
                break;
            };
            changes.push(RowChange::Raise {
                key: raise.key.clone(),
                created_at: raise.created_at,
                to: raise.to,
            });
            state.raising.push(raise);
        }
        self.out.push(Command::ChangeRows(board, changes));
    }

    /// A transaction on a board ended; `results` is empty when it could not be made.
    pub(super) fn raises_done(
        &mut self,
        board: BoardId,
        results: Vec<(RowChange, RowOutcome)>,
        now: Timestamp,
    ) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if results.is_empty() {
            // Nothing was written: the same cursors again, later. Stamps that failed come with a sweep.
            for raise in state.raising.drain(..) {
                state.raises.entry(raise.subscription).or_insert(raise);
            }
            if !state.confirming.is_empty() {
                state.confirming.clear();
                state.sweep = crate::record::Sweep::Above(crate::ids::EventId(0));
                self.set_timer(Timer::Read(board), now.after(super::state::READ_RETRY));
            }
            let Some(state) = self.boards.get_mut(&board) else {
                return;
            };
            state.next_write = now.after(super::state::READ_RETRY);
            if !state.raises.is_empty() {
                let at = state.next_write;
                self.set_timer(Timer::Raise(board), at);
            }
            return;
        }
        if results.iter().all(|(change, _)| matches!(change, RowChange::Delete { .. })) {
            return;
        }
        let raised: Vec<(Raise, RowOutcome)> =
            state.raising.drain(..).zip(results.into_iter().map(|(_, outcome)| outcome)).collect();
        // The last event of a task is settled: its row has nothing to wait for any more (law S3).
        let deletes: Vec<RowChange> = raised
            .iter()
            .filter(|(raise, outcome)| raise.archived && *outcome == RowOutcome::Won)
            .map(|(raise, _)| RowChange::Delete {
                key: raise.key.clone(),
                created_at: raise.created_at,
            })
            .collect();
        // Only a board that others write to right now has to be spared (law B4).
        let others_write = now.since(state.last_change) < RAISE_PACE.saturating_mul(20);
        state.next_write = if others_write { now.after(RAISE_PACE) } else { now };
        self.out.push(Command::NoteRaised(raised));
        if !deletes.is_empty() {
            self.out.push(Command::ChangeRows(board, deletes));
        }
        self.flush_raises(board, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Input,
        ids::{Incarnation, SubscriptionId},
        key::Identity,
        policy::{Policy, World},
        ports::Change,
        record::{BoardStart, Position, Work},
        subscription::SubKey,
    };

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn raise() -> Raise {
        let text = || "x".to_owned();
        Raise {
            board: BoardId(1),
            subscription: SubscriptionId(1),
            key: SubKey { task: text(), platform: text(), chat: text(), thread: String::new() },
            created_at: Timestamp::from_secs(1),
            to: crate::ids::EventId(7),
            archived: false,
        }
    }

    fn work() -> Input {
        Input::Work(Box::new(Work { raises: vec![raise()], ..Work::default() }))
    }

    fn opened() -> Input {
        Input::Change(Change::Opened(BoardStart {
            id: BoardId(1),
            slug: "default".into(),
            incarnation: Incarnation(1),
            position: Position::default(),
            has_delivery_mode: false,
        }))
    }

    fn raises(commands: &[Command]) -> usize {
        commands.iter().filter(|command| matches!(command, Command::ChangeRows(..))).count()
    }

    #[test]
    fn d1_a_cursor_that_is_owed_before_its_board_is_open_is_asked_for_again() {
        let identity = Identity::new("gateway".into(), vec![1; 32]);
        let mut engine = Engine::new(Policy::default(), identity, World::default());
        engine.handle(Input::Start, NOW);
        assert_eq!(raises(&engine.handle(work(), NOW)), 0);
        assert!(engine.handle(opened(), NOW).contains(&Command::LoadWork));
        assert_eq!(raises(&engine.handle(work(), NOW)), 1);
        // While it is being raised the board is opened anew: what became of it is not known.
        assert!(engine.handle(opened(), NOW).contains(&Command::LoadWork));
        assert_eq!(raises(&engine.handle(work(), NOW)), 1);
        assert!(!engine.handle(Input::Tick, NOW).contains(&Command::LoadWork));
    }
}
