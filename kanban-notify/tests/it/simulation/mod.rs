//! Random worlds: events, faults, crashes and restarts in any order (laws D1 to D10).

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::model::{
    board::ModelBoard,
    ledger::ModelLedger,
    receiver::{Fate, Receiver},
};
use kanban_notify::{
    engine::{Command, Engine, Input},
    event::Kind,
    ids::{BoardId, ChannelName, EventId, Incarnation},
    key::Identity,
    policy::{Ability, Policy, World},
    ports::Change,
    record::{BoardStart, Intent},
    subscription::SubKey,
    time::Timestamp,
};

mod neighbour;
mod worlds;

const BOARD: BoardId = BoardId(1);
/// Longer than any rest between two reads of a board.
const IDLE: Duration = Duration::from_secs(60);

struct Sim {
    now: Timestamp,
    seed: u64,
    random: u64,
    board: ModelBoard,
    ledger: ModelLedger,
    receiver: Receiver,
    policy: Policy,
    engine: Engine,
    instance: u32,
    /// Operations on the ledger, in order; everything else in any order.
    ledger_queue: VecDeque<Command>,
    others: Vec<Command>,
    healthy: bool,
    timer: Timestamp,
    cursors: BTreeMap<String, EventId>,
    /// What was owed to sessions whose row another notifier took and deleted (law O3).
    swallowed: Vec<(SubKey, EventId)>,
    crashes_in_flight: usize,
}

impl Sim {
    fn new(seed: u64, deduplicates: bool, readable: bool) -> Self {
        // One place for each channel: one that is not given back stops everything.
        let policy = Policy { concurrency: 1, ..Policy::default() };
        let mut sim = Self {
            now: Timestamp::from_secs(1_000_000),
            random: seed,
            // In some worlds passes have little room beside what is new, and memory for what is owed.
            board: ModelBoard { most: usize::try_from(seed % 5).unwrap(), ..ModelBoard::default() },
            ledger: ModelLedger { few: Self::room(seed), ..ModelLedger::default() },
            receiver: Receiver { deduplicates, readable, in_parts: true, ..Receiver::default() },
            engine: Self::engine(seed, &policy, deduplicates, readable),
            seed,
            policy,
            instance: 1,
            ledger_queue: VecDeque::new(),
            others: Vec::new(),
            healthy: false,
            timer: Timestamp::NEVER,
            cursors: BTreeMap::new(),
            swallowed: Vec::new(),
            crashes_in_flight: 0,
        };
        // A card was made before anybody could subscribe to it.
        sim.board.happen("t_first", Kind::Other, sim.now);
        sim.start();
        sim
    }

    /// How much is held in memory.
    fn room(seed: u64) -> usize {
        [1, 2, 5, usize::MAX].into_iter().cycle().nth(usize::try_from(seed % 4).unwrap()).unwrap()
    }

    fn engine(seed: u64, policy: &Policy, deduplicates: bool, readable: bool) -> Engine {
        let mut world = World::default();
        let ability = Ability { deduplicates, readable };
        world.channels.insert(ChannelName::api_server("default"), ability);
        world
            .channels
            .insert(ChannelName("console".into()), Ability { deduplicates, readable: false });
        let identity = Identity::new("gateway".into(), b"fake secret");
        Engine::new(policy.clone(), identity, world).with_line(Self::room(seed))
    }

    fn start(&mut self) {
        self.feed(Input::Start);
        let start = BoardStart {
            id: BOARD,
            slug: "default".into(),
            incarnation: Incarnation(1),
            position: self.ledger.position.clone(),
            has_delivery_mode: false,
        };
        self.feed(Input::Change(Change::Opened(start)));
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.pick(one_in) == 0
    }

    fn pick(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below.max(1)
    }

    fn feed(&mut self, input: Input) {
        for command in self.engine.handle(input, self.now) {
            match command {
                Command::WakeMeAt(at) => self.timer = at,
                Command::Tell(_) => {}
                Command::LoadWork(_)
                | Command::LoadOwed(_)
                | Command::Plan(..)
                | Command::NoteRaised(_)
                | Command::Rest(_)
                | Command::Lift(_)
                | Command::Intend(_)
                | Command::Settle(_) => self.ledger_queue.push_back(command),
                other => self.others.push(other),
            }
        }
        self.check_cursors();
    }

    /// D1: never lowered, and never past an event that needs something and has not got it.
    fn check_cursors(&mut self) {
        for row in &self.board.rows {
            let name = format!("{:?}", row.key);
            let before = self.cursors.insert(name, row.cursor).unwrap_or_default();
            assert!(row.cursor >= before, "the cursor of {:?} fell", row.key);
            let passed = self.board.events.iter().filter(|event| {
                event.task == row.key.task
                    && event.id <= row.cursor
                    && event.created_at.secs() >= row.created_at.secs()
            });
            for event in passed.filter(|event| event.kind.wakes()) {
                let settled = self.ledger.legs.iter().any(|(leg, facts)| {
                    let sub = self.ledger.subs.iter().find(|copy| copy.sub.id == leg.subscription);
                    sub.is_some_and(|copy| copy.sub.key == row.key)
                        && facts.event == event.id
                        && leg.state.is_final()
                });
                assert!(settled, "the cursor of {:?} passed unsettled {:?}", row.key, event.id);
            }
        }
    }

    fn fate(&mut self) -> Fate {
        if self.healthy || self.chance(2) {
            return Fate::Ok;
        }
        let at = usize::try_from(self.pick(9)).unwrap();
        Fate::ALL[at]
    }

    /// Runs one operation that is under way; false when there is none.
    fn run_one(&mut self) -> bool {
        let choices = self.others.len() + usize::from(!self.ledger_queue.is_empty());
        if choices == 0 {
            return false;
        }
        let at = usize::try_from(self.pick(u64::try_from(choices).unwrap())).unwrap();
        if at < self.others.len() {
            let command = self.others.swap_remove(at);
            self.run_other(command);
        } else if let Some(command) = self.ledger_queue.pop_front() {
            self.run_ledger(command);
        }
        true
    }

    fn run_ledger(&mut self, command: Command) {
        let fails = !self.healthy && self.chance(12);
        match command {
            Command::LoadWork(_) if fails => self.feed(Input::WorkFailed),
            Command::LoadWork(held) => {
                let work = self.ledger.open_work(self.instance, &held);
                self.feed(Input::Work(Box::new(work)));
            }
            Command::LoadOwed(_) if fails => self.feed(Input::OwedFailed),
            Command::LoadOwed(copies) => {
                let owed = self.ledger.owed_to(&copies);
                self.feed(Input::Owed(owed));
            }
            Command::Plan(opening, _) if fails => self.feed(Input::PlanFailed(opening)),
            Command::Plan(opening, plan) => {
                let planned = self.ledger.plan(&plan);
                self.feed(Input::Planned { opening, planned });
            }
            Command::NoteRaised(raised) if !fails => self.ledger.raised(&raised),
            Command::Rest(pause) if !fails => self.ledger.rest(&pause),
            Command::Lift(channel) if !fails => self.ledger.lift(&channel),
            Command::Intend(intent) if fails => self.feed(Input::IntendFailed(vec![intent])),
            Command::Intend(mut intent) => {
                pin(&mut intent);
                let results = self.ledger.intend(std::slice::from_ref(&intent), self.instance);
                let results = vec![(intent, results.into_iter().next().unwrap())];
                self.feed(Input::Intended(results));
            }
            Command::Settle(settlement) if fails => {
                self.feed(Input::SettleFailed(vec![settlement]));
            }
            Command::Settle(settlement) => {
                let settlements = vec![settlement];
                let raises = self.ledger.settle(&settlements);
                self.feed(Input::Settled { settlements, raises });
            }
            _ => {}
        }
    }

    fn run_other(&mut self, command: Command) {
        match command {
            Command::Read(opening, request) => {
                if !self.healthy && self.chance(12) {
                    return self.feed(Input::ReadFailed(opening));
                }
                let pass = self.board.read(&request);
                let tasks: Vec<String> = pass
                    .events
                    .iter()
                    .map(|event| event.task.clone())
                    .chain(pass.parts.iter().map(|part| part.task.clone()))
                    .chain(pass.rows.iter().map(|row| row.key.task.clone()))
                    .chain(pass.watched.iter().map(|(key, _)| key.task.clone()))
                    .collect();
                let copies = self.ledger.copies(&tasks);
                self.feed(Input::PassRead { opening, pass: Box::new(pass), copies });
            }
            Command::ChangeRows(opening, changes) => {
                let fails = !self.healthy && self.chance(8);
                let outcomes = (!fails).then(|| self.board.change(&changes));
                self.feed(Input::RowsChanged { opening, changes, outcomes });
                self.feed(Input::Change(Change::Board(BOARD)));
            }
            Command::Send(claim, parcel) => {
                let fate = self.fate();
                let verdict = self.receiver.take(&parcel, fate, self.now);
                self.feed(Input::Sent { claim, verdict });
            }
            Command::Look { lane, claim, reference } => {
                let fails = !self.healthy && self.chance(4);
                let session = match lane.destination() {
                    kanban_notify::message::Destination::Session { session, .. } => session.clone(),
                    kanban_notify::message::Destination::Chat { chat, .. } => chat.clone(),
                };
                let result = self.receiver.look(&session, reference.as_deref(), fails);
                self.feed(Input::Looked { lane, claim, result });
            }
            Command::Probe(channel) => {
                let parcel = kanban_notify::verdict::Verdict::Delivered(Default::default());
                self.feed(Input::Probed { channel, verdict: parcel });
            }
            _ => {}
        }
    }

    /// Kill -9: memory is gone; what was under way happened or not, and nobody heard of it.
    fn crash(&mut self) {
        for command in std::mem::take(&mut self.others) {
            let happens = self.chance(2);
            match command {
                Command::Send(_, parcel) => {
                    self.crashes_in_flight += 1;
                    if happens {
                        self.receiver.take(&parcel, Fate::Silent, self.now);
                    }
                }
                Command::ChangeRows(_, changes) if happens => {
                    self.board.change(&changes);
                }
                _ => {}
            }
        }
        // The operation at the head may have been committed; those behind it were not begun.
        if let Some(command) = self.ledger_queue.pop_front()
            && self.chance(2)
        {
            match command {
                Command::Plan(_, plan) => {
                    self.ledger.plan(&plan);
                }
                Command::Intend(mut intent) => {
                    pin(&mut intent);
                    self.ledger.intend(&[intent], self.instance);
                }
                Command::Settle(settlement) => {
                    self.ledger.settle(&[settlement]);
                }
                _ => {}
            }
        }
        self.ledger_queue.clear();
        self.instance += 1;
        self.timer = Timestamp::NEVER;
        self.engine = Self::engine(
            self.seed,
            &self.policy,
            self.receiver.deduplicates,
            self.receiver.readable,
        );
        self.start();
    }

    fn step_time(&mut self) {
        if self.timer != Timestamp::NEVER {
            self.now = self.now.max(self.timer);
        } else {
            self.now = self.now.after(Duration::from_secs(1));
        }
        self.feed(Input::Tick);
    }

    /// Lets everything end well. Who is idle may still come back to a board that could not be read.
    fn drain(&mut self) {
        self.healthy = true;
        let mut idle_since = None;
        for _ in 0..20_000 {
            if !self.run_one() {
                let open = self.ledger.legs.iter().any(|(leg, _)| !leg.state.is_final());
                let behind = self.engine.owes_cursors();
                if open || behind || !self.engine.is_idle(self.now) {
                    idle_since = None;
                } else if self.now.since(*idle_since.get_or_insert(self.now)) > IDLE {
                    return;
                }
                self.step_time();
            }
        }
        let open: Vec<_> =
            self.ledger.legs.iter().filter(|(leg, _)| !leg.state.is_final()).collect();
        panic!("not drained: {open:?}\n{:?}", self.engine);
    }
}

/// What the driver does: a message that was begun keeps its bytes.
fn pin(intent: &mut Intent) {
    if intent.body.is_empty() {
        intent.body = body(intent);
    }
}

/// The model's encoding: who is told of which events, and the reference for looks.
pub fn body(intent: &Intent) -> String {
    let events: Vec<String> =
        intent.message.facts.iter().map(|fact| format!("<{}>", fact.event)).collect();
    let mark = if intent.message.possible_repeat { " repeat" } else { "" };
    format!("{}{mark} {}", events.join(""), intent.reference)
}
