//! What is owed and not held: it waits in the ledger, by channel, until there is room for it (law D4).
//!
//! So memory does not grow with what is owed. What is fetched is held against its board's rows before it is
//! sent (laws D10, O3, S2), and a copy is fetched with all that it has open, so that its order is kept.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    Command, Engine,
    places::{ChannelState, FLOOD},
    state::{BoardState, Timer},
};
use crate::{
    ids::{BoardId, ChannelName, LegId, SubscriptionId},
    leg::LegState,
    record::{Owed, OwedLeg},
    time::Timestamp,
};

/// Copies fetched at once, at most.
const FETCH: usize = 512;
/// So many legs are held for each lane that may be in line on a channel: those of lanes that rest, that have
/// many, or that cannot go count too.
const LEGS: usize = 4;

/// What is not held, and how much is.
#[derive(Debug)]
pub(super) struct Away {
    /// Copies with something open that is not held.
    pub(super) waiting: HashSet<SubscriptionId>,
    /// Copies that are being fetched.
    pub(super) fetching: BTreeSet<SubscriptionId>,
    /// The copies that were held when everything open was asked for.
    pub(super) asked: BTreeSet<SubscriptionId>,
    /// So many lanes in line on a channel are enough.
    pub(super) line: usize,
}

impl Away {
    /// So many held legs of a channel are enough.
    pub(super) fn most(&self) -> usize {
        self.line.saturating_mul(LEGS)
    }

    /// Nothing is fetched while there is room for fewer: a few at a time cost as much as many.
    pub(super) fn least_room(&self) -> usize {
        (self.most() / 8).max(1)
    }
}

impl Default for Away {
    fn default() -> Self {
        Self {
            waiting: HashSet::new(),
            fetching: BTreeSet::new(),
            asked: BTreeSet::new(),
            line: FLOOD,
        }
    }
}

impl Engine {
    /// How many lanes in line on a channel are enough, and a few times as many legs: what is owed beyond them
    /// waits in the ledger.
    #[must_use]
    pub fn with_line(mut self, lanes: usize) -> Self {
        self.away.line = lanes.max(1);
        self
    }

    /// How many open legs are held in memory.
    pub fn held(&self) -> usize {
        self.legs.len()
    }

    /// Whether a leg is held in memory.
    pub fn holds(&self, leg: LegId) -> bool {
        self.legs.contains_key(&leg)
    }

    /// Takes what a plan leaves open into memory, or lets it wait where every channel that it needs has
    /// enough to do.
    pub(super) fn admit(&mut self, owed: Owed) {
        let id = owed.subscription.id;
        // It comes with all that it has open: the ledger was asked for it after this plan.
        if self.away.fetching.contains(&id) {
            return;
        }
        let full = if self.must_hold(&owed) { None } else { self.full_channels(&owed) };
        match full {
            Some(channels) if self.away.waiting.insert(id) => {
                for channel in channels {
                    self.channel_mut(&channel).waiting.push_back(id);
                }
            }
            Some(_) => {}
            None if self.away.waiting.contains(&id) => {
                let board = self.hold_unlooked(owed);
                if let Some(state) = board.and_then(|board| self.boards.get_mut(&board)) {
                    state.again = true;
                }
            }
            None => self.absorb(owed),
        }
    }

    /// Holds what was not held, or not all the time; it is sent once its row was looked at (laws D10, O3,
    /// S2). The board that is to be read for it, unless that was done before.
    pub(super) fn hold_unlooked(&mut self, owed: Owed) -> Option<BoardId> {
        let (board, id) = (owed.board, owed.subscription.id);
        self.away.waiting.remove(&id);
        let held = self.subs.contains_key(&id);
        self.absorb(owed);
        if held || !self.subs.contains_key(&id) {
            return None;
        }
        let state = self.boards.get_mut(&board)?;
        state.unlooked.insert(id);
        // What a read under way shows of it was there before.
        state.looking.remove(&id);
        Some(board)
    }

    /// Whether something here needs it: its earlier legs, its claim, or its task, which is read no faster
    /// than somebody hears of it.
    fn must_hold(&self, owed: &Owed) -> bool {
        let copy = &owed.subscription;
        let claimed = |state| matches!(state, LegState::Intended | LegState::Unknown);
        self.subs.contains_key(&copy.id)
            || owed.legs.iter().any(|owed| claimed(owed.leg.state))
            || self
                .boards
                .get(&owed.board)
                .is_some_and(|state| state.backlog.tasks.contains_key(&copy.key.task))
    }

    /// The channels that it needs, when none has room: ping and wake do not wait for each other (law D4).
    fn full_channels(&self, owed: &Owed) -> Option<BTreeSet<ChannelName>> {
        let (line, most) = (self.away.line, self.away.most());
        self.channels_of(owed, |channel| {
            !channel.waiting.is_empty() || channel.lined_up() >= line || channel.held >= most
        })
    }

    /// The channels that it needs, when each of them is so.
    fn channels_of(
        &self,
        owed: &Owed,
        is_so: impl Fn(&ChannelState) -> bool,
    ) -> Option<BTreeSet<ChannelName>> {
        let mut channels = BTreeSet::new();
        for leg in &owed.legs {
            let lane = self.lane_of(&owed.subscription, leg.leg.kind, &leg.facts)?;
            self.channels.get(lane.channel()).filter(|channel| is_so(channel))?;
            channels.insert(lane.channel().clone());
        }
        (!channels.is_empty()).then_some(channels)
    }

    /// Lets these wait, and nothing else: all that the ledger has open and that is not held.
    pub(super) fn let_wait(&mut self, waiting: BTreeMap<ChannelName, Vec<SubscriptionId>>) {
        self.away.waiting.clear();
        for channel in self.channels.values_mut() {
            channel.waiting.clear();
        }
        for (name, copies) in waiting {
            let away = |id: &SubscriptionId| !self.subs.contains_key(id);
            let copies: Vec<SubscriptionId> = copies.into_iter().filter(away).collect();
            self.away.waiting.extend(copies.iter().copied());
            self.channel_mut(&name).waiting = copies.into();
        }
    }

    /// Whether something of a copy is open that is not held.
    pub(super) fn waits(&self, copy: SubscriptionId) -> bool {
        self.away.waiting.contains(&copy) || self.away.fetching.contains(&copy)
    }

    /// Fetches what waits, as far as there is room, each channel's in the order in which it came.
    pub(super) fn fetch(&mut self) {
        self.ask_for_owed();
        // What came on another channel's behalf, or with a plan, waits for none any more.
        for channel in self.channels.values_mut() {
            let away = |copy: &SubscriptionId| self.away.waiting.contains(copy);
            while channel.waiting.front().is_some_and(|copy| !away(copy)) {
                channel.waiting.pop_front();
            }
        }
    }

    fn ask_for_owed(&mut self) {
        if self.away.waiting.is_empty()
            || self.stopping
            || self.loading
            || !self.away.fetching.is_empty()
        {
            return;
        }
        let unseen: usize = self.boards.values().map(BoardState::unlooked).sum();
        let (most, least) = (self.away.most(), self.away.least_room());
        for channel in self.channels.values_mut() {
            let has = channel.lined_up().saturating_add(unseen);
            // Not before half of it has gone: a few at a time cost as much as many.
            let more = most.saturating_sub(channel.held);
            if has > self.away.line / 2 || more < least {
                continue;
            }
            let room = self.away.line.saturating_sub(has).min(more);
            let room = room.saturating_add(self.away.fetching.len()).min(FETCH);
            while self.away.fetching.len() < room
                && let Some(copy) = channel.waiting.pop_front()
            {
                if self.away.waiting.remove(&copy) {
                    self.away.fetching.insert(copy);
                }
            }
        }
        if !self.away.fetching.is_empty() {
            self.out.push(Command::LoadOwed(self.away.fetching.iter().copied().collect()));
        }
    }

    /// What was fetched is held from now on, and sent once its rows were looked at.
    pub(super) fn fetched(&mut self, all: Vec<Owed>) {
        self.away.fetching.clear();
        let most = self.away.most();
        let mut boards: BTreeSet<BoardId> = BTreeSet::new();
        let mut back = Vec::new();
        for mut owed in all {
            // Each had one leg at least; some had many.
            let full = if self.must_hold(&owed) {
                None
            } else {
                self.channels_of(&owed, |channel| channel.held >= most)
            };
            if let Some(channels) = full {
                back.push((owed.subscription.id, channels));
                continue;
            }
            for OwedLeg { leg, .. } in &mut owed.legs {
                if leg.state == LegState::Planned {
                    // Nothing has put it off: a later time is that of a clock that was ahead.
                    leg.due_at = leg.due_at.min(self.last_seen);
                }
            }
            boards.extend(self.hold_unlooked(owed));
        }
        for (id, channels) in back.into_iter().rev() {
            self.away.waiting.insert(id);
            for channel in channels {
                self.channel_mut(&channel).waiting.push_front(id);
            }
        }
        for board in boards {
            self.read(board);
        }
    }

    /// What could not be fetched is found again with everything else that is open.
    pub(super) fn fetch_failed(&mut self, now: Timestamp) {
        self.set_timer(Timer::Work, now.after(super::state::LEDGER_RETRY));
    }
}
