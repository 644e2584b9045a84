//! What comes in: boards, passes, plans, and everything open in the ledger.

use super::{
    Command, Engine, Notice,
    state::{
        BoardState, CLOCK_SLACK, PASS_EVENTS, Phase, READ_PACE, READ_RETRY, SWEEP_EVERY, Timer,
        WATCH_FEW, WATCH_ROWS,
    },
};
use crate::{
    ids::{BoardId, EventId, LegId, SubscriptionId},
    leg::Leg,
    plan::{self, Basis, Decision},
    policy::World,
    ports::Change,
    record::{BoardStart, Pass, PassRequest, Planned, RowChange, RowOutcome, Sweep},
    subscription::{Life, SubKey, Subscription},
    time::Timestamp,
};

impl Engine {
    pub(super) fn change(&mut self, change: Change, now: Timestamp) {
        match change {
            Change::Board(board) => {
                if let Some(state) = self.boards.get_mut(&board) {
                    state.last_change = now;
                    let at = state.next_read;
                    if at <= now {
                        state.next_read = now.after(READ_PACE);
                    } else {
                        state.deferred = true;
                    }
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
        let before = self.boards.insert(board, BoardState::new(start));
        let owed = |state: BoardState| !(state.raises.is_empty() && state.raising.is_empty());
        if self.missed.remove(&board) || before.is_some_and(owed) {
            self.load_work();
        }
        self.set_timer(Timer::Sweep(board), now.after(SWEEP_EVERY));
        self.out.push(Command::Tell(Notice::Opened { board, slug }));
        self.read(board);
        self.touch_board(board);
    }

    fn world_changed(&mut self, world: World) {
        self.world = world;
        let boards: Vec<BoardId> = self.boards.keys().copied().collect();
        for board in boards {
            self.sweep(board);
        }
        self.touched.extend(self.lanes.keys().cloned());
        self.probe_refused();
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

    /// Reads a board now, or as soon as what is under way for it has ended.
    pub(super) fn read(&mut self, board: BoardId) {
        // The ledger's open work comes first: a pass must not be judged without it.
        let ready = self.work_loaded;
        let watch = self.watch(board);
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if !state.usable {
            return;
        }
        if state.busy || !ready {
            state.again = true;
            return;
        }
        state.busy = true;
        state.again = false;
        state.deferred = false;
        state.sweeping = state.sweep != Sweep::No;
        let request = PassRequest {
            after: state.start.position.clone(),
            sweep: std::mem::replace(&mut state.sweep, Sweep::No),
            limit: PASS_EVENTS,
            watch,
        };
        self.out.push(Command::Read(board, request));
    }

    /// A pass over everything unseen, whatever the position says (law F2).
    pub(super) fn sweep(&mut self, board: BoardId) {
        if let Some(state) = self.boards.get_mut(&board) {
            state.sweep = Sweep::Above(EventId(0));
            state.commits_seen = false;
            self.read(board);
        }
    }

    /// The rows with something open whose present state a read shall show (laws D10, O3, S2).
    ///
    /// At first all of them; then a sweep's share; a tail only where they are few, so that its cost stays
    /// that of what is new.
    fn watch(&self, board: BoardId) -> Vec<SubKey> {
        let Some(state) = self.boards.get(&board) else { return Vec::new() };
        let keys = self.subs.values().filter(|sub| sub.board == board);
        let keys = keys.map(|sub| sub.subscription.key.clone());
        match (state.checked, state.sweep) {
            (false, _) => keys.collect(),
            (true, Sweep::Above(_)) => keys.take(WATCH_ROWS).collect(),
            (true, Sweep::No) if self.subs.len() <= WATCH_FEW => keys.collect(),
            (true, Sweep::No) => Vec::new(),
        }
    }

    pub(super) fn read_failed(&mut self, board: BoardId, now: Timestamp) {
        if let Some(state) = self.boards.get_mut(&board) {
            state.busy = false;
            state.sweep = Sweep::Above(EventId(0));
            state.read_failures = state.read_failures.saturating_add(1);
            let pause = READ_RETRY.saturating_mul(state.read_failures.min(30));
            self.set_timer(Timer::Read(board), now.after(pause));
        }
    }

    pub(super) fn pass_read(
        &mut self,
        board: BoardId,
        pass: &Pass,
        copies: &[Subscription],
        now: Timestamp,
    ) {
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        state.read_failures = 0;
        state.start.has_delivery_mode = pass.has_delivery_mode;
        if pass.replaced.is_some() {
            // The store reopens the file and tells of the new incarnation.
            state.busy = false;
            state.usable = false;
            return;
        }
        if let Some(above) = pass.sweep_from {
            state.sweep = Sweep::Above(above);
            state.again = true;
        }
        state.again |= pass.more;
        // Only a sweep watches; a tail must cost what is new, not what is open.
        let tracks = if pass.watched.is_empty() { None } else { Some(&self.tracks) };
        let open: Vec<(SubKey, &Leg)> = tracks
            .into_iter()
            .flat_map(|tracks| tracks.values())
            .flat_map(|track| track.legs.values())
            .filter(|open| !open.bound)
            .filter_map(|open| {
                let sub = self.subs.get(&open.leg.subscription)?;
                (sub.board == board).then(|| (sub.subscription.key.clone(), &open.leg))
            })
            .collect();
        let basis = Basis {
            board: &state.start,
            policy: &self.policy,
            world: &self.world,
            now,
            complete_above: (!state.sweeping).then_some(pass.complete_above),
        };
        let decision = plan::decide(&basis, pass, copies, &open);
        self.spoilt(board, pass);
        if self.must_ask(board, pass, &decision, now) {
            return;
        }
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if decision.needs_sweep {
            state.sweep = Sweep::Above(EventId(0));
            state.again = true;
        }
        self.decided(board, pass, decision);
    }

    fn spoilt(&mut self, board: BoardId, pass: &Pass) {
        for (key, reason) in &pass.spoilt {
            let (key, reason) = (key.clone(), reason.clone());
            self.out.push(Command::Tell(Notice::Spoilt { board, key, reason }));
        }
        for row in pass.rows.iter().filter(|row| row.cursor > pass.newest) {
            let (cursor, newest) = (row.cursor, pass.newest);
            self.out.push(Command::Tell(Notice::CursorAhead { board, cursor, newest }));
        }
    }

    /// F4: never a mass expiry, and never a judgement by a clock that is wrong, without the operator.
    fn must_ask(
        &mut self,
        board: BoardId,
        pass: &Pass,
        decision: &Decision,
        now: Timestamp,
    ) -> bool {
        let ahead = now.after(CLOCK_SLACK);
        let clock_behind = pass.events.iter().any(|event| event.created_at > ahead);
        let many = decision.expired > self.policy.expire_without_asking;
        if self.policy.accept || !(many || clock_behind) {
            return false;
        }
        let Some(state) = self.boards.get_mut(&board) else {
            return true;
        };
        state.busy = false;
        state.again = false;
        state.sweep = Sweep::Above(EventId(0));
        if !std::mem::replace(&mut state.asked_accept, true) {
            let events = if many { decision.expired } else { 0 };
            self.out.push(Command::Tell(Notice::NeedsAccept { board, events }));
        }
        self.set_timer(Timer::Read(board), now.after(SWEEP_EVERY));
        true
    }

    fn decided(&mut self, board: BoardId, pass: &Pass, decision: Decision) {
        let closed: Vec<LegId> = plan::closed(&decision).collect();
        let Decision { mut plan, stamps, unserved, expired, .. } = decision;
        if expired > 0 {
            self.out.push(Command::Tell(Notice::Expired { board, events: expired }));
        }
        for leg in closed {
            self.forget_leg(leg);
        }
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        if !unserved.is_empty() && unserved != state.unserved {
            state.unserved.clone_from(&unserved);
            self.out.push(Command::Tell(Notice::Unserved { board, rows: unserved }));
        }
        state.start.position = pass.next.clone();
        let confirms = plan.subscriptions.iter().filter(|sub| sub.life == Life::Offered);
        state.stamps = stamps
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
        for confirm in std::mem::take(&mut state.confirmed) {
            if !plan.subscriptions.iter().any(|sub| sub.key == confirm.key) {
                plan.subscriptions.push(confirm);
            }
        }
        plan.closes.append(&mut state.closes);
        if plan.subscriptions.is_empty() && plan.closes.is_empty() {
            // Nothing of ours happened: the position is kept in memory, not worth a write.
            state.busy = false;
            self.checked(board);
            if self.boards.get(&board).is_some_and(|state| state.again) {
                self.read(board);
            }
        } else {
            self.out.push(Command::Plan(plan));
        }
    }

    pub(super) fn planned(&mut self, board: BoardId, planned: Planned, now: Timestamp) {
        for owed in planned.owed {
            self.absorb(owed);
        }
        self.queue_raises(planned.raises, now);
        self.checked(board);
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        state.busy = false;
        let stamps: Vec<RowChange> = state.stamps.iter().map(|(stamp, _)| stamp.clone()).collect();
        state.confirming.extend(state.stamps.drain(..).map(|(_, confirm)| confirm));
        if !stamps.is_empty() {
            self.out.push(Command::ChangeRows(board, stamps));
        }
        if self.boards.get(&board).is_some_and(|state| state.again) {
            self.read(board);
        }
    }

    /// The board's rows were held against what is open: its lanes may go.
    fn checked(&mut self, board: BoardId) {
        if let Some(state) = self.boards.get_mut(&board)
            && !std::mem::replace(&mut state.checked, true)
        {
            self.touch_board(board);
        }
    }

    pub(super) fn plan_failed(&mut self, board: BoardId, now: Timestamp) {
        if let Some(state) = self.boards.get_mut(&board) {
            state.stamps.clear();
        }
        self.read_failed(board, now);
    }

    pub(super) fn rows_changed(
        &mut self,
        board: BoardId,
        results: Vec<(RowChange, RowOutcome)>,
        now: Timestamp,
    ) {
        let (stamps, others): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|(change, _)| matches!(change, RowChange::Stamp { .. }));
        if stamps.is_empty() {
            self.raises_done(board, others, now);
            return;
        }
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        let mut held = Vec::new();
        let mut lost = false;
        for (change, outcome) in &stamps {
            let RowChange::Stamp { key, .. } = change else {
                continue;
            };
            let confirm = state.confirming.iter().position(|sub| sub.key == *key);
            let Some(confirm) = confirm.map(|at| state.confirming.swap_remove(at)) else {
                continue;
            };
            match outcome {
                RowOutcome::Won => held.push(confirm),
                // Somebody wrote the owner in between: look again.
                RowOutcome::Lost => lost = true,
                RowOutcome::Gone => {}
            }
        }
        if lost {
            state.again = true;
            state.sweep = Sweep::Above(EventId(0));
        }
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
        if let Some(state) = self.boards.get_mut(&board) {
            state.confirmed.extend(held);
        }
        self.read(board);
    }
}
