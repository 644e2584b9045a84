//! What the engine itself needs to decide about a pass.

use criterion::{BatchSize, Criterion};
use kanban_notify::{
    engine::{Command, Engine, Input, Opening},
    event::Task,
    ids::{BoardId, ChannelName, EventId, Incarnation, SubscriptionId},
    key::Identity,
    policy::{Ability, Policy, World},
    ports::Change,
    record::{BoardStart, Pass, Position},
    subscription::{Life, Mode, Row, SubKey, Subscription},
    time::Timestamp,
};

use crate::told::event;

const EVENTS: i64 = 1_000;
const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const MADE: Timestamp = Timestamp::from_secs(1_799_999_000);

pub fn benches(criterion: &mut Criterion) {
    let (pass, copies) = pass();
    let input =
        |opening| Input::PassRead { opening, pass: Box::new(pass.clone()), copies: copies.clone() };
    let (mut engine, opening) = reading();
    let legs: usize = engine.handle(input(opening), NOW).iter().map(planned).sum();
    assert_eq!(i64::try_from(legs).unwrap(), EVENTS);

    // Two full passes, as a backlog is made of: what is decided from their rows, facts of events included.
    criterion.bench_function("engine/pass with 1000 events of 1000 subscriptions", |bencher| {
        bencher.iter_batched(
            || {
                let (engine, opening) = reading();
                (engine, input(opening))
            },
            |(mut engine, input)| {
                let commands = engine.handle(input, NOW);
                (engine, commands)
            },
            BatchSize::LargeInput,
        );
    });
}

/// An engine that waits for the first pass over a board.
fn reading() -> (Engine, Opening) {
    let mut world = World::default();
    let ability = Ability { deduplicates: true, readable: true };
    world.channels.insert(ChannelName::api_server("default"), ability);
    let identity = Identity::new("gateway".to_owned(), &[7; 32]);
    let mut engine = Engine::new(Policy::default(), identity, world);
    let board = BoardStart {
        id: BoardId(1),
        slug: "default".to_owned(),
        incarnation: Incarnation(1),
        position: Position::default(),
        has_delivery_mode: false,
    };
    let inputs = [Input::Start, Input::Work(Box::default()), Input::Change(Change::Opened(board))];
    let commands: Vec<Command> =
        inputs.into_iter().flat_map(|input| engine.handle(input, NOW)).collect();
    let opening = commands.iter().find_map(|command| match command {
        Command::Read(opening, _) => Some(*opening),
        _ => None,
    });
    (engine, opening.unwrap())
}

fn planned(command: &Command) -> usize {
    match command {
        Command::Plan(_, plan) => plan.subscriptions.iter().map(|copy| copy.legs.len()).sum(),
        _ => 0,
    }
}

fn pass() -> (Pass, Vec<Subscription>) {
    let key = |number: i64| SubKey {
        task: format!("t_{number:08x}"),
        platform: "api_server".to_owned(),
        chat: format!("sess-0-{number}"),
        thread: String::new(),
    };
    let row = |number| Row {
        key: key(number),
        created_at: MADE,
        cursor: EventId(number),
        owner: Some("kanban-gateway".to_owned()),
        user: None,
        mode: Mode::Unset,
        rowid: number,
    };
    let copy = |number| Subscription {
        id: SubscriptionId(number),
        key: key(number),
        created_at: MADE,
        profile: "default".to_owned(),
        adopted: None,
        mode: Mode::Unset,
        baseline: EventId(number),
        seen: EventId(number),
        settled: EventId(number),
        life: Life::Live,
    };
    let task = |number| Task {
        id: format!("t_{number:08x}"),
        title: format!("Build report {number}"),
        assignee: Some("writer".to_owned()),
        ..Task::default()
    };
    let newest = event(EVENTS).id;
    let pass = Pass {
        events: (1..=EVENTS).map(event).collect(),
        tasks: (1..=EVENTS).map(task).collect(),
        rows: (1..=EVENTS).map(row).collect(),
        complete_above: i64::MIN,
        next: Position { event: newest, rowid: EVENTS, ..Position::default() },
        newest,
        ..Pass::default()
    };
    (pass, (1..=EVENTS).map(copy).collect())
}
