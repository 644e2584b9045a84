//! Finding out what became of a claim: look first, then the same bytes and key again (laws D7, W6).

use std::time::Duration;

use super::{
    Command, Engine,
    state::{Lane, Phase, READ_RETRY, Timer},
};
use crate::{
    backoff,
    history::SessionView,
    ids::{ChannelName, ClaimId, LegId},
    message::Destination,
    policy::Ability,
    ports::LookError,
    record::Settlement,
    subscription::Life,
    time::Timestamp,
    verdict::{Detail, Receipt, Verdict},
};

/// First and longest pause between two looks at a turn that is running.
const PACE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How exactly the start of a process is known. A restart that was none costs nothing: the process
/// joins the same key to the turn that is running.
const UP_SLACK: Duration = Duration::from_secs(2);

/// What a history says about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Our turn is there, with its answer.
    Answered,
    /// Our turn is there and may still be running.
    Running,
    /// Our turn is there, without an answer, and cannot be running any more.
    Unanswered,
    /// The history is complete and our turn is not in it: the request had no effect.
    Absent,
    /// The history does not reach back, or is another session's.
    Unclear,
}

/// Judges a view of the session `session`, to which the claim was sent at `sent_at` (law W6).
pub fn judge(
    view: &SessionView,
    session: &str,
    sent_at: Timestamp,
    server_ended: bool,
    longest_turn: Duration,
    now: Timestamp,
) -> Finding {
    if let Some(seen) = view.reference {
        let age = now.since(seen.at.unwrap_or(sent_at));
        return match seen.answered {
            true => Finding::Answered,
            // Whatever ran in a server that went down has ended with it.
            false if server_ended || age >= longest_turn => Finding::Unanswered,
            false => Finding::Running,
        };
    }
    if !view.exists {
        return Finding::Absent;
    }
    let same = view.session.as_deref().is_none_or(|shown| shown == session);
    let reaches_back = view.oldest.is_none_or(|oldest| oldest < sent_at);
    if same && reaches_back { Finding::Absent } else { Finding::Unclear }
}

impl Engine {
    /// A claim's outcome is unknown from now on: it rests, then it is looked for.
    ///
    /// Attempts that led nowhere follow each other less and less closely; where the channel rests, it is
    /// not the claim that failed (law D8).
    pub(super) fn unknown_since(&mut self, id: ClaimId, rests: bool, now: Timestamp) {
        let settle = self.policy.wake.settle;
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        claim.phase = Phase::Unknown;
        claim.haunted = true;
        claim.misses = claim.misses.saturating_add(u32::from(!rests));
        let (misses, seed) = (claim.misses, claim.lane.seed());
        let pause = backoff::pause(self.unknown_pace(), misses, seed, None);
        self.set_timer(Timer::Unknown(id), now.after(settle.saturating_add(pause)));
    }

    /// First and longest pause between attempts to find out that lead nowhere (law D8).
    pub(super) fn unknown_pace(&self) -> (Duration, Duration) {
        (PACE.0, self.policy.backoff.1.max(PACE.0))
    }

    /// The next step for an unknown claim, when its timer fires.
    pub(super) fn unknown_step(&mut self, id: ClaimId, now: Timestamp) {
        let Some((ability, readable)) = self.way_to_find_out(id) else {
            return;
        };
        if self.older.is_some() && !self.rows_are_known(id) {
            return self.set_timer(Timer::Unknown(id), now.after(READ_RETRY));
        }
        if readable || ability.deduplicates {
            self.line_up_claim(id);
        } else {
            self.unreadable(id, false, now);
        }
    }

    /// A place is there for finding out about a claim.
    pub(super) fn find_out(&mut self, id: ClaimId, now: Timestamp) {
        let Some((ability, readable)) = self.way_to_find_out(id) else {
            return;
        };
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        let channel = claim.lane.channel().clone();
        if readable {
            claim.phase = Phase::Looking;
            // Its own name: the lane's may be a later one of the session.
            let lane = Lane::new(claim.parcel.destination.clone());
            let reference = Some(claim.reference.clone());
            self.out.push(Command::Look { lane, claim: Some(id), reference });
            self.take_place(&channel);
        } else if ability.deduplicates {
            self.take_place(&channel);
            self.send_again(id, now);
            self.release_unless_sent(id, &channel);
        } else {
            self.unreadable(id, false, now);
        }
    }

    /// What a claim's channel can do, and whether its history can be read. Without its channel nothing can
    /// be found out; the world's next change looks again.
    fn way_to_find_out(&self, id: ClaimId) -> Option<(Ability, bool)> {
        let claim = self.claims.get(&id)?;
        if claim.phase != Phase::Unknown || self.stopping {
            return None;
        }
        let ability = self.world.channels.get(claim.lane.channel()).copied()?;
        Some((ability, claim.lane.is_session() && ability.readable))
    }

    /// No history to look into: the receiver's own memory of keys, for which a place is taken, or the
    /// operator's choice (law D7).
    fn unreadable(&mut self, id: ClaimId, deduplicates: bool, now: Timestamp) {
        if deduplicates {
            self.send_again(id, now);
        } else {
            let settlement = self.give_in(id, &Detail::new("the outcome cannot be found out"), now);
            self.settle(id, settlement);
        }
    }

    /// What a look for a claim showed. The look's place goes over to the claim if it is sent again.
    pub(super) fn looked_for(
        &mut self,
        id: ClaimId,
        channel: &ChannelName,
        result: Result<SessionView, LookError>,
        now: Timestamp,
    ) {
        let looking = self.claims.get_mut(&id).filter(|claim| claim.is_looking());
        let Some(claim) = looking else {
            return self.release_place(channel);
        };
        claim.phase = Phase::Unknown;
        if self.stopping {
            // Nothing is sent any more: the next process looks.
            return self.release_place(channel);
        }
        match result {
            Ok(view) => {
                self.reached(channel);
                self.found(id, view, now);
            }
            Err(LookError::Unsupported) => {
                let ability = self.world.channels.get(channel).copied();
                self.unreadable(id, ability.is_some_and(|ability| ability.deduplicates), now);
            }
            Err(LookError::Credential(detail)) => {
                let lane = claim.lane.clone();
                self.look_refused(&lane, &detail, now);
                self.unknown_since(id, true, now);
            }
            Err(error) => {
                let detail = Detail::new(&error.to_string());
                if let LookError::Unreachable(reason) = &error {
                    self.look_missed(channel, reason, now);
                } else {
                    claim.misses = claim.misses.saturating_add(1);
                }
                self.look_again(id, &detail, now);
            }
        }
        self.release_unless_sent(id, channel);
    }

    fn release_unless_sent(&mut self, id: ClaimId, channel: &ChannelName) {
        if self.claims.get(&id).is_none_or(|claim| claim.phase != Phase::Sending) {
            self.release_place(channel);
        }
    }

    fn found(&mut self, id: ClaimId, view: SessionView, now: Timestamp) {
        let longest_turn = self.policy.wake.longest_turn;
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        let Destination::Session { session, .. } = &claim.parcel.destination else {
            return;
        };
        let up_since = self.world.up_since.get(claim.lane.channel());
        let restarted = up_since.is_some_and(|since| since.after(UP_SLACK) > claim.sent_at);
        let ended = claim.seen_down || restarted;
        let found = judge(&view, session, claim.at, ended, longest_turn, now);
        match found {
            Finding::Answered => {
                let receipt = Receipt {
                    remote_id: None,
                    session: view.session,
                    note: Detail::new("found answered in the session"),
                };
                let settlement = self.outcome(id, &Verdict::Delivered(receipt), now);
                self.settle(id, settlement);
            }
            Finding::Running => {
                claim.tries = claim.tries.saturating_add(1);
                claim.misses = 0;
                self.look_again(id, &Detail::new("its turn is running"), now);
            }
            // The request certainly had no effect: what the next attempt meets counts for itself.
            Finding::Absent => {
                claim.haunted = false;
                self.send_again(id, now);
            }
            Finding::Unanswered => self.send_again(id, now),
            Finding::Unclear => {
                let detail = Detail::new("the session's history does not reach back to the send");
                let settlement = self.give_in(id, &detail, now);
                self.settle(id, settlement);
            }
        }
    }

    /// Looks again later, unless the claim has been unknown for too long (law F4).
    fn look_again(&mut self, id: ClaimId, detail: &Detail, now: Timestamp) {
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        let (pace, count) = match claim.misses {
            0 => (PACE, claim.tries),
            misses => (self.unknown_pace(), misses),
        };
        let pause = backoff::pause(pace, count, claim.lane.seed(), None);
        let since = self.asked_since(id).unwrap_or(claim.at);
        if now.since(since) >= self.policy.give_up_after {
            let settlement: Settlement =
                self.outcome(id, &Verdict::Unknown { detail: detail.clone() }, now);
            self.settle(id, settlement);
        } else {
            self.set_timer(Timer::Unknown(id), now.after(pause));
        }
    }

    /// The same bytes under the same key (law D3): a running turn is joined, a done one answered again.
    /// The place for it is taken already, and free again where it is not sent after all.
    fn send_again(&mut self, id: ClaimId, now: Timestamp) {
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        if self.are_over(&claim.legs) {
            // What becomes of it now is the ledger's to say: nothing more is sent for an ended row.
            let settlement = self.give_in(id, &Detail::new("the subscription ended"), now);
            return self.settle(id, settlement);
        }
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.phase = Phase::Sending;
            claim.seen_down = false;
            claim.sent_at = now;
            claim.tries = claim.tries.saturating_add(1);
            self.out.push(Command::Send(id, claim.parcel.clone()));
        }
    }
}

impl Engine {
    /// Whether the rows of a claim were looked at since the start. An older copy of the ledger does not know
    /// which of them have ended (law D10).
    fn rows_are_known(&self, id: ClaimId) -> bool {
        let legs = self.claims.get(&id).into_iter().flat_map(|claim| &claim.legs);
        let mut subs = legs.filter_map(|leg| Some(self.legs.get(leg)?.0));
        subs.all(|sub| self.is_looked_at(sub))
    }

    /// Nothing of a leg's board is sent before its rows were looked at again: an older copy of the ledger
    /// has a leg open that the board may call settled (law D10).
    pub(super) fn check_again(&mut self, leg: LegId) {
        let board =
            self.legs.get(&leg).and_then(|(sub, ..)| self.subs.get(sub)).map(|sub| sub.board);
        let Some((board, state)) =
            board.and_then(|board| Some((board, self.boards.get_mut(&board)?)))
        else {
            return;
        };
        state.checked = false;
        self.sweep(board);
    }

    /// Whether nobody is owed any of these legs any more: their rows have ended meanwhile (laws S2, O3),
    /// or may have been settled unknown to an older copy of the ledger (law D10).
    fn are_over(&self, legs: &[LegId]) -> bool {
        legs.iter().filter_map(|leg| self.open_leg(*leg)).all(|open| {
            let sub = self.subs.get(&open.leg.subscription).map(|sub| &sub.subscription);
            let ended = sub.is_some_and(|sub| match sub.life {
                Life::Gone => sub.adopted.is_none() || !sub.key.is_api_server(),
                Life::Released => true,
                Life::Offered | Life::Live | Life::Theirs => false,
            });
            let outdated = self.older.is_some_and(|older| open.leg.planned_at < older);
            (ended || outdated) && !open.leg.tally.replay
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::ReferenceSeen;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn view(reference: Option<bool>, oldest: i64) -> SessionView {
        SessionView {
            session: Some("s".into()),
            exists: true,
            open_since: None,
            open_is_reference: false,
            oldest: Some(Timestamp::from_secs(oldest)),
            reference: reference
                .map(|answered| ReferenceSeen { answered, at: Some(Timestamp::from_secs(100)) }),
        }
    }

    fn at(view: &SessionView, seen_down: bool, now: i64) -> Finding {
        judge(view, "s", Timestamp::from_secs(100), seen_down, HOUR, Timestamp::from_secs(now))
    }

    #[test]
    fn w6_the_reference_decides_when_it_is_there() {
        assert_eq!(at(&view(Some(true), 1), false, 110), Finding::Answered);
        assert_eq!(at(&view(Some(false), 1), false, 110), Finding::Running);
        assert_eq!(at(&view(Some(false), 1), true, 110), Finding::Unanswered);
        assert_eq!(at(&view(Some(false), 1), false, 3_700), Finding::Unanswered);
    }

    #[test]
    fn w6_its_absence_counts_only_in_a_complete_history_of_that_session() {
        assert_eq!(at(&view(None, 99), false, 110), Finding::Absent);
        assert_eq!(at(&view(None, 100), false, 110), Finding::Unclear);
        let rotated = SessionView { session: Some("s2".into()), ..view(None, 1) };
        assert_eq!(at(&rotated, false, 110), Finding::Unclear);
        let empty = SessionView { oldest: None, ..view(None, 1) };
        assert_eq!(at(&empty, false, 110), Finding::Absent);
        assert_eq!(at(&SessionView::default(), false, 110), Finding::Absent);
    }
}
