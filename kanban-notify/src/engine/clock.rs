//! A wall clock that steps back: what is only held here keeps its distance to now.
//!
//! Pauses in the ledger are times of the wall clock, so that they outlive the process (law D8). But a
//! clock that was a month ahead and is set right must not stop the reading for a month.

use std::{collections::BTreeSet, time::Duration};

use super::{Engine, state::CLOCK_STEP};
use crate::time::Timestamp;

impl Engine {
    /// Notices a step back, and takes everything that waits along.
    pub(super) fn follow_clock(&mut self, now: Timestamp) {
        let back = self.last_seen.since(now);
        if back > CLOCK_STEP {
            self.step_back(back);
        }
        self.last_seen = now;
    }

    fn step_back(&mut self, by: Duration) {
        let timers = std::mem::take(&mut self.timers);
        self.timers =
            timers.into_iter().map(|(at, timer)| (at.before(by), timer)).collect::<BTreeSet<_>>();
        for at in self.timer_of.values_mut() {
            *at = at.before(by);
        }
        for state in self.boards.values_mut() {
            for at in [&mut state.last_change, &mut state.next_read, &mut state.next_write] {
                *at = at.before(by);
            }
        }
        for state in self.lanes.values_mut() {
            state.not_before = state.not_before.before(by);
            state.busy_since = state.busy_since.map(|since| since.before(by));
        }
        for track in self.tracks.values_mut() {
            for open in track.legs.values_mut() {
                open.leg.due_at = open.leg.due_at.before(by);
            }
        }
        for channel in self.channels.values_mut() {
            channel.next_swap = channel.next_swap.map(|at| at.before(by));
            if let Some(pause) = &mut channel.pause {
                pause.until = pause.until.before(by);
            }
        }
        self.wakes.step_back(by);
        for claim in self.claims.values_mut() {
            claim.woken_at = claim.woken_at.before(by);
            claim.sent_at = claim.sent_at.before(by);
        }
    }
}
