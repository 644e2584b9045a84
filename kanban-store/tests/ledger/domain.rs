//! Plans, intents and outcomes in the words of the domain, and the ports that take them.

use std::path::Path;

use futures_executor::block_on;
use kanban_notify::{
    error::PortError,
    event::Kind,
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId},
    leg::{LegKind, LegState, Tally},
    message::{Destination, Message},
    ports::{Backlog as _, Claims as _, Planner as _},
    record::{
        EventPrint, Facts, Intent, IntentResult, LegOutcome, NewLeg, Owed, Plan, Planned, Position,
        Settlement, SubscriptionPlan, Work,
    },
    subscription::{Life, Mode, SubKey},
    time::Timestamp,
    verdict::Detail,
};
use kanban_store::ports::{Evidence, Fingerprint, LedgerPort, Registrar as _};

pub fn open(path: &Path) -> LedgerPort {
    LedgerPort::open(path).unwrap()
}

/// Registers an empty board; its id.
pub fn board(port: &LedgerPort, path: &str) -> BoardId {
    port.register(Path::new(path), "one", &mut Empty).unwrap().id
}

struct Empty;

impl Evidence for Empty {
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError> {
        Ok(Fingerprint { oldest: None, sequence: 0, has_delivery_mode: false })
    }

    fn print_of(&mut self, _: EventId) -> Result<Option<EventPrint>, PortError> {
        Ok(None)
    }
}

pub fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub fn plan(board: BoardId, subscriptions: Vec<SubscriptionPlan>) -> Plan {
    Plan {
        board,
        incarnation: Incarnation(1),
        position: Position {
            event: EventId(9),
            event_print: Some(EventPrint { id: EventId(9), hash: "nine".to_owned() }),
            rowid: 4,
            row_print: Some("row".to_owned()),
        },
        subscriptions,
        closes: Vec::new(),
    }
}

/// A live API session's subscription of `task` with a wake for each event.
pub fn session(task: &str, raw: &str, events: &[i64]) -> SubscriptionPlan {
    SubscriptionPlan {
        key: SubKey {
            task: task.to_owned(),
            platform: "api_server".to_owned(),
            chat: raw.to_owned(),
            thread: String::new(),
        },
        created_at: Timestamp::from_secs(5),
        profile: "default".to_owned(),
        adopted: None,
        mode: Mode::Unset,
        baseline: EventId(0),
        seen: EventId(events.iter().copied().max().unwrap_or(0)),
        cursor: EventId(0),
        archived: None,
        life: Life::Live,
        legs: events.iter().map(|event| wake(task, *event)).collect(),
    }
}

fn wake(task: &str, event: i64) -> NewLeg {
    NewLeg {
        facts: Facts {
            event: EventId(event),
            kind: Kind::Blocked,
            task: task.to_owned(),
            title: "Build report".to_owned(),
            assignee: Some("coder".to_owned()),
            handoff: None,
            session: Some("task-session".to_owned()),
            notes: vec![("reason".to_owned(), "a \"quoted\" one".to_owned())],
            at: Timestamp::from_secs(7),
            print: format!("print-{event}"),
        },
        kind: LegKind::Wake,
        state: LegState::Planned,
        reason: Detail::default(),
        planned_at: at(1_000),
    }
}

/// Records a plan for board 1; what is owed then.
pub fn owe(port: &LedgerPort, subscriptions: Vec<SubscriptionPlan>) -> Vec<Owed> {
    record(port, plan(BoardId(1), subscriptions)).unwrap().owed
}

pub fn record(port: &LedgerPort, plan: Plan) -> Result<Planned, PortError> {
    block_on(port.plan(plan))
}

pub fn work(port: &LedgerPort) -> Work {
    block_on(port.open_work(Vec::new())).unwrap()
}

pub fn disturbed(port: &LedgerPort) -> bool {
    block_on(port.disturbed()).unwrap()
}

pub fn legs(owed: &[Owed]) -> Vec<LegId> {
    owed.iter().flat_map(|owed| &owed.legs).map(|owed| owed.leg.id).collect()
}

pub fn intent(raw: &str, lane: &str, legs: &[LegId]) -> Intent {
    Intent {
        draft: 1,
        lane: lane.to_owned(),
        destination: Destination::Session {
            channel: ChannelName::api_server("default"),
            session: raw.to_owned(),
        },
        legs: legs.to_vec(),
        tallies: vec![Tally::default(); legs.len()],
        key: "key".to_owned(),
        reference: "ref".to_owned(),
        message: Message { spans: Vec::new(), facts: Vec::new(), ..Message::default() },
        body: "bytes".to_owned(),
        at: at(2_000),
    }
}

pub fn intend(port: &LedgerPort, intent: Intent) -> IntentResult {
    block_on(port.intend(vec![intent])).unwrap().remove(0)
}

/// Intends in a lane named like the session, and must win.
pub fn win(port: &LedgerPort, raw: &str, legs: &[LegId]) -> ClaimId {
    match intend(port, intent(raw, raw, legs)) {
        IntentResult::Won(claim) => claim,
        other => panic!("{other:?}"),
    }
}

/// An outcome, the same for each leg; over if the legs' state says so.
pub fn outcome(claim: ClaimId, legs: &[LegId], state: LegState) -> Settlement {
    Settlement {
        claim,
        verdict: "delivered",
        detail: Detail::default(),
        legs: legs
            .iter()
            .map(|leg| LegOutcome {
                leg: *leg,
                state,
                tally: Tally::default(),
                due_at: at(3_000),
                reason: Detail::default(),
            })
            .collect(),
        over: state != LegState::Unknown,
        alias: None,
        pause: None,
        at: at(3_000),
    }
}
