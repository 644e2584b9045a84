//! Receivers that are down for long, in virtual time: one board, one ledger, 250 destinations.

mod ten_hours;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use kanban_notify::{
    engine::{Command, Engine, Input, Notice},
    event::Kind,
    ids::{BoardId, ChannelName, Incarnation},
    key::Identity,
    message::Destination,
    policy::{Ability, Policy, World},
    ports::{Change, LookError},
    record::BoardStart,
    time::Timestamp,
    verdict::{Detail, Receipt, Verdict},
};

use crate::{
    model::{
        board::ModelBoard,
        ledger::ModelLedger,
        receiver::{Fate, Receiver},
    },
    simulation::body,
};

const BOARD: BoardId = BoardId(1);
const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// How a receiver is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// Nobody listens.
    Refused,
    /// Each destination is answered 503 in a session and 500 in a chat.
    Errors,
    /// The connection is cut when the request has been read.
    Cut,
    /// The request is read, and no answer comes until the time is out.
    Silence,
}

/// One request that was made.
#[derive(Clone, Debug)]
pub struct Try {
    pub at: Timestamp,
    pub to: Destination,
    /// A look, and not a wake or a message.
    pub look: bool,
    pub delivered: bool,
}

/// The world: everybody answers within a time that is told, and only the ledger outlives a crash.
pub struct Outage {
    pub now: Timestamp,
    pub board: ModelBoard,
    pub ledger: ModelLedger,
    pub receiver: Receiver,
    pub tries: Vec<Try>,
    pub notices: Vec<(Timestamp, Notice)>,
    /// The most requests that were under way at once: on any channel, and in all.
    pub most: (usize, usize),
    down: Option<Down>,
    engine: Engine,
    instance: u32,
    timer: Timestamp,
    ledger_queue: VecDeque<Command>,
    others: VecDeque<Command>,
    answers: BTreeMap<(Timestamp, u64), (Try, Input)>,
    count: u64,
}

impl Outage {
    pub fn new() -> Self {
        let mut outage = Self {
            now: START,
            board: ModelBoard::default(),
            ledger: ModelLedger::default(),
            receiver: Receiver { deduplicates: true, readable: true, ..Receiver::default() },
            tries: Vec::new(),
            notices: Vec::new(),
            most: (0, 0),
            down: None,
            engine: engine(),
            instance: 0,
            timer: Timestamp::NEVER,
            ledger_queue: VecDeque::new(),
            others: VecDeque::new(),
            answers: BTreeMap::new(),
            count: 0,
        };
        outage.board.happen("t_first", Kind::Other, START);
        outage.start();
        outage
    }

    /// A process that knows nothing but the ledger; what was under way is lost with the one before.
    pub fn start(&mut self) {
        self.instance += 1;
        self.ledger_queue.clear();
        self.others.clear();
        self.answers.clear();
        self.engine = engine();
        self.feed(Input::Start);
        self.feed(Input::Change(Change::Opened(BoardStart {
            id: BOARD,
            slug: "default".into(),
            incarnation: Incarnation(1),
            position: self.ledger.position.clone(),
            has_delivery_mode: false,
        })));
    }

    /// The receiver is down from now on, or is back.
    pub fn set(&mut self, down: Option<Down>) {
        self.down = down;
    }

    /// Something happens to these tasks, each a millisecond after the other.
    pub fn happen(&mut self, tasks: impl Iterator<Item = String>) {
        for task in tasks {
            self.board.happen(&task, Kind::Completed, self.now);
        }
        self.feed(Input::Change(Change::Board(BOARD)));
    }

    /// Runs until so long after the start.
    pub fn run_until(&mut self, end: Timestamp) {
        loop {
            while let Some(command) = self.ledger_queue.pop_front() {
                self.run_ledger(command);
            }
            if let Some(command) = self.others.pop_front() {
                self.run_other(command);
                continue;
            }
            let answer = self.answers.first_key_value().map(|((at, _), _)| *at);
            let next = answer.unwrap_or(Timestamp::NEVER).min(self.timer);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if answer == Some(next) {
                let (_, (tried, input)) = self.answers.pop_first().unwrap();
                self.tries.push(tried);
                self.feed(input);
            } else {
                self.timer = Timestamp::NEVER;
                self.feed(Input::Tick);
            }
        }
    }

    fn feed(&mut self, input: Input) {
        for command in self.engine.handle(input, self.now) {
            match command {
                Command::WakeMeAt(at) => self.timer = at,
                Command::Tell(notice) => self.notices.push((self.now, notice)),
                Command::Read(..)
                | Command::ChangeRows(..)
                | Command::Send(..)
                | Command::Look { .. }
                | Command::Probe(_) => self.others.push_back(command),
                of_ledger => self.ledger_queue.push_back(of_ledger),
            }
        }
    }

    fn run_ledger(&mut self, command: Command) {
        match command {
            Command::LoadWork(held) => {
                let work = self.ledger.open_work(self.instance, &held);
                self.feed(Input::Work(Box::new(work)));
            }
            Command::LoadOwed(copies) => {
                let owed = self.ledger.owed_to(&copies);
                self.feed(Input::Owed(owed));
            }
            Command::Plan(opening, plan) => {
                let planned = self.ledger.plan(&plan);
                self.feed(Input::Planned { opening, planned });
            }
            Command::NoteRaised(raised) => self.ledger.raised(&raised),
            Command::Rest(pause) => self.ledger.rest(&pause),
            Command::Lift(channel) => self.ledger.lift(&channel),
            Command::Intend(mut intent) => {
                intent.body = body(&intent);
                let results = self.ledger.intend(std::slice::from_ref(&intent), self.instance);
                self.feed(Input::Intended(
                    results.into_iter().map(|r| (intent.clone(), r)).collect(),
                ));
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
                let pass = self.board.read(&request);
                let tasks = pass.events.iter().map(|event| event.task.clone());
                let tasks: Vec<String> =
                    tasks.chain(pass.rows.iter().map(|row| row.key.task.clone())).collect();
                let copies = self.ledger.copies(&tasks);
                self.feed(Input::PassRead { opening, pass: Box::new(pass), copies });
            }
            Command::ChangeRows(opening, changes) => {
                let outcomes = Some(self.board.change(&changes));
                self.feed(Input::RowsChanged { opening, changes, outcomes });
            }
            Command::Send(claim, parcel) => {
                let chat = matches!(parcel.destination, Destination::Chat { .. });
                let fate = match self.down {
                    None => Fate::Ok,
                    Some(Down::Refused) => Fate::Refused,
                    Some(Down::Errors) if chat => Fate::Error,
                    Some(Down::Errors) => Fate::Busy,
                    Some(Down::Cut | Down::Silence) => Fate::Lost,
                };
                let verdict = self.receiver.take(&parcel, fate, self.now);
                let delivered = verdict == Verdict::Delivered(Receipt::default());
                let input = Input::Sent { claim, verdict };
                self.answer(parcel.destination, false, delivered, input);
            }
            Command::Look { lane, claim, reference } => {
                let to = lane.destination().clone();
                let Destination::Session { session, .. } = &to else {
                    panic!("no session: {to:?}")
                };
                let detail = Detail::new("as told");
                let result = match self.down {
                    None => self.receiver.look(session, reference.as_deref(), false),
                    Some(Down::Refused) => Err(LookError::Unreachable(detail)),
                    Some(_) => Err(LookError::Failed(detail)),
                };
                self.answer(to, true, false, Input::Looked { lane, claim, result });
            }
            other => panic!("nobody probes here: {other:?}"),
        }
    }

    fn answer(&mut self, to: Destination, look: bool, delivered: bool, input: Input) {
        let takes = match self.down {
            None => Duration::from_millis(50),
            Some(Down::Silence) if look => Duration::from_secs(30),
            Some(Down::Silence) => Duration::from_secs(600),
            Some(_) => Duration::from_millis(2),
        };
        let at = self.now;
        self.count += 1;
        let channel = to.channel().clone();
        let tried = Try { at, to, look, delivered };
        self.answers.insert((at.after(takes), self.count), (tried, input));
        let of_channel = self.answers.values().filter(|(t, _)| *t.to.channel() == channel).count();
        self.most = (self.most.0.max(of_channel), self.most.1.max(self.answers.len()));
    }
}

fn engine() -> Engine {
    let mut world = World::default();
    let ability = Ability { deduplicates: true, readable: true };
    world.channels.insert(ChannelName::api_server("default"), ability);
    world.channels.insert(ChannelName("slack".into()), Ability { readable: false, ..ability });
    let identity = Identity::new("gateway".into(), b"fake secret");
    Engine::new(Policy::default(), identity, world)
}
