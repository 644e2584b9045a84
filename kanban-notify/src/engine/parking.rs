//! What ends unsent, in the dead letters: by its lane's fault, or because it is too old (law F4).

use super::{Command, Engine, Notice, state::Lane};
use crate::{ids::LegId, leg::LegState, time::Timestamp, verdict::Detail};

impl Engine {
    /// Ends every due leg of a lane unsent, in the dead letters.
    pub(super) fn park_due(&mut self, lane: &Lane, reason: &Detail, now: Timestamp) {
        let due = self.gather(lane, now);
        self.park(due, reason);
    }

    /// Ends what could not be sent for too long (law F4).
    pub(super) fn give_up(&mut self, lane: &Lane, reason: &Detail, now: Timestamp) {
        let old = |leg: &LegId| {
            let planned = self.open_leg(*leg).map(|open| open.leg.planned_at);
            planned.is_some_and(|planned| now.since(planned) >= self.policy.give_up_after)
        };
        let old = self.gather(lane, now).into_iter().filter(old).collect();
        self.park(old, reason);
    }

    fn park(&mut self, legs: Vec<LegId>, reason: &Detail) {
        for leg in legs {
            let Some((sub, ..)) = self.legs.get(&leg) else {
                continue;
            };
            let Some(board) = self.subs.get(sub).map(|sub| sub.board) else {
                continue;
            };
            let Some(state) = self.boards.get_mut(&board) else {
                continue;
            };
            state.closes.push((leg, LegState::Parked, reason.clone()));
            self.out.push(Command::Tell(Notice::Parked { leg, reason: reason.clone() }));
            if let Some(open) = self.open_leg_mut(leg) {
                open.bound = true;
            }
            self.read(board);
        }
    }
}
