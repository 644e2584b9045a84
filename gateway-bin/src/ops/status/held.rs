//! Why a delivery is not on its way yet, as far as ledger and boards show it from outside.

use std::collections::HashMap;

use kanban_notify::{
    engine::Lane,
    ids::ChannelName,
    message::Destination,
    ownership,
    policy::{Policy, World},
    record::WAKE_BUDGET_WINDOW,
    session::Aliases,
    time::Timestamp,
};
use kanban_store::ledger::operator::DeadLeg;

use super::{Paused, Status, deliveries::Known};
use crate::ops::time::Moment;

/// What may hold a delivery back.
pub(super) struct Holds<'a> {
    status: &'a Status,
    policy: &'a Policy,
    world: &'a World,
    now: i64,
    aliases: Aliases,
    /// When each session was woken in the last hour, ascending.
    wakes: HashMap<(String, String), Vec<i64>>,
    /// The first delivery that waits, by subscription and kind: order is kept within those (law D4).
    heads: HashMap<(i64, &'a str), &'a DeadLeg>,
    lanes: HashMap<&'a str, &'a str>,
}

impl<'a> Holds<'a> {
    /// Everything but what waits is in `status` already.
    pub(super) fn new(
        status: &'a Status,
        known: &'a Known,
        policy: &'a Policy,
        world: &'a World,
    ) -> Self {
        let mut aliases = Aliases::default();
        for (channel, from, to) in &known.aliases {
            aliases.learn(&ChannelName(channel.clone()), from, to);
        }
        let mut wakes: HashMap<_, Vec<i64>> = HashMap::new();
        for wake in &known.wakes {
            wakes.entry((wake.channel.clone(), wake.session.clone())).or_default().push(wake.at);
        }
        let mut heads: HashMap<_, &DeadLeg> = HashMap::new();
        for leg in &known.waiting {
            let head = heads.entry((leg.subscription, leg.kind.as_str())).or_insert(leg);
            if leg.event < head.event {
                *head = leg;
            }
        }
        let lanes = status.lanes.iter().map(|lane| (&*lane.lane, &*lane.state)).collect();
        let now = kanban_store::ledger::now();
        Self { status, policy, world, now, aliases, wakes, heads, lanes }
    }

    /// What a delivery waits for, in words.
    pub(super) fn by(&self, leg: &DeadLeg, theirs: bool) -> String {
        let is_wake = leg.kind == "wake";
        let channel = ownership::channel(&leg.platform, is_wake, &leg.profile);
        let at = |micros: i64| Moment::from_micros(micros);
        if let Some(board) = self.troubled(&leg.board) {
            return format!("its board is not delivered from: {board}");
        }
        if self.status.instances.is_empty() {
            return "no process delivers".to_owned();
        }
        if theirs {
            return "a running Hermes serves its row now; it is only watched".to_owned();
        }
        if !self.world.channels.contains_key(&channel) {
            return format!("there is no channel {channel}");
        }
        if let Some(pause) = self.rest(&channel) {
            return format!("its channel rests until {}: {}", pause.until, pause.reason);
        }
        let head = self.heads.get(&(leg.subscription, leg.kind.as_str()));
        if let Some(head) = head.filter(|head| head.id != leg.id && head.due_at > self.now) {
            let (id, due) = (head.id, at(head.due_at));
            return format!("it comes after delivery {id}, which is tried again at {due}");
        }
        if leg.due_at > self.now {
            return format!("it is tried again at {}", at(leg.due_at));
        }
        let lane = self.lane(leg, channel, is_wake);
        match self.lanes.get(lane.name().as_str()) {
            Some(&"unknown") => {
                return "the outcome of the last message there is being found out".to_owned();
            }
            Some(_) => return "another message is under way there".to_owned(),
            None => {}
        }
        if let Some(used_up) = self.budget(&lane) {
            return used_up;
        }
        let prefix = format!("{} ", lane.channel());
        let busy = self.lanes.keys().filter(|name| name.starts_with(&prefix)).count();
        if busy >= self.policy.concurrency {
            let others = if busy == 1 { "other is" } else { "others are" };
            return format!("{busy} {others} under way on its channel, the most at a time");
        }
        let turn =
            if is_wake { ", unless a turn runs in its session: that is waited for" } else { "" };
        format!("it is about to be sent{turn}")
    }

    /// When a delivery may be tried: not before its channel's rest is over.
    pub(super) fn due(&self, leg: &DeadLeg, channel: &ChannelName) -> Moment {
        let due = Moment::from_micros(leg.due_at);
        self.rest(channel).map_or(due, |pause| due.max(pause.until))
    }

    fn rest(&self, channel: &ChannelName) -> Option<&Paused> {
        let mut pauses = self.status.pauses.iter();
        pauses.find(|one| one.channel == channel.as_str() && one.until.micros() > self.now)
    }

    fn troubled(&self, slug: &str) -> Option<&str> {
        let board = self.status.boards.iter().find(|board| board.slug == slug)?;
        (board.state != "ok").then_some(&*board.state)
    }

    fn lane(&self, leg: &DeadLeg, channel: ChannelName, is_wake: bool) -> Lane {
        Lane::new(if is_wake {
            let session = self.aliases.resolve(&channel, &leg.chat);
            Destination::Session { channel, session }
        } else {
            Destination::Chat { channel, chat: leg.chat.clone(), thread: leg.thread.clone() }
        })
    }

    /// The budget of a session that is used up (law W5).
    fn budget(&self, lane: &Lane) -> Option<String> {
        let Destination::Session { channel, session } = lane.destination() else { return None };
        let wakes = self.wakes.get(&(channel.as_str().to_owned(), session.clone()))?;
        let policy = &self.policy.wake;
        let after = |at: i64, span| Timestamp::from_micros(at).after(span).micros();
        let most = usize::try_from(policy.max_per_hour.max(1)).unwrap_or(usize::MAX);
        let first = wakes.len().checked_sub(most).and_then(|index| wakes.get(index));
        if let Some(free) = first.map(|at| after(*at, WAKE_BUDGET_WINDOW))
            && free > self.now
        {
            let free = Moment::from_micros(free);
            return Some(format!(
                "its session was woken {most} times within an hour (wake.max_per_hour); the next wake is at {free}"
            ));
        }
        let free = after(*wakes.last()?, policy.min_interval);
        (free > self.now).then(|| {
            let free = Moment::from_micros(free);
            format!(
                "its session was woken just now (wake.min_interval); the next wake is at {free}"
            )
        })
    }
}
