//! Sessions that go on under other names: what waits for them moves along (law W3).

use super::{
    Command, Engine, Notice,
    state::{Hold, Lane, LaneState},
};
use crate::{
    history::SessionView, ids::ChannelName, message::Destination, record::WAKE_BUDGET_WINDOW,
    time::Timestamp,
};

impl Engine {
    /// Forgets when sessions were woken, and what failed there, once neither counts any more (laws W4, W5).
    pub(super) fn forget_sessions(&mut self, now: Timestamp) {
        let span = WAKE_BUDGET_WINDOW.max(self.policy.wake.longest_turn);
        self.wakes.forget(span, now);
        self.failed.retain(|lane, _| self.wakes.knows(lane));
    }

    /// Learns a session's new name and moves the lane's tracks there; the new lane, if it moved.
    pub(super) fn follow(&mut self, lane: &Lane, view: &SessionView) -> Option<Lane> {
        let Destination::Session { channel, session } = lane.destination() else {
            return None;
        };
        let to = view.session.as_deref().filter(|to| to != session)?;
        // Also where another instance learnt it first, while something here was bound to the old name.
        self.learn_alias(channel, session, to);
        let (channel, session) = (channel.clone(), self.aliases.resolve(channel, session));
        let moved = Lane::new(Destination::Session { channel, session });
        if moved == *lane {
            return None;
        }
        self.move_tracks(lane, &moved);
        Some(moved)
    }

    pub(super) fn learn_alias(&mut self, channel: &ChannelName, from: &str, to: &str) -> bool {
        let learnt = self.aliases.learn(channel, from, to);
        if learnt {
            let (from, to) = (from.to_owned(), to.to_owned());
            self.out.push(Command::Tell(Notice::Rotated { from, to }));
        }
        learnt
    }

    /// Moves every track with nothing bound from one lane to another.
    pub(super) fn move_tracks(&mut self, from: &Lane, to: &Lane) {
        let Some(state) = self.lanes.get_mut(from) else {
            return;
        };
        let all = std::mem::take(&mut state.tracks);
        let (bound, free): (Vec<_>, Vec<_>) = all.into_iter().partition(|rank| {
            let legs = self.tracks.get(&rank.track).map(|track| &track.legs);
            legs.is_some_and(|legs| legs.values().any(|open| open.bound))
        });
        if let Some(state) = self.lanes.get_mut(from) {
            state.tracks.extend(bound);
        }
        let target = self.lanes.entry(to.clone()).or_insert_with(LaneState::new);
        for rank in free {
            target.tracks.insert(rank);
            if let Some(track) = self.tracks.get_mut(&rank.track) {
                track.lane = to.clone();
            }
        }
        if let Some(reference) = self.failed.remove(from) {
            self.failed.insert(to.clone(), reference);
        }
        self.touched.insert(to.clone());
    }

    /// The lane that a claim of another instance holds: that of the session as it is called now, unless
    /// a claim holds that already (law W3).
    pub(super) fn lane_of_claim(&self, destination: &Destination) -> Lane {
        let pinned = Lane::new(destination.clone());
        let Destination::Session { channel, session } = destination else {
            return pinned;
        };
        let session = self.aliases.resolve(channel, session);
        let now = Lane::new(Destination::Session { channel: channel.clone(), session });
        let held = |state: &LaneState| matches!(state.hold, Hold::Claimed(_));
        if self.lanes.get(&now).is_some_and(held) { pinned } else { now }
    }

    /// Moves what waits for a session or chat to its new name.
    pub(super) fn follow_alias(&mut self, channel: &ChannelName, from: &str) {
        let to = self.aliases.resolve(channel, from);
        let moved = |lane: &Lane| match lane.destination() {
            Destination::Chat { channel: on, chat, thread } if on == channel && chat == from => {
                let (channel, chat, thread) = (on.clone(), to.clone(), thread.clone());
                Some((lane.clone(), Lane::new(Destination::Chat { channel, chat, thread })))
            }
            _ => None,
        };
        // Chats move rarely, and each of their threads is a lane of its own.
        let chats: Vec<(Lane, Lane)> = match channel.is_api_server() {
            true => Vec::new(),
            false => self.lanes.keys().filter_map(moved).collect(),
        };
        for (old, new) in chats.into_iter().filter(|(old, new)| old != new) {
            self.move_tracks(&old, &new);
        }
        let lane = |session| Lane::new(Destination::Session { channel: channel.clone(), session });
        let (old, new) = (lane(from.to_owned()), lane(self.aliases.resolve(channel, from)));
        if old != new {
            self.move_tracks(&old, &new);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        engine::Input,
        key::Identity,
        policy::{Policy, World},
        record::{RecentWake, Work},
    };

    #[test]
    fn sessions_that_nobody_wakes_any_more_are_forgotten() {
        let identity = Identity::new("gateway".into(), &[1; 32]);
        let mut engine = Engine::new(Policy::default(), identity, World::default());
        let at = |second: i64| Timestamp::from_secs(1_000_000 + second);
        engine.handle(Input::Start, at(0));
        let wake = |session: &str, second| RecentWake {
            channel: ChannelName::api_server("default"),
            session: session.into(),
            at: at(second),
            failed: Some("r".into()),
        };
        let recent_wakes = vec![wake("old", 0), wake("new", 600)];
        engine.handle(Input::Work(Box::new(Work { recent_wakes, ..Work::default() })), at(600));
        assert_eq!((engine.wakes.len(), engine.failed.len()), (2, 2));
        engine.handle(Input::Tick, at(0).after(Duration::from_secs(3_600)));
        assert_eq!((engine.wakes.len(), engine.failed.len()), (1, 1));
    }
}
