//! Reading boards: when, what is asked for, and what a pass has to get past before it is planned.

use std::ops::Bound;

use super::{
    Command, Engine, Notice, Opening,
    state::{
        BoardState, CLOCK_SLACK, NONSENSE, PASS_EVENTS, READ_RETRY, SWEEP_EVERY, Sub, Timer,
        WATCH_FEW, WATCH_ROWS,
    },
};
use crate::{
    ids::{BoardId, EventId, SubscriptionId},
    leg::Leg,
    plan::{self, Basis, Decision},
    record::{Pass, PassRequest, Sweep},
    subscription::{SubKey, Subscription},
    time::Timestamp,
    verdict::Detail,
};

impl Engine {
    /// Reads a board now, or as soon as what is under way for it has ended.
    pub(super) fn read(&mut self, board: BoardId) {
        // The ledger's open work comes first: a pass must not be judged without it.
        let ready = self.work_loaded;
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
        let watch = self.watch(board);
        let resume = self.unfinished(board);
        let Some(state) = self.boards.get_mut(&board) else {
            return;
        };
        state.busy = true;
        state.checking = !state.checked;
        let shown = watch.iter().map(|(sub, _)| sub);
        state.looking = shown.filter(|sub| state.unlooked.contains(sub)).copied().collect();
        let watch = watch.into_iter().map(|(_, key)| key).collect();
        state.again = false;
        state.deferred = false;
        // What came last waits for no look at everything else.
        let tail_first = std::mem::replace(&mut state.tail_first, false);
        state.again = tail_first;
        let sweep =
            if tail_first { Sweep::No } else { std::mem::replace(&mut state.sweep, Sweep::No) };
        state.sweeping = sweep != Sweep::No;
        let request = PassRequest {
            after: state.start.position.clone(),
            sweep,
            limit: PASS_EVENTS,
            resume,
            watch,
            aged: state.age.take(),
        };
        self.out.push(Command::Read(state.opening, request));
    }

    /// A pass over everything unseen, whatever the position says (law F2).
    pub(super) fn sweep(&mut self, board: BoardId) {
        if let Some(state) = self.boards.get_mut(&board) {
            state.sweep = Sweep::Above(EventId(0));
            state.commits_seen = false;
            self.read(board);
        }
    }

    /// Lets sweeps go on of which the rest was left on the board: what cannot be delivered yet is in nobody's
    /// way there.
    pub(super) fn go_on_with_sweeps(&mut self) {
        let stalled = |(id, state): (&BoardId, &BoardState)| Some((*id, state.stalled?));
        let stalled: Vec<_> = self.boards.iter().filter_map(stalled).collect();
        if stalled.is_empty() || self.is_flooded() {
            return;
        }
        for (board, above) in stalled {
            if let Some(state) = self.boards.get_mut(&board) {
                state.stalled = None;
                // One that begins anew, from further down, is as good.
                if state.sweep == Sweep::No {
                    state.sweep = Sweep::Above(above);
                }
                self.read(board);
            }
        }
    }

    /// The rows with something open whose present state a read shall show (laws D10, O3, S2).
    ///
    /// At first all of them; then those that were fetched, with a sweep's share, each in its turn; others
    /// in a tail only where they are few, so that its cost stays that of what is new.
    fn watch(&mut self, board: BoardId) -> Vec<(SubscriptionId, SubKey)> {
        let Some(state) = self.boards.get_mut(&board) else { return Vec::new() };
        let mine = |(_, sub): &(&SubscriptionId, &Sub)| sub.board == board;
        let key = |(id, sub): (&SubscriptionId, &Sub)| (*id, sub.subscription.key.clone());
        let all = self.subs.iter().filter(mine).map(key);
        let mut shown: Vec<(SubscriptionId, SubKey)> = match (state.checked, state.sweep) {
            (false, _) => return all.collect(),
            (true, Sweep::Above(_)) => {
                let behind = self.subs.range((Bound::Excluded(state.watched), Bound::Unbounded));
                let before = self.subs.range(..=state.watched);
                behind.chain(before).filter(mine).map(key).take(WATCH_ROWS).collect()
            }
            (true, Sweep::No) if self.subs.len() <= WATCH_FEW => return all.collect(),
            (true, Sweep::No) => Vec::new(),
        };
        if let (Some((last, _)), Sweep::Above(_)) = (shown.last(), state.sweep) {
            state.watched = *last;
        }
        let unlooked = &state.unlooked;
        shown.retain(|(id, _)| !unlooked.contains(id));
        let fetched = unlooked.iter().filter_map(|id| Some((id, self.subs.get(id)?)));
        shown.extend(fetched.map(key));
        shown
    }

    /// The board as it was opened then, unless it was opened anew since.
    pub(super) fn still_open(&mut self, opening: Opening) -> Option<&mut BoardState> {
        self.boards.get_mut(&opening.board).filter(|state| state.opening == opening)
    }

    pub(super) fn read_failed(&mut self, opening: Opening, now: Timestamp) {
        let board = opening.board;
        if let Some(state) = self.still_open(opening) {
            state.busy = false;
            state.sweep = Sweep::Above(EventId(0));
            state.read_failures = state.read_failures.saturating_add(1);
            let pause = READ_RETRY.saturating_mul(state.read_failures.min(30));
            self.set_timer(Timer::Read(board), now.after(pause));
        }
    }

    pub(super) fn pass_read(
        &mut self,
        opening: Opening,
        pass: &Pass,
        copies: &[Subscription],
        now: Timestamp,
    ) {
        let board = opening.board;
        if self.still_open(opening).is_none() {
            return;
        }
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
        // Goes on below, once it is known whether there is need of more.
        state.stalled = pass.sweep_from.or(state.stalled.filter(|_| !state.sweeping));
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
            older: self.older,
            apart: &state.backlog.tasks,
        };
        let mut decision = plan::decide(&basis, pass, copies, &open);
        self.spoilt(board, pass);
        if self.must_ask(board, pass, &decision, now) {
            return;
        }
        self.misdated(board, pass, now);
        self.aged(board, pass, copies);
        self.leave_behind(board, pass, std::mem::take(&mut decision.behind), now);
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

    /// Tells of events whose time lies ahead although the clock is right.
    fn misdated(&mut self, board: BoardId, pass: &Pass, now: Timestamp) {
        let ahead = now.after(CLOCK_SLACK);
        for event in pass.events.iter().filter(|event| event.created_at > ahead) {
            let key = format!("event {} of {}", event.id.0, event.task);
            let reason = Detail::new("its time lies in the future; it counts as now");
            self.out.push(Command::Tell(Notice::Spoilt { board, key, reason }));
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
        // One wrong time spoils its event alone (law B2): the newest one that can be is asked.
        let plausible = pass.events.iter().filter(|event| event.created_at <= now.after(NONSENSE));
        let newest = plausible.max_by_key(|event| event.id);
        let clock_behind =
            newest.is_some_and(|event| event.created_at > ahead) || self.newest_claim > ahead;
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
}
