//! From intents to outcomes: what a verdict does to a claim and to each of its legs (laws D3, D8, W7).

use super::{
    Command, Engine, Notice, parts,
    state::{Claim, FOREIGN_RETRY, Hold, LEDGER_RETRY, Lane, Phase, Timer},
};
use crate::{
    ids::{ClaimId, LegId},
    leg::{LegState, LegStep},
    record::{Intent, IntentResult, Pause, Raise, Settlement},
    time::Timestamp,
    verdict::{Detail, PART, Verdict},
};

impl Engine {
    pub(super) fn intended(&mut self, results: Vec<(Intent, IntentResult)>, now: Timestamp) {
        for (intent, result) in results {
            let Some(draft) = self.drafts.remove(&intent.draft) else {
                continue;
            };
            match result {
                IntentResult::Won(claim) => self.start(claim, draft.lane, intent, now),
                IntentResult::Held => {
                    self.unbind(&draft.lane, &draft.legs, now.after(FOREIGN_RETRY))
                }
                IntentResult::Paused(until) => {
                    let channel = draft.lane.channel().clone();
                    let reason = Detail::new("paused by another instance");
                    self.pause(Pause { channel, until, reason, credential: false });
                    self.unbind(&draft.lane, &draft.legs, until);
                }
                IntentResult::Taken => {
                    // Somebody else has one of them or closed it; the ledger knows which.
                    self.unbind(&draft.lane, &draft.legs, now);
                    if let Some(state) = self.lanes.get_mut(&draft.lane)
                        && state.hold == Hold::Free
                    {
                        state.hold = Hold::Reloading;
                    }
                    self.load_work();
                }
            }
        }
    }

    pub(super) fn intend_failed(&mut self, intents: Vec<Intent>, now: Timestamp) {
        for intent in intents {
            if let Some(draft) = self.drafts.remove(&intent.draft) {
                self.unbind(&draft.lane, &draft.legs, now.after(LEDGER_RETRY));
            }
        }
    }

    /// Gives a draft's legs and slot back; the lane goes on at `at`.
    fn unbind(&mut self, lane: &Lane, legs: &[LegId], at: Timestamp) {
        // A claim of a dead instance may have been taken over while the draft was on its way: it holds
        // the lane, and its legs, until its outcome is known (law D9).
        let hold = self.lanes.get(lane).map(|state| state.hold);
        let kept = match hold {
            Some(Hold::Claimed(id)) => self.claims.get(&id).map(|claim| claim.legs.clone()),
            _ => None,
        };
        let kept = kept.unwrap_or_default();
        for leg in legs.iter().filter(|leg| !kept.contains(leg)) {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.bound = false;
            }
        }
        if let Some(state) = self.lanes.get_mut(lane)
            && state.hold == Hold::Drafted
        {
            state.hold = Hold::Free;
            state.not_before = state.not_before.max(at);
        }
        self.release_place(lane.channel());
        self.touched.insert(lane.clone());
    }

    fn start(&mut self, id: ClaimId, lane: Lane, intent: Intent, now: Timestamp) {
        for leg in &intent.legs {
            self.move_leg(*leg, LegStep::Intend);
            self.move_leg(*leg, LegStep::Send);
        }
        if lane.is_session() {
            self.wakes.push(&lane, intent.at);
        }
        if let Some(state) = self.lanes.get_mut(&lane) {
            state.hold = Hold::Claimed(id);
        }
        let tally = intent.tallies.first().copied();
        let parcel = parts::parcel(&intent.destination, intent.key, intent.body, tally);
        self.out.push(Command::Send(id, parcel.clone()));
        let claim = Claim {
            lane,
            legs: intent.legs,
            parcel,
            reference: intent.reference,
            at: intent.at,
            phase: Phase::Sending,
            haunted: false,
            sent_at: now,
            woken_at: intent.at,
            seen_down: false,
            tries: 0,
            misses: 0,
            unsettled: None,
        };
        self.claims.insert(id, claim);
    }

    pub(super) fn move_leg(&mut self, leg: LegId, step: LegStep) {
        if let Some(open) = self.open_leg_mut(leg)
            && let Ok(state) = open.leg.state.step(step)
        {
            open.leg.state = state;
        }
    }

    /// A request ended: its outcome goes into the ledger before anything else is done with it (law D1).
    pub(super) fn sent(&mut self, id: ClaimId, verdict: &Verdict, now: Timestamp) {
        let Some(claim) = self.claims.get(&id) else {
            return;
        };
        if claim.phase != Phase::Sending {
            return;
        }
        let lane = claim.lane.clone();
        self.adapt(lane.channel(), verdict);
        let settlement = self.outcome(id, verdict, now);
        if let Some(pause) = settlement.pause.clone() {
            // From this moment on: others wait for a place already.
            self.pause(pause);
        }
        // The place of a message that goes on is kept for its next part.
        if settlement.verdict != PART {
            self.release_place(lane.channel());
        }
        self.settle(id, settlement);
    }

    pub(super) fn settle(&mut self, id: ClaimId, settlement: Settlement) {
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.phase = Phase::Settling;
            claim.unsettled = Some(settlement.clone());
            self.out.push(Command::Settle(settlement));
        }
    }

    pub(super) fn settle_failed(&mut self, settlements: Vec<Settlement>, now: Timestamp) {
        // The outcome is known and only not written: never sent again, written as soon as it can be.
        for settlement in settlements {
            self.set_timer(Timer::Resettle(settlement.claim), now.after(LEDGER_RETRY));
        }
    }

    pub(super) fn resettle(&mut self, id: ClaimId) {
        if let Some(settlement) = self.claims.get(&id).and_then(|claim| claim.unsettled.clone()) {
            self.out.push(Command::Settle(settlement));
        }
    }

    /// Outcomes are durable: memory follows, lanes go on, cursors may rise.
    pub(super) fn settled(
        &mut self,
        settlements: Vec<Settlement>,
        raises: Vec<Raise>,
        now: Timestamp,
    ) {
        for settlement in settlements {
            self.settled_one(settlement, now);
        }
        self.queue_raises(raises, now);
    }

    fn settled_one(&mut self, settlement: Settlement, now: Timestamp) {
        let id = settlement.claim;
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        claim.unsettled = None;
        let (lane, reference, at) = (claim.lane.clone(), claim.reference.clone(), claim.woken_at);
        self.tell_outcome(&lane, &settlement);
        let older = self.older;
        for outcome in &settlement.legs {
            if outcome.state.is_final() {
                self.forget_leg(outcome.leg);
            } else if let Some(open) = self.open_leg_mut(outcome.leg) {
                open.leg.state = outcome.state;
                open.leg.tally = outcome.tally;
                open.leg.due_at = outcome.due_at;
                open.bound = !settlement.over;
                let outdated = older.is_some_and(|older| open.leg.planned_at < older);
                if outdated && !outcome.tally.replay {
                    self.check_again(outcome.leg);
                }
                self.touch_leg(outcome.leg);
            }
        }
        let lane_state = self.lanes.get_mut(&lane);
        let soft = lane_state.map(|state| {
            if settlement.verdict != "unreachable" {
                // It had its turn.
                state.round = None;
            }
            &mut state.soft
        });
        if settlement.over && matches!(settlement.verdict, "busy" | "unreachable") {
            // Nobody was woken: it does not count for the budget (law W5).
            self.wakes.remove(&lane, at);
        }
        match (settlement.verdict, soft) {
            ("busy" | "unreachable", Some(soft)) => *soft = soft.saturating_add(1),
            ("failed_turn" | "retryable", _) if lane.is_session() => {
                self.failed.insert(lane.clone(), reference);
            }
            ("delivered" | PART, soft) => {
                self.failed.remove(&lane);
                if let Some(soft) = soft {
                    *soft = 0;
                }
            }
            _ => {}
        }
        if settlement.verdict == PART {
            self.next_part(id, &settlement, now);
        } else if settlement.over {
            if let Some(claim) = self.claims.remove(&id) {
                self.keep_begun(&claim);
            }
            if let Some(state) = self.lanes.get_mut(&lane) {
                state.hold = Hold::Free;
            }
            if let Some((from, to)) = &settlement.alias {
                let channel = lane.channel().clone();
                self.learn_alias(&channel, from, to);
                self.follow_alias(&channel, from);
            }
            self.touched.insert(lane);
        } else {
            self.unknown_since(id, settlement.pause.is_some(), now);
        }
    }

    /// A fault that lasts is told when it begins and when it ends; a channel that cannot be used tells of
    /// itself.
    fn tell_outcome(&mut self, lane: &Lane, settlement: &Settlement) {
        if settlement.verdict == PART {
            return;
        }
        let was_failing = match (self.lanes.get_mut(lane), settlement.verdict) {
            (Some(state), "delivered") => std::mem::take(&mut state.failing),
            (Some(state), "busy" | "retryable" | "failed_turn" | "unknown") => {
                std::mem::replace(&mut state.failing, true)
            }
            _ => false,
        };
        let (claim, lane, detail) = (settlement.claim, lane.name(), settlement.detail.clone());
        if was_failing && settlement.verdict == "delivered" {
            self.out.push(Command::Tell(Notice::Recovered { lane: lane.clone() }));
        }
        let parked = settlement.legs.iter().filter(|leg| leg.state == LegState::Parked);
        for leg in parked {
            let notice = Notice::Parked { leg: leg.leg, reason: leg.reason.clone() };
            self.out.push(Command::Tell(notice));
        }
        let later = settlement.legs.iter().filter(|leg| leg.state == LegState::Retrying);
        let notice = if settlement.verdict == "delivered" {
            Notice::Delivered { claim, lane, legs: settlement.legs.len() }
        } else if !settlement.over {
            Notice::Unknown { claim, lane, detail }
        } else if let Some(until) = later.map(|leg| leg.due_at).max() {
            let (verdict, again) = (settlement.verdict, was_failing);
            // Nothing goes out while its channel rests.
            let rest = settlement.pause.as_ref().map(|pause| pause.until);
            let until = rest.map_or(until, |rest| rest.max(until));
            Notice::Postponed { claim, lane, verdict, until, detail, again }
        } else {
            return;
        };
        self.out.push(Command::Tell(notice));
    }
}
