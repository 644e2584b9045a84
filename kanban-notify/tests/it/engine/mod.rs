//! The engine by itself, one input after the other: what must not be forgotten when something fails.

mod boards;
mod channels;
mod delivery;
mod fetching;
mod held;
mod many;
mod parts;
mod places;
mod ranks;
mod reads;
mod waiting;
mod wording;

use std::time::Duration;

use kanban_notify::{
    engine::{Command, Engine, Input, Opening},
    event::{Event, Kind, Task},
    facts,
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId, SubscriptionId},
    key::Identity,
    leg::{Leg, LegKind, LegState, Tally},
    policy::{Ability, Policy, World},
    ports::Change,
    record::{
        BoardStart, Intent, IntentResult, Owed, OwedLeg, Pass, PassRequest, Plan, Planned,
        Position, RowChange, Settlement, Work,
    },
    subscription::{Life, Mode, PreviousOwner, Row, SubKey, Subscription},
    time::Timestamp,
    verdict::Verdict,
};

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const MADE: Timestamp = Timestamp::from_secs(1_799_999_000);
const BOARD: BoardId = BoardId(1);
const OURS: &str = "kanban-gateway.default";

fn seconds(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

/// An engine with what it wants done, at a time that the test sets.
struct Bench {
    engine: Engine,
    now: Timestamp,
    out: Vec<Command>,
}

impl Bench {
    /// An engine with everything open in the ledger and one board, whose first read is under way.
    fn new(policy: Policy, world: World, work: Work) -> Self {
        Self::with(policy, world, work, |engine| engine)
    }

    /// The same with an engine that is made so.
    fn with(policy: Policy, world: World, work: Work, make: fn(Engine) -> Engine) -> Self {
        let identity = Identity::new("gateway".into(), &[1; 32]);
        let engine = make(Engine::new(policy, identity, world));
        let mut bench = Self { engine, now: NOW, out: Vec::new() };
        bench.feed(Input::Start);
        bench.feed(Input::Work(Box::new(work)));
        bench.open(1);
        bench
    }

    fn feed(&mut self, input: Input) {
        self.out.extend(self.engine.handle(input, self.now));
    }

    fn at(&mut self, now: Timestamp) {
        self.now = now;
        self.feed(Input::Tick);
    }

    fn commit(&mut self) {
        self.feed(Input::Change(Change::Board(BOARD)));
    }

    fn open(&mut self, incarnation: i64) {
        self.open_at(incarnation, Position::default());
    }

    fn open_at(&mut self, incarnation: i64, position: Position) {
        self.feed(Input::Change(Change::Opened(BoardStart {
            id: BOARD,
            slug: "default".into(),
            incarnation: Incarnation(incarnation),
            position,
            has_delivery_mode: false,
        })));
    }

    /// The first command that `pick` wants, taken out.
    fn take<T>(&mut self, pick: impl Fn(&Command) -> Option<T>) -> Option<T> {
        let at = self.out.iter().position(|command| pick(command).is_some())?;
        pick(&self.out.remove(at))
    }

    fn wanted<T>(&mut self, what: &str, pick: impl Fn(&Command) -> Option<T>) -> T {
        self.take(pick).unwrap_or_else(|| panic!("{what} was not asked for: {:#?}", self.out))
    }

    fn read(&mut self) -> Option<(Opening, PassRequest)> {
        self.take(|command| match command {
            Command::Read(opening, request) => Some((*opening, request.clone())),
            _ => None,
        })
    }

    /// Answers the read under way.
    fn pass(&mut self, pass: Pass, copies: &[Subscription]) -> PassRequest {
        let (opening, request) = self.read().expect("a read under way");
        self.feed(Input::PassRead { opening, pass: Box::new(pass), copies: copies.to_vec() });
        request
    }

    fn plan(&mut self) -> (Opening, Plan) {
        self.wanted("a plan", |command| match command {
            Command::Plan(opening, plan) => Some((*opening, plan.clone())),
            _ => None,
        })
    }

    /// The ledger took the plan; `owed` is what it answers.
    fn planned(&mut self, owed: Vec<Owed>) -> Plan {
        let (opening, plan) = self.plan();
        self.feed(Input::Planned { opening, planned: Planned { owed, raises: Vec::new() } });
        plan
    }

    fn plan_fails(&mut self) {
        let (opening, _) = self.plan();
        self.feed(Input::PlanFailed(opening));
    }

    fn rows(&mut self) -> (Opening, Vec<RowChange>) {
        self.wanted("a change of rows", |command| match command {
            Command::ChangeRows(opening, changes) => Some((*opening, changes.clone())),
            _ => None,
        })
    }

    fn intent(&mut self) -> Option<Intent> {
        self.take(|command| match command {
            Command::Intend(intent) => Some(intent.clone()),
            _ => None,
        })
    }

    /// Lets the intent that is asked for be recorded as `claim`.
    fn intended(&mut self, claim: i64) -> Intent {
        let intent = self.intent().expect("an intent");
        self.feed(Input::Intended(vec![(intent.clone(), IntentResult::Won(ClaimId(claim)))]));
        intent
    }

    /// The request of a claim ends so, and the ledger takes it.
    fn sent(&mut self, claim: i64, verdict: Verdict) -> Settlement {
        self.feed(Input::Sent { claim: ClaimId(claim), verdict });
        self.settled()
    }

    fn settled(&mut self) -> Settlement {
        let settlement = self.wanted("an outcome", |command| match command {
            Command::Settle(settlement) => Some(settlement.clone()),
            _ => None,
        });
        let settlements = vec![settlement.clone()];
        self.feed(Input::Settled { settlements, raises: Vec::new() });
        settlement
    }
}

fn world(readable: bool, deduplicates: bool) -> World {
    let mut world = World::default();
    let ability = Ability { deduplicates, readable };
    world.channels.insert(ChannelName::api_server("default"), ability);
    world.channels.insert(ChannelName("console".into()), ability);
    world
}

fn key(platform: &str, chat: &str) -> SubKey {
    SubKey {
        task: "t_1".into(),
        platform: platform.into(),
        chat: chat.into(),
        thread: String::new(),
    }
}

fn session() -> SubKey {
    key("api_server", "s")
}

fn event(id: i64) -> Event {
    Event {
        id: EventId(id),
        task: "t_1".into(),
        kind: Kind::Completed,
        payload: None,
        payload_cut: None,
        run: None,
        created_at: NOW,
    }
}

fn row(key: SubKey, owner: Option<&str>) -> Row {
    Row {
        key,
        created_at: MADE,
        cursor: EventId(0),
        owner: owner.map(str::to_owned),
        user: None,
        mode: Mode::Unset,
        rowid: 1,
    }
}

/// A pass that shows everything of every row.
fn seen(events: Vec<Event>, rows: Vec<Row>) -> Pass {
    let newest = events.iter().map(|event| event.id).max().unwrap_or_default();
    let rowid = rows.iter().map(|row| row.rowid).max().unwrap_or_default();
    let row_print = (rowid > 0).then(|| "print".to_owned());
    Pass {
        next: Position { event: newest, rowid, row_print, ..Position::default() },
        complete_above: i64::MIN,
        events,
        rows,
        newest,
        ..Pass::default()
    }
}

fn copy(id: i64, key: SubKey, life: Life) -> Subscription {
    Subscription {
        id: SubscriptionId(id),
        key,
        created_at: MADE,
        profile: "default".into(),
        adopted: Some(PreviousOwner(None)),
        mode: Mode::Unset,
        baseline: EventId(0),
        seen: EventId(0),
        settled: EventId(0),
        life,
    }
}

/// A live copy with planned legs for these events.
fn owed(id: i64, key: SubKey, events: &[i64]) -> Owed {
    let kind = if key.is_api_server() { LegKind::Wake } else { LegKind::Ping };
    let leg = |number: &i64| OwedLeg {
        leg: Leg {
            id: LegId(id * 1_000 + number),
            subscription: SubscriptionId(id),
            event: EventId(*number),
            kind,
            state: LegState::Planned,
            claim: None,
            due_at: Timestamp::default(),
            planned_at: NOW,
            tally: Tally::default(),
        },
        facts: facts::facts(&event(*number), Some(&Task::default())),
        begun: None,
    };
    Owed {
        board: BOARD,
        slug: "default".into(),
        incarnation: Incarnation(1),
        subscription: copy(id, key, Life::Live),
        legs: events.iter().map(leg).collect(),
    }
}

fn work(owed: Vec<Owed>) -> Work {
    Work { owed, ..Work::default() }
}
