//! From intents to outcomes: what a verdict does to a claim and to each of its legs (laws D3, D8, W7).

use std::time::Duration;

use super::{
    Command, Engine, Notice,
    state::{ChannelState, Claim, FOREIGN_RETRY, Hold, LEDGER_RETRY, Lane, Phase, Timer},
};
use crate::{
    backoff,
    ids::{ChannelName, ClaimId, LegId},
    leg::{LegState, LegStep, Tally},
    message::{Destination, Parcel},
    policy::OnUnknown,
    record::{Intent, IntentResult, LegOutcome, Pause, Raise, Settlement},
    time::Timestamp,
    verdict::{Detail, Fault, Verdict},
};

/// First and longest time between two probes of a refused credential.
const PROBE_PACE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(900));
/// A failed turn costs a whole turn: the next one comes so many first pauses later (law W7).
const FAILED_TURN_FACTOR: u32 = 30;

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
                    if let Some(state) = self.lanes.get_mut(&draft.lane) {
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
        for leg in legs {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.bound = false;
            }
        }
        if let Some(state) = self.lanes.get_mut(lane) {
            state.hold = Hold::Free;
            state.not_before = state.not_before.max(at);
        }
        self.release_slot(lane.channel());
        self.touched.insert(lane.clone());
    }

    fn start(&mut self, id: ClaimId, lane: Lane, intent: Intent, now: Timestamp) {
        for leg in &intent.legs {
            self.move_leg(*leg, LegStep::Intend);
            self.move_leg(*leg, LegStep::Send);
        }
        if lane.is_session() {
            self.wakes.entry(lane.clone()).or_default().push_back(now);
        }
        if let Some(state) = self.lanes.get_mut(&lane) {
            state.hold = Hold::Claimed(id);
        }
        let parcel = Parcel { destination: intent.destination, key: intent.key, body: intent.body };
        self.out.push(Command::Send(id, parcel.clone()));
        let claim = Claim {
            lane,
            legs: intent.legs,
            parcel,
            reference: intent.reference,
            at: intent.at,
            phase: Phase::Sending,
            haunted: false,
            seen_down: false,
            tries: 0,
            unsettled: None,
        };
        self.claims.insert(id, claim);
    }

    fn move_leg(&mut self, leg: LegId, step: LegStep) {
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
        self.release_slot(lane.channel());
        let settlement = self.outcome(id, verdict, now);
        self.settle(id, settlement);
    }

    pub(super) fn settle(&mut self, id: ClaimId, settlement: Settlement) {
        if let Some(claim) = self.claims.get_mut(&id) {
            claim.phase = Phase::Settling;
            claim.unsettled = Some(settlement.clone());
            self.out.push(Command::Settle(settlement));
        }
    }

    /// Concurrency follows what the receiver can take (law D6).
    fn adapt(&mut self, name: &ChannelName, verdict: &Verdict) {
        let most = self.policy.concurrency.max(1);
        if let Some(channel) = self.channels.get_mut(name) {
            match verdict {
                Verdict::Busy { .. } => channel.limit = (channel.limit / 2).max(1),
                Verdict::Delivered(_) => channel.limit = channel.limit.saturating_add(1).min(most),
                _ => {}
            }
        }
    }

    /// What a verdict means for a claim and its legs.
    pub(super) fn outcome(&self, id: ClaimId, verdict: &Verdict, now: Timestamp) -> Settlement {
        let detail = Detail::new(verdict.detail());
        let mut settlement = Settlement {
            claim: id,
            verdict: verdict.name(),
            detail: detail.clone(),
            legs: Vec::new(),
            over: true,
            alias: None,
            pause: None,
            at: now,
        };
        let Some(claim) = self.claims.get(&id) else {
            return settlement;
        };
        let several = claim.legs.len() > 1;
        let soft = self.lanes.get(&claim.lane).map_or(0, |lane| lane.soft).saturating_add(1);
        // An earlier attempt may have had its effect: a refusal now proves nothing about it.
        let proves_nothing = claim.haunted
            && matches!(
                verdict,
                Verdict::Busy { .. }
                    | Verdict::Unreachable { .. }
                    | Verdict::Retryable { .. }
                    | Verdict::Permanent { fault: Fault::Credential, .. }
            );
        if proves_nothing {
            settlement.over = false;
        }
        if let Verdict::Delivered(receipt) = verdict
            && let (Some(to), Destination::Session { session, .. }) =
                (&receipt.session, &claim.parcel.destination)
            && to != session
        {
            settlement.alias = Some((session.clone(), to.clone()));
        }
        if let Verdict::Permanent { fault: Fault::Credential, .. } = verdict {
            let until = now.after(backoff::pause(PROBE_PACE, 1, claim.lane.seed(), None));
            let channel = claim.lane.channel().clone();
            let reason = detail.clone();
            settlement.pause = Some(Pause { channel, until, reason, credential: true });
        }
        for leg in &claim.legs {
            let Some((sub, kind, event)) = self.legs.get(leg) else {
                continue;
            };
            let track = self.tracks.get(&(*sub, *kind));
            let Some(open) = track.and_then(|track| track.legs.get(event)) else {
                continue;
            };
            let given_up = now.since(open.leg.planned_at) >= self.policy.give_up_after;
            let step =
                Step { several, soft, given_up, proves_nothing, now, seed: claim.lane.seed() };
            let outcome = self.leg_outcome(*leg, open.leg.tally, verdict, &step, &detail);
            settlement.over |= outcome.state == LegState::Parked;
            settlement.legs.push(outcome);
        }
        if settlement.legs.iter().any(|leg| leg.state == LegState::Unknown) {
            settlement.over = false;
        }
        settlement
    }

    fn leg_outcome(
        &self,
        leg: LegId,
        mut tally: Tally,
        verdict: &Verdict,
        step: &Step,
        detail: &Detail,
    ) -> LegOutcome {
        let Step { several, soft, given_up, now, seed, .. } = *step;
        let backoff = self.policy.backoff;
        let later = |failures, hint| now.after(backoff::pause(backoff, failures, seed, hint));
        let (state, due_at) = match verdict {
            Verdict::Delivered(_) => (LegState::Delivered, now),
            _ if given_up => (LegState::Parked, now),
            _ if step.proves_nothing => (LegState::Unknown, now),
            Verdict::Busy { retry_after, .. } => (LegState::Retrying, later(soft, *retry_after)),
            Verdict::Unreachable { .. } => (LegState::Retrying, later(soft, None)),
            Verdict::Retryable { retry_after, .. } => {
                tally.failures = tally.failures.saturating_add(1);
                (LegState::Retrying, later(tally.failures, *retry_after))
            }
            Verdict::FailedTurn { .. } => {
                let most = self.policy.wake.max_failed_turns;
                tally.failed_turns = tally.failed_turns.saturating_add(1);
                // The failed answer is cached under the key: only a new epoch runs again (law W6).
                tally.epoch = tally.epoch.saturating_add(1);
                let first = backoff.0.saturating_mul(FAILED_TURN_FACTOR);
                let longest = backoff.1.max(first);
                let pause = backoff::pause((first, longest), tally.failed_turns, seed, None);
                match (tally.failed_turns >= most, several) {
                    (false, _) => (LegState::Retrying, now.after(pause)),
                    (true, true) => {
                        // Split before anything is parked: one bad member must not take the others
                        // with it (law D3). Each has one turn of its own.
                        tally.alone = true;
                        tally.failed_turns = most.saturating_sub(1);
                        (LegState::Retrying, now.after(pause))
                    }
                    (true, false) => (LegState::Parked, now),
                }
            }
            Verdict::Permanent { fault: Fault::Credential, .. } => (LegState::Retrying, now),
            Verdict::Permanent { fault: Fault::Payload | Fault::Quota, .. } if several => {
                tally.alone = true;
                (LegState::Retrying, now)
            }
            Verdict::Permanent { .. } => (LegState::Parked, now),
            Verdict::Unknown { .. } => (LegState::Unknown, now),
        };
        let reason = match state {
            LegState::Delivered => Detail::default(),
            _ => detail.clone(),
        };
        LegOutcome { leg, state, tally, due_at, reason }
    }

    /// What `on_unknown` makes of a claim whose outcome cannot be found out.
    pub(super) fn give_in(&self, id: ClaimId, detail: &Detail, now: Timestamp) -> Settlement {
        let verdict = Verdict::Unknown { detail: detail.clone() };
        let mut settlement = self.outcome(id, &verdict, now);
        settlement.over = true;
        for leg in &mut settlement.legs {
            if self.policy.on_unknown == OnUnknown::Park || leg.tally.repeat {
                leg.state = LegState::Parked;
            } else {
                leg.state = LegState::Retrying;
                leg.due_at = now;
                leg.tally.repeat = true;
                leg.tally.epoch = leg.tally.epoch.saturating_add(1);
            }
        }
        settlement
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
        let (lane, reference) = (claim.lane.clone(), claim.reference.clone());
        self.tell_outcome(&lane, &settlement);
        for outcome in &settlement.legs {
            if outcome.state.is_final() {
                self.forget_leg(outcome.leg);
            } else if let Some(open) = self.open_leg_mut(outcome.leg) {
                open.leg.state = outcome.state;
                open.leg.tally = outcome.tally;
                open.leg.due_at = outcome.due_at;
                open.bound = !settlement.over;
            }
        }
        if let Some(pause) = settlement.pause.clone() {
            self.pause(pause);
        }
        let delivered = settlement.verdict == "delivered";
        if let Some(state) = self.lanes.get_mut(&lane) {
            match settlement.verdict {
                "busy" | "unreachable" => state.soft = state.soft.saturating_add(1),
                "failed_turn" => state.failed_reference = Some(reference),
                _ if delivered => {
                    state.soft = 0;
                    state.failed_reference = None;
                }
                _ => {}
            }
        }
        if settlement.over {
            self.claims.remove(&id);
            if let Some(state) = self.lanes.get_mut(&lane) {
                state.hold = Hold::Free;
            }
            if let Some((from, to)) = &settlement.alias
                && let Destination::Session { channel, .. } = lane.destination()
                && self.learn_alias(channel, from, to)
            {
                let channel = channel.clone();
                let session = self.aliases.resolve(&channel, from);
                let moved = Lane::new(Destination::Session { channel, session });
                self.move_tracks(&lane, &moved);
            }
            self.touched.insert(lane);
        } else {
            self.unknown_since(id, now);
        }
    }

    fn tell_outcome(&mut self, lane: &Lane, settlement: &Settlement) {
        let (claim, lane, detail) = (settlement.claim, lane.name(), settlement.detail.clone());
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
            Notice::Postponed { claim, lane, verdict: settlement.verdict, until, detail }
        } else {
            return;
        };
        self.out.push(Command::Tell(notice));
    }

    /// Stops using a channel for a while (law D8).
    pub(super) fn pause(&mut self, pause: Pause) {
        let limit = self.policy.concurrency;
        let name = pause.channel.clone();
        let channel = self.channels.entry(name.clone()).or_insert_with(|| ChannelState::new(limit));
        let (until, reason) = (pause.until, pause.reason.clone());
        let news = channel.pause.as_ref().is_none_or(|old| old.until < until);
        if news {
            channel.pause = Some(pause);
            self.set_timer(Timer::Channel(name.clone()), until);
            self.out.push(Command::Tell(Notice::Paused { channel: name, until, reason }));
        }
    }

    /// A pause is over: a refused credential is probed first.
    pub(super) fn channel_due(&mut self, name: &ChannelName) {
        let Some(channel) = self.channels.get_mut(name) else {
            return;
        };
        let Some(pause) = &channel.pause else { return };
        if pause.credential {
            if !std::mem::replace(&mut channel.probing, true) {
                self.out.push(Command::Probe(name.clone()));
            }
        } else {
            self.resume(name);
        }
    }

    pub(super) fn probed(&mut self, name: &ChannelName, verdict: &Verdict, now: Timestamp) {
        let Some(channel) = self.channels.get_mut(name) else {
            return;
        };
        channel.probing = false;
        if matches!(verdict, Verdict::Delivered(_)) {
            channel.failed_probes = 0;
            self.resume(name);
            return;
        }
        channel.failed_probes = channel.failed_probes.saturating_add(1);
        let seed = u64::from(channel.failed_probes);
        let until = now.after(backoff::pause(PROBE_PACE, channel.failed_probes, seed, None));
        if let Some(pause) = &mut channel.pause {
            pause.until = until;
        }
        self.set_timer(Timer::Channel(name.clone()), until);
    }

    fn resume(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.pause = None;
            self.touched.append(&mut channel.waiting);
            self.out.push(Command::Tell(Notice::Resumed { channel: name.clone() }));
        }
        let lanes = self.lanes.keys().filter(|lane| lane.channel() == name);
        self.touched.extend(lanes.cloned());
    }
}

/// What a leg's outcome depends on besides its own counts.
#[derive(Clone, Copy, Debug)]
struct Step {
    several: bool,
    soft: u32,
    given_up: bool,
    proves_nothing: bool,
    now: Timestamp,
    seed: u64,
}
