//! Channels: places among the requests in flight, pauses, probes (laws D6, D8).

use std::time::Duration;

use super::{
    Command, Engine, Notice,
    outcome::PROBE_PACE,
    state::{ChannelState, Lane, Timer},
};
use crate::{
    backoff,
    ids::ChannelName,
    record::Pause,
    time::Timestamp,
    verdict::{Detail, Verdict},
};

/// First and longest rest of a channel that cannot be reached. Where its server's process can be seen,
/// its start ends the rest.
const UNREACHABLE_PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(450));

impl Engine {
    /// Takes a place among the requests in flight (law D6); false when the lane has to wait.
    pub(super) fn take_slot(&mut self, lane: &Lane, now: Timestamp) -> bool {
        let total = self.in_flight();
        let all_full = total >= self.policy.concurrency_total;
        let limit = self.policy.concurrency;
        let channel =
            self.channels.entry(lane.channel().clone()).or_insert_with(|| ChannelState::new(limit));
        if let Some(pause) = &channel.pause {
            let until = pause.until;
            if until > now || pause.credential {
                channel.waiting.insert(lane.clone());
                let name = lane.channel().clone();
                if !channel.probing {
                    self.set_timer(Timer::Channel(name), until);
                }
                return false;
            }
            channel.pause = None;
        }
        if all_full || channel.room() == 0 {
            channel.waiting.insert(lane.clone());
            return false;
        }
        channel.in_flight = channel.in_flight.saturating_add(1);
        true
    }

    /// Gives the place back, for whoever waits for one.
    pub(super) fn release_slot(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.in_flight = channel.in_flight.saturating_sub(1);
        }
    }

    /// Lets as many lanes go on as there are places for. One that has no use for its place leaves it to
    /// the next: nobody waits beside a free one. Answers whether there was anybody.
    pub(super) fn call_waiting(&mut self) -> bool {
        let mut left = self.policy.concurrency_total.saturating_sub(self.in_flight());
        // The total may have been what kept others waiting, so that each channel is looked at.
        for channel in self.channels.values_mut().filter(|channel| channel.pause.is_none()) {
            for _ in 0..channel.room().min(left) {
                let Some(lane) = channel.waiting.pop_first() else {
                    break;
                };
                left = left.saturating_sub(1);
                self.touched.insert(lane);
            }
        }
        !self.touched.is_empty()
    }

    /// Concurrency follows what the receiver can take (law D6).
    pub(super) fn adapt(&mut self, name: &ChannelName, verdict: &Verdict) {
        let most = self.policy.concurrency.max(1);
        if let Some(channel) = self.channels.get_mut(name) {
            match verdict {
                Verdict::Busy { .. } => channel.limit = (channel.limit / 2).max(1),
                Verdict::Delivered(_) => channel.limit = channel.limit.saturating_add(1).min(most),
                _ => {}
            }
        }
        match verdict {
            Verdict::Unreachable { .. } => self.missed_channel(name),
            Verdict::Unknown { .. } => {}
            _ => self.reached(name),
        }
    }

    /// Nobody was there. Attempts that were under way at the same time count once.
    fn missed_channel(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name)
            && channel.pause.is_none()
        {
            channel.unreachable = channel.unreachable.saturating_add(1);
        }
    }

    /// Somebody is there again: everything goes on.
    pub(super) fn reached(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name)
            && std::mem::take(&mut channel.unreachable) > 0
        {
            self.out.push(Command::Lift(name.clone()));
            self.resume(name);
        }
    }

    /// How long a channel rests that could not be reached (law D8): nothing that waits is charged for it.
    pub(super) fn unreachable_until(&self, name: &ChannelName, now: Timestamp) -> Timestamp {
        let missed = self.channels.get(name).map_or(1, |channel| channel.unreachable.max(1));
        now.after(backoff::pause(UNREACHABLE_PACE, missed, u64::from(missed), None))
    }

    /// A look found nobody there.
    pub(super) fn look_missed(&mut self, name: &ChannelName, reason: &Detail, now: Timestamp) {
        self.missed_channel(name);
        let until = self.unreachable_until(name, now);
        let pause =
            Pause { channel: name.clone(), until, reason: reason.clone(), credential: false };
        self.out.push(Command::Rest(pause.clone()));
        self.pause(pause);
    }

    /// Stops using a channel for a while (law D8).
    pub(super) fn pause(&mut self, pause: Pause) {
        let limit = self.policy.concurrency;
        let name = pause.channel.clone();
        let channel = self.channels.entry(name.clone()).or_insert_with(|| ChannelState::new(limit));
        let (until, reason, credential) = (pause.until, pause.reason.clone(), pause.credential);
        let longer = channel.pause.as_ref().is_none_or(|old| old.until < until);
        if longer {
            channel.pause = Some(pause);
            let first = credential || channel.unreachable <= 1;
            self.set_timer(Timer::Channel(name.clone()), until);
            if first {
                let notice = Notice::Paused { channel: name, until, reason, credential };
                self.out.push(Command::Tell(notice));
            }
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
            // The ledger's time may be that of a clock that was ahead.
            self.out.push(Command::Lift(name.clone()));
            self.resume(name);
        }
    }

    /// Probes every refused credential now: it may be another one than before.
    pub(super) fn probe_refused(&mut self) {
        let refused = |channel: &ChannelState| {
            !channel.probing && channel.pause.as_ref().is_some_and(|pause| pause.credential)
        };
        let refused = self.channels.iter().filter(|(_, channel)| refused(channel));
        let names: Vec<ChannelName> = refused.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.set_timer(Timer::Channel(name), Timestamp::default());
        }
    }

    /// Tries every channel now that could not be reached: its server may have been started.
    pub(super) fn try_unreachable(&mut self) {
        let missed = self.channels.iter().filter(|(_, channel)| channel.unreachable > 0);
        let names: Vec<ChannelName> = missed.map(|(name, _)| name.clone()).collect();
        for name in names {
            // Before any intent: the ledger still says until when the channel was to rest.
            self.out.push(Command::Lift(name.clone()));
            self.resume(&name);
        }
    }

    pub(super) fn probed(&mut self, name: &ChannelName, verdict: &Verdict, now: Timestamp) {
        let Some(channel) = self.channels.get_mut(name) else {
            return;
        };
        channel.probing = false;
        if matches!(verdict, Verdict::Delivered(_)) {
            channel.failed_probes = 0;
            // Before any intent: the ledger still says until when the channel was to rest.
            self.out.push(Command::Lift(name.clone()));
            self.resume(name);
            return;
        }
        channel.failed_probes = channel.failed_probes.saturating_add(1);
        let seed = u64::from(channel.failed_probes);
        let until = now.after(backoff::pause(PROBE_PACE, channel.failed_probes, seed, None));
        if let Some(pause) = &mut channel.pause {
            pause.until = until;
            self.out.push(Command::Rest(pause.clone()));
        }
        self.set_timer(Timer::Channel(name.clone()), until);
    }

    fn resume(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.pause = None;
            self.touched.append(&mut channel.waiting);
            // Where nobody was there, somebody has to answer first.
            if channel.unreachable == 0 {
                self.out.push(Command::Tell(Notice::Resumed { channel: name.clone() }));
            }
        }
        let lanes = self.lanes.keys().filter(|lane| lane.channel() == name);
        self.touched.extend(lanes.cloned());
    }
}
