//! Cursors follow outcomes: paced, in small transactions, and waited for by nothing (laws B4, D1).

use super::{
    Command, Engine,
    state::{RAISE_PACE, RAISE_ROWS, READ_RETRY, Timer},
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
        while changes.len() + 1 < RAISE_ROWS {
            let Some((_, raise)) = state.raises.pop_first() else {
                break;
            };
            let (key, created_at, to) = (raise.key.clone(), raise.created_at, raise.to);
            changes.push(RowChange::Raise { key: key.clone(), created_at, to });
            if raise.archived {
                // The last event of a task is settled: its row has nothing to wait for (law S3). Both
                // or neither: nobody would come back for the second.
                changes.push(RowChange::Delete { key, created_at, aged: None });
            }
            state.raising.push(raise);
        }
        self.out.push(Command::ChangeRows(state.opening, changes));
    }

    /// A transaction on a board ended; `outcomes` is `None` when it could not be made.
    pub(super) fn raises_done(
        &mut self,
        board: BoardId,
        outcomes: Option<Vec<RowOutcome>>,
        now: Timestamp,
    ) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        let raising = std::mem::take(&mut state.raising);
        let Some(outcomes) = outcomes else {
            // Nothing was written: the same cursors again, later.
            for raise in raising {
                state.raises.entry(raise.subscription).or_insert(raise);
            }
            state.next_write = now.after(READ_RETRY);
            let at = state.next_write;
            return self.set_timer(Timer::Raise(board), at);
        };
        let mut outcomes = outcomes.into_iter();
        let mut raised = Vec::with_capacity(raising.len());
        for raise in raising {
            let Some(mut outcome) = outcomes.next() else {
                break;
            };
            if raise.archived && outcomes.next() == Some(RowOutcome::Won) {
                outcome = RowOutcome::Gone;
            }
            raised.push((raise, outcome));
        }
        // Only a board that others write to right now has to be spared (law B4).
        let others_write = now.since(state.last_change) < RAISE_PACE.saturating_mul(20);
        state.next_write = if others_write { now.after(RAISE_PACE) } else { now };
        self.out.push(Command::NoteRaised(raised));
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
        let identity = Identity::new("gateway".into(), &[1; 32]);
        let mut engine = Engine::new(Policy::default(), identity, World::default());
        engine.handle(Input::Start, NOW);
        assert_eq!(raises(&engine.handle(work(), NOW)), 0);
        assert!(engine.handle(opened(), NOW).contains(&Command::LoadWork(Vec::new())));
        assert_eq!(raises(&engine.handle(work(), NOW)), 1);
        // While it is being raised the board is opened anew: what became of it is not known.
        assert!(engine.handle(opened(), NOW).contains(&Command::LoadWork(Vec::new())));
        assert_eq!(raises(&engine.handle(work(), NOW)), 1);
        assert!(!engine.handle(Input::Tick, NOW).contains(&Command::LoadWork(Vec::new())));
    }
}
