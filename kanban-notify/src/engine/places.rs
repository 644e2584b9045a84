//! Places among the requests in flight: how many there are, who waits for one, who is next (law D6).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    Engine,
    state::{Lane, Phase},
};
use crate::{
    ids::{ChannelName, ClaimId, EventId, SubscriptionId},
    record::Pause,
    time::Timestamp,
};

/// So many in line are enough for a while.
pub(super) const FLOOD: usize = 1_024;

/// Who waits for a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waiter {
    /// A lane with something due.
    Lane(Lane),
    /// A claim whose outcome is to be found out.
    Claim(ClaimId),
}

/// Who is first: whoever has waited for longest, so that one with much to send holds up nobody; of those
/// who came together, the one with the oldest event.
pub(super) type Turn = (u64, Oldest);
/// The time and number of an event: many happen within a second.
pub(super) type Oldest = (Timestamp, EventId);

/// Those who wait for a place on a channel, each of them once.
#[derive(Debug, Default)]
pub(super) struct Line {
    order: BTreeSet<(Turn, Waiter)>,
    turns: BTreeMap<Waiter, Turn>,
}

impl Line {
    /// Whoever is in the line already keeps the earlier turn.
    fn join(&mut self, waiter: Waiter, turn: Turn) {
        if let Some(old) = self.turns.get(&waiter).copied() {
            if old <= turn {
                return;
            }
            self.order.remove(&(old, waiter.clone()));
        }
        self.turns.insert(waiter.clone(), turn);
        self.order.insert((turn, waiter));
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn first(&self) -> Option<Turn> {
        self.order.first().map(|(turn, _)| *turn)
    }

    fn pop(&mut self) -> Option<Waiter> {
        let (_, waiter) = self.order.pop_first()?;
        self.turns.remove(&waiter);
        Some(waiter)
    }
}

/// One channel's traffic.
#[derive(Debug)]
pub(super) struct ChannelState {
    pub(super) in_flight: usize,
    /// How many may be in flight now: halved by a busy receiver, grown by deliveries (law D6).
    pub(super) limit: usize,
    line: Line,
    /// Open legs for it that are held in memory.
    pub(super) held: usize,
    /// Copies with something for it that waits in the ledger.
    pub(super) waiting: VecDeque<SubscriptionId>,
    /// Nothing that is held for it can go, and then it lets go of some of that.
    pub(super) next_swap: Option<Timestamp>,
    pub(super) pause: Option<Pause>,
    pub(super) probing: bool,
    pub(super) failed_probes: u32,
    /// It was refused in an earlier process; whether it still is will be known after a probe.
    pub(super) refused_before: bool,
    /// Attempts in a row that found nobody there; from the first on, one at a time tries (law D8).
    pub(super) unreachable: u32,
    /// People were told that it rests.
    pub(super) told: bool,
}

impl ChannelState {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            in_flight: 0,
            limit: limit.max(1),
            line: Line::default(),
            held: 0,
            waiting: VecDeque::new(),
            next_swap: None,
            pause: None,
            probing: false,
            failed_probes: 0,
            refused_before: false,
            unreachable: 0,
            told: false,
        }
    }

    /// How many wait for a place.
    pub(super) fn lined_up(&self) -> usize {
        self.line.len()
    }

    /// Whether one more may be in flight.
    pub(super) fn has_room(&self) -> bool {
        let limit = if self.unreachable > 0 { 1 } else { self.limit };
        self.pause.is_none() && self.in_flight < limit
    }
}

impl Engine {
    pub(super) fn channel_mut(&mut self, name: &ChannelName) -> &mut ChannelState {
        let limit = self.policy.concurrency;
        self.channels.entry(name.clone()).or_insert_with(|| ChannelState::new(limit))
    }

    /// Lines a lane up that has something due; `oldest` is its oldest event.
    pub(super) fn line_up_lane(&mut self, lane: Lane, oldest: Oldest) {
        let now = self.round;
        let Some(state) = self.lanes.get_mut(&lane) else {
            return;
        };
        let round = *state.round.get_or_insert(now);
        let name = lane.channel().clone();
        self.channel_mut(&name).line.join(Waiter::Lane(lane), (round, oldest));
    }

    /// Lines a claim up whose outcome is to be found out.
    pub(super) fn line_up_claim(&mut self, id: ClaimId) {
        let round = self.round;
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        let (name, at) = (claim.lane.channel().clone(), (claim.at, EventId(0)));
        self.channel_mut(&name).line.join(Waiter::Claim(id), (round, at));
    }

    /// Gives each free place to whoever is next.
    pub(super) fn fill_places(&mut self, now: Timestamp) {
        while let Some(waiter) = self.next_in_line() {
            // Who has nothing to do any more takes no place: the next one is asked.
            match waiter {
                Waiter::Lane(lane) => self.go(lane, now),
                Waiter::Claim(id) => self.find_out(id, now),
            }
        }
    }

    fn next_in_line(&mut self) -> Option<Waiter> {
        if self.stopping || self.places_taken() >= self.policy.concurrency_total.max(1) {
            return None;
        }
        let open = self.channels.values_mut().filter(|channel| channel.has_room());
        let waiting = open.filter_map(|channel| Some((channel.line.first()?, channel)));
        waiting.min_by_key(|(turn, _)| *turn)?.1.line.pop()
    }

    pub(super) fn take_place(&mut self, name: &ChannelName) {
        let channel = self.channel_mut(name);
        channel.in_flight = channel.in_flight.saturating_add(1);
    }

    /// Gives a place back; who is next follows.
    pub(super) fn release_place(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.in_flight = channel.in_flight.saturating_sub(1);
        }
    }

    /// Whether so many wait on each channel that goes that nobody would get anything sooner if more were
    /// read.
    pub(super) fn is_flooded(&self) -> bool {
        let known = |name: &ChannelName| self.world.channels.contains_key(name);
        let open = self.channels.iter().filter(|(name, _)| known(name)).map(|(_, channel)| channel);
        let mut open = open.filter(|channel| channel.pause.is_none()).peekable();
        let full = |channel: &ChannelState| {
            channel.line.len() >= self.away.line || !channel.waiting.is_empty()
        };
        open.peek().is_some() && open.all(full)
    }

    fn places_taken(&self) -> usize {
        self.channels.values().map(|channel| channel.in_flight).sum()
    }

    /// How many requests are under way that a stop waits for, with those whose outcome is not recorded
    /// yet. A look for what became of a claim is none: the next process looks too.
    pub fn in_flight(&self) -> usize {
        let count = |phase| self.claims.values().filter(|claim| claim.phase == phase).count();
        let requests = self.places_taken().saturating_sub(count(Phase::Looking));
        requests.saturating_add(count(Phase::Settling))
    }
}
