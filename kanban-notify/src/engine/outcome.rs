//! What a verdict does to a claim and to each of its legs (laws D3, D7, D8, W7).

use super::{Engine, channels, parts, state::Lane};
use crate::{
    backoff,
    ids::{ClaimId, LegId},
    leg::{LegState, Tally},
    message::Destination,
    policy::OnUnknown,
    record::{LegOutcome, Pause, Settlement},
    time::Timestamp,
    verdict::{Detail, Fault, Verdict},
};

/// A failed turn costs a whole turn: the next one comes so many first pauses later (law W7).
const FAILED_TURN_FACTOR: u32 = 30;

impl Engine {
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
        let haunted = claim.haunted;
        let soft = self.lanes.get(&claim.lane).map_or(0, |lane| lane.soft).saturating_add(1);
        // An earlier attempt may have had its effect: a refusal now proves nothing about it.
        let proves_nothing = haunted
            && matches!(
                verdict,
                Verdict::Busy { .. }
                    | Verdict::Unreachable { .. }
                    | Verdict::Retryable { .. }
                    | Verdict::Permanent { fault: Fault::Credential, .. }
            );
        if proves_nothing || matches!(verdict, Verdict::Part { .. }) {
            settlement.over = false;
        }
        if let (Verdict::Moved { chat: to, .. }, Destination::Chat { chat, .. }) =
            (verdict, claim.lane.destination())
        {
            settlement.alias = Some((chat.clone(), to.clone()));
        }
        if let Verdict::Delivered(receipt) = verdict
            && let (Some(to), Destination::Session { session, .. }) =
                (&receipt.session, &claim.parcel.destination)
            && to != session
        {
            settlement.alias = Some((session.clone(), to.clone()));
        }
        if let Verdict::Permanent { fault: Fault::Credential, .. } = verdict {
            settlement.pause = Some(channels::refused(&claim.lane, &detail, now));
        }
        if let Verdict::Unreachable { .. } = verdict {
            let channel = claim.lane.channel().clone();
            let until = self.unreachable_until(&channel, now);
            settlement.pause =
                Some(Pause { channel, until, reason: detail.clone(), credential: false });
        }
        for leg in &claim.legs {
            let Some(open) = self.open_leg(*leg) else {
                continue;
            };
            let given_up = now.since(open.leg.planned_at) >= self.policy.give_up_after;
            let lane = &claim.lane;
            let step = Step { lane, several, soft, given_up, proves_nothing, now };
            let mut outcome = self.leg_outcome(*leg, open.leg.tally, verdict, &step, &detail);
            // What was refused now may have arrived before: whoever sends it again says so (law D7).
            outcome.tally.repeat |= haunted
                && matches!(outcome.state, LegState::Parked | LegState::Retrying)
                && !matches!(verdict, Verdict::FailedTurn { .. } | Verdict::Unknown { .. });
            settlement.over |= outcome.state == LegState::Parked;
            settlement.legs.push(outcome);
        }
        if settlement.legs.iter().any(|leg| leg.state == LegState::Unknown) {
            settlement.over = false;
        } else if proves_nothing {
            settlement.verdict = Verdict::Unknown { detail }.name();
        }
        settlement
    }

    fn leg_outcome(
        &self,
        leg: LegId,
        mut tally: Tally,
        verdict: &Verdict,
        step: &Step<'_>,
        detail: &Detail,
    ) -> LegOutcome {
        let Step { lane, several, soft, given_up, now, .. } = *step;
        let seed = lane.seed();
        let backoff = self.policy.backoff;
        let later = |failures, hint| now.after(backoff::pause(backoff, failures, seed, hint));
        let (state, due_at) = match verdict {
            Verdict::Delivered(_) => {
                tally.part = 0;
                (LegState::Delivered, now)
            }
            Verdict::Part { next, .. } => {
                tally.part = tally.part.saturating_add(1).max(*next);
                // Whatever is told of attempts is told of the part to come.
                tally.failures = 0;
                tally.repeat = false;
                (LegState::Intended, now)
            }
            _ if given_up => (LegState::Parked, now),
            _ if step.proves_nothing => (LegState::Unknown, now),
            Verdict::Busy { retry_after, .. } => (LegState::Retrying, later(soft, *retry_after)),
            // The channel rests, not the leg (law D8).
            Verdict::Unreachable { .. } => (LegState::Retrying, now),
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
            Verdict::Permanent { fault, .. } => {
                match parts::reshaped(&self.policy, lane, *fault, tally) {
                    Some(again) => {
                        tally = again;
                        (LegState::Retrying, now)
                    }
                    None => (LegState::Parked, now),
                }
            }
            Verdict::Moved { chat, .. } if self.moves(lane, chat) => (LegState::Retrying, now),
            Verdict::Moved { .. } => (LegState::Parked, now),
            Verdict::Unknown { .. } => (LegState::Unknown, now),
        };
        let reason = match state {
            LegState::Delivered | LegState::Intended => Detail::default(),
            _ => detail.clone(),
        };
        LegOutcome { leg, state, tally, due_at, reason }
    }

    /// Whether there is another chat to go to. One that leads back here would be tried for ever.
    fn moves(&self, lane: &Lane, to: &str) -> bool {
        match lane.destination() {
            Destination::Chat { channel, chat, .. } => !self.aliases.leads_back(channel, chat, to),
            Destination::Session { .. } => false,
        }
    }

    /// What `on_unknown` makes of a claim whose outcome cannot be found out.
    pub(super) fn give_in(&self, id: ClaimId, detail: &Detail, now: Timestamp) -> Settlement {
        let verdict = Verdict::Unknown { detail: detail.clone() };
        let mut settlement = self.outcome(id, &verdict, now);
        settlement.over = true;
        let asked = self.asked_since(id).is_some();
        for leg in &mut settlement.legs {
            let parks = self.policy.on_unknown == OnUnknown::Park || leg.tally.repeat;
            if parks && !asked {
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

    /// When an operator asked again for what a claim carries: its legs were planned after it then
    /// (law D11).
    pub(super) fn asked_since(&self, id: ClaimId) -> Option<Timestamp> {
        let claim = self.claims.get(&id)?;
        let planned = claim.legs.iter().filter_map(|leg| Some(self.open_leg(*leg)?.leg.planned_at));
        planned.max().filter(|planned| *planned > claim.at)
    }
}

/// What a leg's outcome depends on besides its own counts.
#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    lane: &'a Lane,
    several: bool,
    soft: u32,
    given_up: bool,
    proves_nothing: bool,
    now: Timestamp,
}
