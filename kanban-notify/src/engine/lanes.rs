//! From due legs to intents: order, exclusion, budgets, and the look before a wake (laws D4, D6, W4, W5).

use std::{sync::Arc, time::Duration};

use super::{
    Command, Engine,
    places::Oldest,
    ranks::Rank,
    state::{Draft, Hold, LONGEST_PAUSE, Lane, OpenLeg, Timer},
};
use crate::{
    artifacts::{self, Take},
    backoff,
    history::SessionView,
    ids::{BoardId, EventId, LegId, SubscriptionId},
    key::Member,
    leg::LegKind,
    message::{Fact, Message, Span},
    ports::{LookError, Wording},
    record::{Intent, WAKE_BUDGET_WINDOW},
    subscription::Life,
    text::{files, ping, wake},
    time::Timestamp,
    verdict::Detail,
};

/// First and longest pause between two looks at a busy session.
const LOOK_PACE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// Looks that may fail before a wake is sent without having seen the session.
const FAILED_LOOKS: u32 = 3;

impl Engine {
    /// Words messages to people in another way than ours.
    #[must_use]
    pub fn with_wording(mut self, wording: Arc<dyn Wording>) -> Self {
        self.wording = Some(wording);
        self
    }

    /// Lets a lane go on, as far as it can now.
    pub(super) fn try_lane(&mut self, lane: Lane, now: Timestamp) {
        if let Some(oldest) = self.ready(&lane, now) {
            self.line_up_lane(lane, oldest);
        }
    }

    /// A place is there for a lane: it takes it, if it still has something to send.
    pub(super) fn go(&mut self, lane: Lane, now: Timestamp) {
        let Some(ability) = self.world.channels.get(lane.channel()).copied() else {
            return;
        };
        if self.ready(&lane, now).is_none() {
            return;
        }
        self.take_place(lane.channel());
        if lane.is_session() && ability.readable {
            let Some(state) = self.lanes.get_mut(&lane) else {
                return;
            };
            state.hold = Hold::Looking;
            let reference = self.failed.get(&lane).cloned();
            self.out.push(Command::Look { lane, claim: None, reference });
        } else {
            self.draft(lane, now);
        }
    }

    /// The oldest event that a lane may send now; `None` when there is none, or not yet.
    fn ready(&mut self, lane: &Lane, now: Timestamp) -> Option<Oldest> {
        let state = self.lanes.get(lane)?;
        if self.stopping || state.hold != Hold::Free {
            return None;
        }
        if state.tracks.is_empty() {
            self.lanes.remove(lane);
            return None;
        }
        let not_before = state.not_before;
        let (due, oldest) = match self.first_due(lane, now) {
            Ok(open) => (now, Some((open.facts.at, open.leg.event))),
            Err(due) => (due?, None),
        };
        let at = due.max(not_before).max(self.budget(lane, now));
        if at > now {
            self.set_timer(Timer::Lane(lane.clone()), at);
            return None;
        }
        self.world.channels.get(lane.channel())?;
        oldest
    }

    /// The first leg that a lane may send now; otherwise when it will have one, if ever.
    fn first_due(&self, lane: &Lane, now: Timestamp) -> Result<&OpenLeg, Option<Timestamp>> {
        let mut soonest = None;
        for rank in self.lanes.get(lane).into_iter().flat_map(|state| &state.tracks) {
            if let Some(open) = self.head(&rank.track) {
                let due = due_at(open, now);
                if due <= now {
                    return Ok(open);
                }
                soonest = Some(soonest.map_or(due, |soonest: Timestamp| soonest.min(due)));
            }
        }
        Err(soonest)
    }

    /// The head of a track, when it is claimable: order within a track is never broken (law D4).
    fn head(&self, track: &(SubscriptionId, LegKind)) -> Option<&OpenLeg> {
        let sub = self.subs.get(&track.0)?;
        let (board, life) = (sub.board, sub.subscription.life);
        if !self.boards.get(&board)?.usable || !self.is_looked_at(track.0) {
            return None;
        }
        let (_, open) = self.tracks.get(track)?.legs.first_key_value()?;
        // What Hermes serves now is not ours to send, unless an operator asked for it (law O1).
        let theirs = life == Life::Theirs && !open.leg.tally.replay;
        (!open.bound && !theirs && open.leg.state.is_claimable()).then_some(open)
    }

    /// Whether a subscription's row was held against what it has open (laws D10, O3, S2).
    pub(super) fn is_looked_at(&self, sub: SubscriptionId) -> bool {
        let board = self.subs.get(&sub).and_then(|sub| self.boards.get(&sub.board));
        board.is_some_and(|state| state.checked && !state.unlooked.contains(&sub))
    }

    /// When the session may be woken again (law W5).
    fn budget(&mut self, lane: &Lane, now: Timestamp) -> Timestamp {
        if !lane.is_session() {
            return now;
        }
        let policy = &self.policy.wake;
        let wakes = self.wakes.within(lane, WAKE_BUDGET_WINDOW, now);
        let mut at = now;
        if let Some(last) = wakes.last() {
            at = at.max(last.after(policy.min_interval));
        }
        let most = usize::try_from(policy.max_per_hour.max(1)).unwrap_or(usize::MAX);
        if wakes.len() >= most
            && let Some(oldest) = wakes.get(wakes.len().saturating_sub(most))
        {
            at = at.max(oldest.after(WAKE_BUDGET_WINDOW));
        }
        at
    }

    /// What a look before a wake showed (laws W3, W4, W8).
    pub(super) fn looked_before(
        &mut self,
        lane: Lane,
        result: Result<SessionView, LookError>,
        now: Timestamp,
    ) {
        // A claim that was taken over in the meantime holds the lane: the look's place is given back.
        let looking = self.lanes.get_mut(&lane).filter(|state| state.hold == Hold::Looking);
        let Some(state) = looking else {
            return self.release_place(lane.channel());
        };
        state.hold = Hold::Free;
        if self.stopping {
            // Nothing is begun any more.
            return self.release_place(lane.channel());
        }
        let busy_wait = self.policy.wake.busy_wait;
        let view = match result {
            Ok(view) => view,
            Err(LookError::Unsupported) => return self.draft(lane, now),
            Err(LookError::Unreachable(detail)) => {
                self.look_missed(lane.channel(), &detail, now);
                self.release_place(lane.channel());
                self.give_up(&lane, &detail, now);
                self.touched.insert(lane);
                return;
            }
            Err(LookError::Credential(detail)) => {
                self.look_refused(&lane, &detail, now);
                self.release_place(lane.channel());
                self.touched.insert(lane);
                return;
            }
            Err(LookError::Failed(_)) => {
                state.looks = state.looks.saturating_add(1);
                // After a failed attempt there is nothing to be spared by looking again and again.
                if state.looks > FAILED_LOOKS || state.failing {
                    return self.draft(lane, now);
                }
                let pause = backoff::pause(LOOK_PACE, state.looks, lane.seed(), None);
                return self.rest(&lane, now.after(pause));
            }
        };
        self.reached(lane.channel());
        if let Some(moved) = self.follow(&lane, &view) {
            // The session goes on under another name: its own lane decides.
            self.release_place(lane.channel());
            self.touched.insert(moved);
            return;
        }
        if !view.exists && !self.policy.wake.create_unknown_session {
            self.release_place(lane.channel());
            return self.park_due(&lane, &Detail::new("the server does not know the session"), now);
        }
        let Some(state) = self.lanes.get_mut(&lane) else {
            return;
        };
        let up_since = self.world.up_since.get(lane.channel()).copied().unwrap_or_default();
        let running = view.open_since.is_some_and(|since| {
            !view.open_is_reference
                && since >= up_since
                && now.since(since) < self.policy.wake.longest_turn
        });
        if running {
            let since = *state.busy_since.get_or_insert(now);
            if now.since(since) < busy_wait {
                state.looks = state.looks.saturating_add(1);
                let pause = backoff::pause(LOOK_PACE, state.looks, lane.seed(), None);
                return self.rest(&lane, now.after(pause).min(since.after(busy_wait)));
            }
        }
        self.draft(lane, now);
    }

    /// Frees the lane's slot and tries it again at `at`.
    fn rest(&mut self, lane: &Lane, at: Timestamp) {
        if let Some(state) = self.lanes.get_mut(lane) {
            state.not_before = at;
            state.round = None;
        }
        self.release_place(lane.channel());
        self.set_timer(Timer::Lane(lane.clone()), at);
    }

    /// The legs that a claim for this lane may carry now, oldest first.
    ///
    /// A chat gets one event a message (law D5); a session as many as there are (law W5), each
    /// subscription's in its order.
    pub(super) fn gather(&self, lane: &Lane, now: Timestamp) -> Vec<LegId> {
        if !lane.is_session() {
            return self.first_due(lane, now).into_iter().map(|open| open.leg.id).collect();
        }
        let Some(state) = self.lanes.get(lane) else {
            return Vec::new();
        };
        let mut runs: Vec<Vec<&OpenLeg>> = Vec::new();
        for Rank { track, .. } in &state.tracks {
            if self.head(track).is_none() {
                continue;
            }
            let Some(track) = self.tracks.get(track) else {
                continue;
            };
            let run = track.legs.values().take_while(|open| {
                !open.bound && open.leg.state.is_claimable() && due_at(open, now) <= now
            });
            runs.push(run.map(Box::as_ref).collect());
        }
        let mut legs: Vec<(Timestamp, BoardId, EventId, &OpenLeg)> = Vec::new();
        for run in runs {
            // A board's clock may step back; the order within a subscription is that of its events.
            let mut at = Timestamp::default();
            for open in run {
                at = at.max(open.facts.at);
                let board = self.subs.get(&open.leg.subscription).map_or(BoardId(0), |s| s.board);
                legs.push((at, board, open.leg.event, open));
            }
        }
        legs.sort_by_key(|(at, board, event, _)| (*at, *board, *event));
        let Some((.., first)) = legs.first() else {
            return Vec::new();
        };
        if first.leg.tally.alone {
            return vec![first.leg.id];
        }
        let epoch_marks = first.leg.tally.repeat;
        legs.iter()
            // One that must travel alone ends the list: what is behind it may be of its subscription.
            .take_while(|(.., open)| !open.leg.tally.alone && open.leg.tally.repeat == epoch_marks)
            .map(|(.., open)| open.leg.id)
            .collect()
    }

    /// Forms an intent of what is due, or lets the lane rest when there is nothing any more.
    fn draft(&mut self, lane: Lane, now: Timestamp) {
        let Some(intent) = self.intent(&lane, now) else {
            self.release_place(lane.channel());
            if let Some(state) = self.lanes.get_mut(&lane) {
                state.hold = Hold::Free;
            }
            if let Err(Some(due)) = self.first_due(&lane, now) {
                self.set_timer(Timer::Lane(lane), due);
            }
            return;
        };
        if let Some(state) = self.lanes.get_mut(&lane) {
            state.hold = Hold::Drafted;
            state.busy_since = None;
            state.looks = 0;
        }
        for leg in &intent.legs {
            if let Some(open) = self.open_leg_mut(*leg) {
                open.bound = true;
            }
        }
        self.drafts.insert(intent.draft, Draft { lane, legs: intent.legs.clone() });
        self.out.push(Command::Intend(intent));
    }

    fn intent(&mut self, lane: &Lane, now: Timestamp) -> Option<Intent> {
        let ids = self.gather(lane, now);
        let mut events = Vec::new();
        let mut members = Vec::new();
        for id in &ids {
            let (sub_id, kind, event) = *self.legs.get(id)?;
            let sub = self.subs.get(&sub_id)?;
            let open = self.tracks.get(&(sub_id, kind))?.legs.get(&event)?;
            events.push((open.facts.clone(), sub.slug.clone(), open.leg.tally));
            members.push(Member {
                board: sub.board,
                incarnation: sub.incarnation,
                subscription: sub_id,
                event,
                kind,
                epoch: open.leg.tally.epoch,
            });
        }
        let (first_facts, first_slug, tally) = events.first()?;
        let destination = lane.destination();
        let sealed = |named: usize| {
            self.identity.seal(destination, members.get(..named).unwrap_or(&members))
        };
        let mut seal = None;
        let (spans, named) = if lane.is_session() {
            let told: Vec<_> =
                events.iter().map(|(facts, slug, _)| (facts.as_ref(), slug.as_ref())).collect();
            let reference = |named| seal.insert(sealed(named)).reference.clone();
            let wake = wake::text(&told, reference, tally.repeat, self.policy.wake.max_bytes);
            (vec![Span::Ours(wake.text)], wake.named)
        } else {
            let worded = self.wording.as_ref();
            let worded = worded.and_then(|w| w.ping(lane.channel(), first_facts, first_slug));
            let body = worded.unwrap_or_else(|| ping::body(first_facts, first_slug));
            let mut spans = ping::marked(body, tally.repeat, tally.parent);
            spans.extend(files::more(first_facts, self.policy.artifacts.take));
            (spans, 1)
        };
        let seal = seal.unwrap_or_else(|| sealed(named));
        let take = if lane.is_session() { Take::Off } else { self.policy.artifacts.take };
        let wanted = artifacts::wanted(first_facts, take);
        let facts = events.iter().take(named).map(|(facts, slug, _)| Fact {
            board: slug.to_string(),
            task: facts.task.clone(),
            event: facts.event.0,
            kind: facts.kind.name(),
        });
        let message = Message {
            wanted,
            spans,
            facts: facts.collect(),
            possible_repeat: tally.repeat,
            ..Message::default()
        };
        let begun = ids.first().and_then(|leg| self.open_leg(*leg)?.begun.clone());
        let draft = self.next_draft;
        self.next_draft = self.next_draft.wrapping_add(1);
        Some(Intent {
            draft,
            lane: lane.name(),
            destination: destination.clone(),
            legs: ids.into_iter().take(named).collect(),
            tallies: events.iter().take(named).map(|(.., tally)| *tally).collect(),
            key: seal.key,
            reference: if lane.is_session() { seal.reference } else { String::new() },
            message,
            body: begun.unwrap_or_default(),
            at: now,
        })
    }
}

/// When a leg may be claimed.
fn due_at(open: &OpenLeg, now: Timestamp) -> Timestamp {
    let at = open.leg.due_at;
    if at > now.after(LONGEST_PAUSE) { now } else { at }
}
