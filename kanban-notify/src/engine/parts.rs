//! Messages in several parts: progress, going on, and the second shape of a message (laws D5, D8).

use super::{
    Command, Engine,
    state::{Claim, Lane, Phase},
};
use crate::{
    artifacts::Artifacts,
    ids::ClaimId,
    leg::{LegStep, Tally},
    message::{Destination, Parcel},
    policy::Policy,
    record::Settlement,
    time::Timestamp,
    verdict::Fault,
};

/// What leaves for a ping or wake with these counts.
pub(super) fn parcel(
    destination: &Destination,
    key: String,
    body: String,
    tally: Option<Tally>,
) -> Parcel {
    let tally = tally.unwrap_or_default();
    let mut destination = destination.clone();
    if let Destination::Chat { thread, .. } = &mut destination
        && tally.parent
    {
        thread.clear();
    }
    Parcel {
        part: tally.part,
        plain: tally.plain,
        failures: tally.failures,
        repeat: tally.repeat && tally.part > 0,
        ..Parcel::new(destination, key, body)
    }
}

/// The counts of a refused ping that may go once more in another shape, or elsewhere; each once (law D8).
pub(super) fn reshaped(policy: &Policy, lane: &Lane, fault: Fault, tally: Tally) -> Option<Tally> {
    let Destination::Chat { thread, .. } = lane.destination() else {
        return None;
    };
    let again = match fault {
        Fault::Payload if !tally.plain => Tally { plain: true, ..tally },
        Fault::Thread if policy.thread_fallback && !thread.is_empty() && !tally.parent => {
            Tally { parent: true, ..tally }
        }
        _ => return None,
    };
    // Other bytes, or another place: nothing that remembers the old key may answer for it.
    Some(Tally { epoch: tally.epoch.saturating_add(1), ..again })
}

impl Engine {
    /// What the operator decided about files.
    pub(crate) fn artifacts(&self) -> Artifacts {
        self.policy.artifacts
    }

    /// A part is recorded as accepted: the next one goes at once, under the same claim, also while stopping,
    /// so that nobody reads half a message for longer than it takes to send the rest.
    pub(super) fn next_part(&mut self, id: ClaimId, settlement: &Settlement, now: Timestamp) {
        for outcome in &settlement.legs {
            self.move_leg(outcome.leg, LegStep::Send);
        }
        let next = settlement.legs.iter().map(|leg| leg.tally.part).max().unwrap_or_default();
        let Some(claim) = self.claims.get_mut(&id) else {
            return;
        };
        claim.phase = Phase::Sending;
        // Of this part nothing was sent yet.
        claim.haunted = false;
        claim.seen_down = false;
        claim.sent_at = now;
        (claim.tries, claim.misses) = (0, 0);
        claim.parcel.part = next;
        (claim.parcel.failures, claim.parcel.repeat) = (0, false);
        self.out.push(Command::Send(id, claim.parcel.clone()));
    }

    /// A message of which parts were accepted is dissolved: its bytes are kept for the rest of it.
    pub(super) fn keep_begun(&mut self, claim: &Claim) {
        for leg in &claim.legs {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.begun = (open.leg.tally.part > 0).then(|| claim.parcel.body.clone());
            }
        }
    }
}
