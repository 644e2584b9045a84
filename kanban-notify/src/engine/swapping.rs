//! Where nothing that is held of a channel can go, others that wait have their turn (laws B6, D4).

use std::{cmp::Reverse, time::Duration};

use super::{
    Engine,
    state::{BoardState, Timer},
};
use crate::{
    ids::{ChannelName, SubscriptionId},
    leg::LegKind,
    time::Timestamp,
};

/// How often a channel lets go of some of what it holds: to fetch it again costs as much as at first.
const SWAP_PACE: Duration = Duration::from_secs(10);

impl Engine {
    /// Lets go of what cannot be sent for longest, where places are free and others wait: whoever is slow, or
    /// busy, or away, is in nobody else's way.
    pub(super) fn make_room(&mut self, now: Timestamp) {
        let looking = self.boards.values().any(|state| BoardState::unlooked(state) > 0);
        if self.stopping || self.loading || looking || !self.away.fetching.is_empty() {
            return;
        }
        let (most, least) = (self.away.most(), self.away.least_room());
        let mut full = Vec::new();
        for (name, channel) in &mut self.channels {
            let is_full = most.saturating_sub(channel.held) < least;
            if is_full && !channel.waiting.is_empty() && self.world.channels.contains_key(name) {
                let at = *channel.next_swap.get_or_insert(now.after(SWAP_PACE));
                let stuck = channel.has_room() && channel.lined_up() == 0;
                full.push((name.clone(), at, stuck, channel.held));
            } else {
                channel.next_swap = None;
            }
        }
        for (name, at, stuck, held) in full {
            if at > now {
                self.set_timer(Timer::Swap(name), at);
            } else if stuck {
                self.channel_mut(&name).next_swap = None;
                self.let_go(&name, held.saturating_sub(most.saturating_sub(least)));
            }
        }
    }

    /// Lets so many legs of a channel wait in the ledger again, behind the others.
    fn let_go(&mut self, name: &ChannelName, legs: usize) {
        let mut left = legs;
        for copy in self.last_to_go(name) {
            if left == 0 {
                return;
            }
            let before = self.held();
            self.forget_sub(copy);
            left = left.saturating_sub(before.saturating_sub(self.held()));
            self.away.waiting.insert(copy);
            self.channel_mut(name).waiting.push_back(copy);
        }
    }

    /// The copies for which nothing is under way and that need this channel alone; who goes last is first.
    fn last_to_go(&self, name: &ChannelName) -> Vec<SubscriptionId> {
        let mut copies = Vec::new();
        for (id, sub) in &self.subs {
            let tracks = [LegKind::Ping, LegKind::Wake].map(|kind| (*id, kind));
            let tracks = tracks.iter().filter_map(|key| Some((key, self.tracks.get(key)?)));
            let free = tracks.clone().all(|(key, track)| {
                let lane = self.lanes.get(&track.lane);
                // What was seen of a busy session is kept with the first that waits for it.
                let kept = lane
                    .filter(|lane| lane.busy_since.is_some())
                    .is_some_and(|lane| lane.tracks.first().is_some_and(|rank| rank.track == *key));
                track.lane.channel() == name && !kept && !track.legs.values().any(|leg| leg.bound)
            });
            // Whose board is being read may be in what is read; whose task is read on is heard of here.
            let needed = self.boards.get(&sub.board).is_some_and(|state| {
                state.busy || state.backlog.tasks.contains_key(&sub.subscription.key.task)
            });
            if !free || needed || tracks.clone().next().is_none() {
                continue;
            }
            let due = tracks.filter_map(|(_, track)| {
                self.timer_of.get(&Timer::Lane(track.lane.clone())).copied()
            });
            copies.push((due.min().unwrap_or(Timestamp::NEVER), *id));
        }
        copies.sort_unstable_by_key(|copy| Reverse(*copy));
        copies.into_iter().map(|(_, id)| id).collect()
    }
}
