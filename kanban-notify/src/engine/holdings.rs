//! What is held in memory of what is owed: taken in, moved, forgotten.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{
    Engine, parts,
    state::{Claim, Hold, LONGEST_PAUSE, Lane, LaneState, OpenLeg, Phase, Sub, Timer, Track},
};
use crate::{
    backoff,
    ids::{BoardId, LegId, SubscriptionId},
    leg::{Leg, LegKind, LegState},
    message::Destination,
    ownership,
    record::{Facts, OpenClaim, Owed, OwedLeg, RecentWake, Work},
    subscription::Subscription,
    time::Timestamp,
};

impl Engine {
    /// Everything open in the ledger replaces what was held, except what is under way here.
    pub(super) fn work(&mut self, work: Work, now: Timestamp) {
        self.loading = false;
        let first = !std::mem::replace(&mut self.work_loaded, true);
        for (channel, from, to) in &work.aliases {
            if self.aliases.learn(channel, from, to) {
                self.follow_alias(channel, from);
            }
        }
        self.newest_claim = work.newest_claim;
        self.older = work.older;
        let known: HashSet<LegId> =
            work.owed.iter().flat_map(|owed| &owed.legs).map(|owed| owed.leg.id).collect();
        let stale: Vec<LegId> = self
            .tracks
            .values()
            .flat_map(|track| track.legs.values())
            .filter(|open| !open.bound && self.away.asked.contains(&open.leg.subscription))
            .filter(|open| !known.contains(&open.leg.id))
            .map(|open| open.leg.id)
            .collect();
        self.away.asked.clear();
        for leg in stale {
            self.forget_leg(leg);
        }
        // At first every board is read before anything of it is sent.
        let mut unlooked: BTreeSet<BoardId> = BTreeSet::new();
        for owed in work.owed {
            if first {
                self.absorb(owed);
            } else {
                unlooked.extend(self.hold_unlooked(owed));
            }
        }
        // What was being fetched was answered before, or could not be read.
        self.away.fetching.clear();
        self.let_wait(work.waiting);
        for claim in work.claims {
            self.take_over(claim, now);
        }
        for pause in work.pauses {
            match (first, pause.credential) {
                // Nobody was there when somebody else looked; that is tried anew at a start.
                (true, false) => self.rested_before(pause, now),
                (true, true) => self.refused_before(pause),
                (false, _) => self.pause(pause),
            }
        }
        for RecentWake { channel, session, at, failed } in work.recent_wakes {
            // Of a clock that was ahead then.
            let at = at.min(now);
            let lane = Lane::new(Destination::Session { channel, session });
            match failed {
                Some(reference) => self.failed.insert(lane.clone(), reference),
                None => self.failed.remove(&lane),
            };
            self.wakes.learn(&lane, at);
        }
        for (lane, state) in &mut self.lanes {
            if state.hold == Hold::Reloading {
                state.hold = Hold::Free;
            }
            self.touched.insert(lane.clone());
        }
        self.queue_raises(work.raises, now);
        if first {
            self.probe_refused();
            unlooked.extend(self.boards.keys());
        }
        for board in unlooked {
            self.read(board);
        }
    }

    /// A claim whose instance died: its outcome is unknown, its key and bytes are kept (law D9).
    fn take_over(&mut self, open: OpenClaim, now: Timestamp) {
        if self.claims.contains_key(&open.id) {
            return;
        }
        let lane = self.lane_of_claim(&open.destination);
        // The part that was under way is the first one that is not recorded as accepted (law D5).
        let tally = open.legs.first().and_then(|leg| Some(self.open_leg(*leg)?.leg.tally));
        let parcel = parts::parcel(&open.destination, open.key, open.body, tally);
        for leg in &open.legs {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.bound = true;
            }
        }
        let state = self.lanes.entry(lane.clone()).or_insert_with(LaneState::new);
        state.hold = Hold::Claimed(open.id);
        self.set_timer(Timer::Unknown(open.id), now.max(open.at.after(self.policy.wake.settle)));
        let claim = Claim {
            lane,
            legs: open.legs,
            parcel,
            reference: open.reference,
            at: open.at,
            phase: Phase::Unknown,
            haunted: true,
            sent_at: open.at,
            woken_at: open.at,
            seen_down: false,
            tries: 0,
            // Where it waited for long already, the looks do not begin anew.
            misses: backoff::failures(self.unknown_pace(), now.since(open.at) / 2)
                .saturating_sub(1),
            unsettled: None,
        };
        self.claims.insert(open.id, claim);
    }

    /// Takes the open legs of a subscription into memory.
    pub(super) fn absorb(&mut self, owed: Owed) {
        let Owed { board, slug, incarnation, subscription, legs } = owed;
        let id = subscription.id;
        if legs.is_empty() && !self.subs.contains_key(&id) {
            return;
        }
        if self.boards.get(&board).is_some_and(|state| state.start.incarnation != incarnation) {
            return;
        }
        let life = subscription.life;
        let sub = Sub { board, slug: slug.into(), incarnation, subscription };
        let before = self.subs.insert(id, sub);
        if before.is_some_and(|before| before.subscription.life != life) {
            self.touch_sub(id);
        }
        for OwedLeg { leg, facts, begun } in legs {
            self.absorb_leg(id, leg, facts, begun);
        }
    }

    fn absorb_leg(&mut self, id: SubscriptionId, leg: Leg, facts: Facts, begun: Option<String>) {
        if let Some(open) = self.open_leg_mut(leg.id) {
            // What is bound here is newer than what the ledger said.
            if !open.bound {
                open.leg = leg;
                open.begun = begun;
            }
            return;
        }
        let copy = self.subs.get(&id).map(|sub| &sub.subscription);
        let Some(lane) = copy.and_then(|copy| self.lane_of(copy, leg.kind, &facts)) else {
            return;
        };
        let (kind, event, leg_id) = (leg.kind, leg.event, leg.id);
        let retrying = leg.state == LegState::Retrying;
        let tried = leg.tally.failures > 0 || leg.tally.failed_turns > 0;
        let rest = leg.due_at.since(self.last_seen);
        let rest = (rest > Duration::ZERO && rest < LONGEST_PAUSE).then_some(rest);
        let track = self.tracks.entry((id, kind)).or_insert_with(|| Track {
            lane: lane.clone(),
            legs: Default::default(),
            rank: None,
        });
        let lane = track.lane.clone();
        let open = Box::new(OpenLeg { leg, facts: Arc::new(facts), bound: false, begun });
        if track.legs.insert(event, open).is_none() {
            let channel = self.channel_mut(lane.channel());
            channel.held = channel.held.saturating_add(1);
        }
        self.legs.insert(leg_id, (id, kind, event));
        let pace = self.policy.backoff;
        let state = self.lanes.entry(lane.clone()).or_insert_with(LaneState::new);
        state.failing |= retrying && tried;
        if retrying && !tried {
            // Busy is counted here only: how far that was shows in the rest under way (law D8).
            state.soft = state.soft.max(rest.map_or(0, |rest| backoff::failures(pace, rest)));
        }
        self.rank((id, kind));
        self.touched.insert(lane);
    }

    /// Where a leg goes (laws W2, W3).
    pub(super) fn lane_of(
        &self,
        copy: &Subscription,
        kind: LegKind,
        facts: &Facts,
    ) -> Option<Lane> {
        let key = &copy.key;
        let channel = ownership::channel_of_leg(kind, &key.platform, &copy.profile);
        let session = |raw: &str| {
            let session = self.aliases.resolve(&channel, raw);
            Lane::new(Destination::Session { channel: channel.clone(), session })
        };
        Some(match kind {
            LegKind::Wake if key.is_api_server() => session(&key.chat),
            LegKind::Wake => session(facts.session.as_deref()?),
            LegKind::Ping => Lane::new(Destination::Chat {
                chat: self.aliases.resolve(&channel, &key.chat),
                thread: key.thread.clone(),
                channel,
            }),
        })
    }

    pub(super) fn open_leg(&self, leg: LegId) -> Option<&OpenLeg> {
        let (sub, kind, event) = self.legs.get(&leg)?;
        self.tracks.get(&(*sub, *kind))?.legs.get(event).map(Box::as_ref)
    }

    pub(super) fn open_leg_mut(&mut self, leg: LegId) -> Option<&mut OpenLeg> {
        let (sub, kind, event) = *self.legs.get(&leg)?;
        self.tracks.get_mut(&(sub, kind))?.legs.get_mut(&event).map(Box::as_mut)
    }

    /// The lane that a leg waits in goes on: under another name than its claim's perhaps (law W3).
    pub(super) fn touch_leg(&mut self, leg: LegId) {
        if let Some((sub, ..)) = self.legs.get(&leg) {
            self.touch_sub(*sub);
        }
    }

    pub(super) fn forget_leg(&mut self, leg: LegId) {
        let Some((sub, kind, event)) = self.legs.remove(&leg) else {
            return;
        };
        let Some(track) = self.tracks.get_mut(&(sub, kind)) else {
            return;
        };
        if track.legs.remove(&event).is_some()
            && let Some(channel) = self.channels.get_mut(track.lane.channel())
        {
            channel.held = channel.held.saturating_sub(1);
        }
        self.touched.insert(track.lane.clone());
        let is_empty = track.legs.is_empty();
        self.rank((sub, kind));
        if is_empty {
            self.tracks.remove(&(sub, kind));
            let other = match kind {
                LegKind::Ping => LegKind::Wake,
                LegKind::Wake => LegKind::Ping,
            };
            if !self.tracks.contains_key(&(sub, other)) {
                self.has_heard(sub);
                let gone = self.subs.remove(&sub);
                if let Some(state) = gone.and_then(|sub| self.boards.get_mut(&sub.board)) {
                    state.unlooked.remove(&sub);
                }
            }
        }
    }

    pub(super) fn forget_sub(&mut self, sub: SubscriptionId) {
        let legs: BTreeSet<LegId> = [LegKind::Ping, LegKind::Wake]
            .iter()
            .filter_map(|kind| self.tracks.get(&(sub, *kind)))
            .flat_map(|track| track.legs.values())
            .filter(|open| !open.bound)
            .map(|open| open.leg.id)
            .collect();
        for leg in legs {
            self.forget_leg(leg);
        }
    }

    pub(super) fn touch_board(&mut self, board: BoardId) {
        let subs = self.subs.iter().filter(|(_, sub)| sub.board == board);
        let subs: Vec<SubscriptionId> = subs.map(|(id, _)| *id).collect();
        for sub in subs {
            self.touch_sub(sub);
        }
    }

    pub(super) fn touch_sub(&mut self, sub: SubscriptionId) {
        for kind in [LegKind::Ping, LegKind::Wake] {
            if let Some(track) = self.tracks.get(&(sub, kind)) {
                self.touched.insert(track.lane.clone());
            }
        }
    }
}
