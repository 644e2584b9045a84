//! When sessions were woken lately (law W5): a few bytes for each, for there may be very many of them.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    time::Duration,
};

use super::state::Lane;
use crate::time::Timestamp;

/// Times of wakes by their session's number. Two sessions with one number share their budget, of which
/// the chance is one in a thousand million among a hundred thousand sessions.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    times: HashMap<u64, Times>,
    numbers: RandomState,
}

/// Mostly there is one.
#[derive(Debug)]
enum Times {
    One(Timestamp),
    Many(Vec<Timestamp>),
}

impl Times {
    fn get(&self) -> &[Timestamp] {
        match self {
            Self::One(at) => std::slice::from_ref(at),
            Self::Many(all) => all,
        }
    }

    fn get_mut(&mut self) -> &mut [Timestamp] {
        match self {
            Self::One(at) => std::slice::from_mut(at),
            Self::Many(all) => all,
        }
    }

    fn push(&mut self, at: Timestamp) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, at]),
            Self::Many(all) => all.push(at),
        }
    }

    /// Says whether any is left.
    fn retain(&mut self, keep: impl Fn(Timestamp) -> bool) -> bool {
        match self {
            Self::One(at) => keep(*at),
            Self::Many(all) => {
                all.retain(|at| keep(*at));
                !all.is_empty()
            }
        }
    }
}

impl Wakes {
    /// Notes a wake.
    pub(super) fn push(&mut self, lane: &Lane, at: Timestamp) {
        let number = self.number(lane);
        self.times.entry(number).and_modify(|times| times.push(at)).or_insert(Times::One(at));
    }

    /// Notes a wake that may be known already.
    pub(super) fn learn(&mut self, lane: &Lane, at: Timestamp) {
        if !self.of(lane).contains(&at) {
            self.push(lane, at);
        }
    }

    /// Forgets one wake.
    pub(super) fn remove(&mut self, lane: &Lane, at: Timestamp) {
        self.retain(lane, |wake| wake != at);
    }

    /// The wakes of a session within `span`, oldest first; earlier ones are forgotten.
    pub(super) fn within(&mut self, lane: &Lane, span: Duration, now: Timestamp) -> &[Timestamp] {
        self.retain(lane, |at| now.since(at) < span);
        self.of(lane)
    }

    /// Whether anything is known of a session.
    pub(super) fn knows(&self, lane: &Lane) -> bool {
        !self.of(lane).is_empty()
    }

    /// Forgets all that is older than `span`.
    pub(super) fn forget(&mut self, span: Duration, now: Timestamp) {
        self.times.retain(|_, times| times.retain(|at| now.since(at) < span));
        self.times.shrink_to_fit();
    }

    /// Takes every time back with the clock.
    pub(super) fn step_back(&mut self, by: Duration) {
        for at in self.times.values_mut().flat_map(Times::get_mut) {
            *at = at.before(by);
        }
    }

    /// How many sessions are known.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    fn of(&self, lane: &Lane) -> &[Timestamp] {
        self.times.get(&self.number(lane)).map(Times::get).unwrap_or_default()
    }

    fn retain(&mut self, lane: &Lane, keep: impl Fn(Timestamp) -> bool) {
        let number = self.number(lane);
        if self.times.get_mut(&number).is_some_and(|times| !times.retain(keep)) {
            self.times.remove(&number);
        }
    }

    fn number(&self, lane: &Lane) -> u64 {
        self.numbers.hash_one(lane)
    }
}
