//! News from the world: boards that open, change and fail, and who else is at work.

use super::{
    Command, Engine, Notice, Opening,
    state::{AGE_FIRST, BoardState, Phase, READ_BURST, READ_PACE, SWEEP_EVERY, Timer},
};
use crate::{
    ids::{BoardId, LegId, SubscriptionId},
    policy::World,
    ports::Change,
    record::BoardStart,
    time::Timestamp,
};

impl Engine {
    pub(super) fn change(&mut self, change: Change, now: Timestamp) {
        match change {
            Change::Board(board) => {
                if let Some(state) = self.boards.get_mut(&board) {
                    state.last_change = now;
                    let at = state.next_read.before(READ_BURST);
                    if at <= now || !state.deferred {
                        state.next_read = state.next_read.max(now).after(READ_PACE);
                    }
                    state.deferred = at > now;
                    if !std::mem::replace(&mut state.commits_seen, true) {
                        self.set_timer(Timer::Sweep(board), now.after(SWEEP_EVERY));
                    }
                    if at <= now {
                        self.read(board);
                    } else {
                        self.set_timer(Timer::Read(board), at);
                    }
                }
            }
            Change::Opened(start) => self.opened(start, now),
            Change::Degraded(board, reason) => {
                if let Some(state) = self.boards.get_mut(&board) {
                    state.usable = false;
                    state.busy = false;
                }
                self.out.push(Command::Tell(Notice::Degraded { board, reason }));
            }
            Change::World(world) => self.world_changed(world),
        }
    }

    fn opened(&mut self, start: BoardStart, now: Timestamp) {
        let (board, slug, incarnation) = (start.id, start.slug.clone(), start.incarnation);
        let opening = Opening { board, number: self.next_opening };
        self.next_opening = self.next_opening.wrapping_add(1);
        let before = self.boards.insert(board, BoardState::new(opening, start));
        let lost = before.is_some_and(|state| self.abandon(state, now));
        if self.missed.remove(&board) || lost {
            self.load_work();
        }
        // Another file behind the same path: no key or outcome of the old one counts (law B6).
        let old: Vec<SubscriptionId> = self
            .subs
            .iter()
            .filter(|(_, sub)| sub.board == board && sub.incarnation != incarnation)
            .map(|(id, _)| *id)
            .collect();
        for sub in old {
            self.forget_sub(sub);
        }
        self.set_timer(Timer::Sweep(board), now.after(SWEEP_EVERY));
        if self.policy.retention.is_some() {
            self.set_timer(Timer::Age(board), now.after(AGE_FIRST));
        }
        self.out.push(Command::Tell(Notice::Opened { board, slug }));
        self.read(board);
        self.touch_board(board);
    }

    /// What was under way for a board that is opened anew will not be heard of; says whether the ledger
    /// knows more of it than is held here.
    fn abandon(&mut self, state: BoardState, now: Timestamp) -> bool {
        let closing = state.pending.map(|pending| pending.closing).unwrap_or_default();
        let closing: Vec<LegId> =
            state.closes.into_iter().map(|(leg, ..)| leg).chain(closing).collect();
        self.keep_open(&closing, now);
        !(closing.is_empty() && state.raises.is_empty() && state.raising.is_empty())
    }

    fn world_changed(&mut self, world: World) {
        let others = world.hermes != self.world.hermes || world.alongside != self.world.alongside;
        self.world = world;
        let boards: Vec<BoardId> = self.boards.keys().copied().collect();
        for board in boards {
            if others && let Some(state) = self.boards.get_mut(&board) {
                // Whose each open row is now comes first (law O1).
                state.checked = false;
                state.checking = false;
            }
            self.sweep(board);
        }
        self.touched.extend(self.lanes.keys().cloned());
        self.probe_refused();
        self.try_unreachable();
        let unknown: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.phase == Phase::Unknown)
            .map(|(id, _)| *id)
            .collect();
        for claim in unknown {
            self.set_timer(Timer::Unknown(claim), Timestamp::default());
        }
    }
}
