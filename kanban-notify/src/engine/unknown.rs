//! Finding out what became of a claim: look first, then the same bytes and key again (laws D7, W6).

use std::time::Duration;

use super::{
    Command, Engine,
    state::{Lane, Phase, Timer},
};
use crate::{
    backoff,
    history::SessionView,
    ids::ClaimId,
    message::Destination,
    ports::LookError,
    record::Settlement,
    time::Timestamp,
    verdict::{Detail, Receipt, Verdict},
};

/// First and longest pause between two looks for a reference.
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
    pub(super) fn unknown_since(&mut self, id: ClaimId, now: Timestamp) {
        let settle = self.policy.wake.settle;
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        claim.phase = Phase::Unknown;
        claim.haunted = true;
        let pause = backoff::pause(PACE, claim.tries, claim.lane.seed(), None);
        self.set_timer(Timer::Unknown(id), now.after(pause.max(settle)));
    }

    /// The next step for an unknown claim, when its timer fires.
    pub(super) fn unknown_step(&mut self, id: ClaimId, now: Timestamp) {
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        if claim.phase != Phase::Unknown || self.stopping {
            return;
        }
        let lane = claim.lane.clone();
        // Without its channel nothing can be found out; the world's next change looks again.
        let Some(ability) = self.world.channels.get(lane.channel()).copied() else {
            return;
        };
        if lane.is_session() && ability.readable {
            // Its own name: the lane's may be a later one of the session.
            let lane = Lane::new(claim.parcel.destination.clone());
            let reference = Some(claim.reference.clone());
            if let Some(claim) = self.claims.get_mut(&id) {
                claim.phase = Phase::Looking;
            }
            self.out.push(Command::Look { lane, claim: Some(id), reference });
        } else {
            self.unreadable(id, ability.deduplicates, now);
        }
    }

    /// No history to look into: the receiver's own memory of keys, or the operator's choice (law D7).
    fn unreadable(&mut self, id: ClaimId, deduplicates: bool, now: Timestamp) {
        if deduplicates {
            self.send_again(id, now);
        } else {
            let settlement = self.give_in(id, &Detail::new("the outcome cannot be found out"), now);
            self.settle(id, settlement);
        }
    }

    pub(super) fn looked_for(
        &mut self,
        id: ClaimId,
        result: Result<SessionView, LookError>,
        now: Timestamp,
    ) {
        let longest_turn = self.policy.wake.longest_turn;
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        if claim.phase != Phase::Looking {
            return;
        }
        claim.phase = Phase::Unknown;
        claim.tries = claim.tries.saturating_add(1);
        let view = match result {
            Ok(view) => view,
            Err(LookError::Unsupported) => {
                let ability = self.world.channels.get(claim.lane.channel()).copied();
                let deduplicates = ability.is_some_and(|ability| ability.deduplicates);
                return self.unreadable(id, deduplicates, now);
            }
            Err(error) => {
                claim.seen_down |= matches!(error, LookError::Unreachable(_));
                let detail = Detail::new(&error.to_string());
                return self.look_again(id, &detail, now);
            }
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
            Finding::Running => self.look_again(id, &Detail::new("its turn is running"), now),
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
        let pause = backoff::pause(PACE, claim.tries, claim.lane.seed(), None);
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
    fn send_again(&mut self, id: ClaimId, now: Timestamp) {
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        let lane = claim.lane.clone();
        if !self.take_slot(&lane, now) {
            // The look told all there is to know: it is no reason to look less often.
            if let Some(claim) = self.claims.get_mut(&id) {
                claim.tries = claim.tries.saturating_sub(1);
            }
            let pause = backoff::pause(PACE, 1, lane.seed(), None);
            self.set_timer(Timer::Unknown(id), now.after(pause));
            return;
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
