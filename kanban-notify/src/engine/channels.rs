//! Channels: how much they can take, pauses, probes (laws D6, D8).

use std::time::Duration;

use super::{
    Command, Engine, Notice,
    places::ChannelState,
    state::{Lane, Phase, Timer},
};
use crate::{
    backoff,
    ids::ChannelName,
    record::Pause,
    time::Timestamp,
    verdict::{Detail, Fault, Verdict},
};

/// First and longest rest of a channel that cannot be reached. Where its server's process can be seen,
/// its start ends the rest.
const UNREACHABLE_PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(450));

/// First and longest time between two probes of a refused credential.
const PROBE_PACE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(900));

/// The first rest after a credential was refused to a lane.
pub(super) fn refused(lane: &Lane, reason: &Detail, now: Timestamp) -> Pause {
    Pause {
        channel: lane.channel().clone(),
        until: now.after(backoff::pause(PROBE_PACE, 1, lane.seed(), None)),
        reason: reason.clone(),
        credential: true,
    }
}

impl Engine {
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
        for claim in self.claims.values_mut().filter(|claim| claim.lane.channel() == name) {
            claim.seen_down |= matches!(claim.phase, Phase::Unknown | Phase::Looking);
        }
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
        now.after(backoff::pause(UNREACHABLE_PACE, missed, backoff::seed(name.as_str()), None))
    }

    /// A channel rested when this process was started: it is tried at once, by one at a time, and if
    /// nobody is there its rests go on as long as they had become.
    pub(super) fn rested_before(&mut self, pause: Pause, now: Timestamp) {
        let channel = self.channel_mut(&pause.channel);
        channel.unreachable = backoff::failures(UNREACHABLE_PACE, pause.until.since(now));
        channel.told = true;
        self.out.push(Command::Lift(pause.channel.clone()));
        let Pause { channel, until, reason, credential } = pause;
        self.out.push(Command::Tell(Notice::Paused { channel, until, reason, credential }));
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

    /// A channel's credential was refused before this process was started: people are told again only if
    /// the probe, which comes first, is refused too.
    pub(super) fn refused_before(&mut self, pause: Pause) {
        let name = pause.channel.clone();
        let (until, reason) = (pause.until, pause.reason.clone());
        let channel = self.channel_mut(&name);
        channel.pause = Some(pause);
        channel.told = true;
        channel.refused_before = true;
        self.set_timer(Timer::Channel(name.clone()), until);
        self.out.push(Command::Tell(Notice::RefusedBefore { channel: name, reason }));
    }

    /// A look's credential was refused: the channel rests as after a refused wake (law D8).
    pub(super) fn look_refused(&mut self, lane: &Lane, reason: &Detail, now: Timestamp) {
        self.reached(lane.channel());
        let pause = refused(lane, reason, now);
        self.out.push(Command::Rest(pause.clone()));
        self.pause(pause);
    }

    /// Stops using a channel for a while (law D8).
    pub(super) fn pause(&mut self, pause: Pause) {
        let name = pause.channel.clone();
        let channel = self.channel_mut(&name);
        let (until, reason, credential) = (pause.until, pause.reason.clone(), pause.credential);
        let refused = channel.pause.as_ref().is_some_and(|old| old.credential);
        let longer = channel.pause.as_ref().is_none_or(|old| old.until < until);
        if longer {
            channel.pause = Some(pause);
            let first = !std::mem::replace(&mut channel.told, true) || credential && !refused;
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
            channel.refused_before = false;
            // Before any intent: the ledger still says until when the channel was to rest.
            self.out.push(Command::Lift(name.clone()));
            self.resume(name);
            return;
        }
        channel.failed_probes = channel.failed_probes.saturating_add(1);
        let seed = backoff::seed(name.as_str());
        let until = now.after(backoff::pause(PROBE_PACE, channel.failed_probes, seed, None));
        if let Some(pause) = &mut channel.pause {
            pause.until = until;
            if let Verdict::Permanent { fault: Fault::Credential, detail } = verdict {
                pause.reason = detail.clone();
                if std::mem::take(&mut channel.refused_before) {
                    let Pause { channel, until, reason, credential } = pause.clone();
                    let notice = Notice::Paused { channel, until, reason, credential };
                    self.out.push(Command::Tell(notice));
                }
            }
            self.out.push(Command::Rest(pause.clone()));
        }
        self.set_timer(Timer::Channel(name.clone()), until);
    }

    fn resume(&mut self, name: &ChannelName) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.pause = None;
            // Where nobody was there, somebody has to answer first.
            if channel.unreachable == 0 && std::mem::take(&mut channel.told) {
                self.out.push(Command::Tell(Notice::Resumed { channel: name.clone() }));
            }
        }
        let lanes = self.lanes.keys().filter(|lane| lane.channel() == name);
        self.touched.extend(lanes.cloned());
    }
}
