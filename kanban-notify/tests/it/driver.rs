//! The driver against mocked ports: the order of calls (law D1), and what a failing port leads to.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_executor::block_on;
use futures_util::{FutureExt as _, StreamExt as _};
use kanban_notify::{
    artifacts::Takes,
    driver::{Driver, Ended, Ports, Until},
    engine::Engine,
    error::{PortError, PortErrorKind},
    event::{Event, Kind},
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId, SubscriptionId},
    key::Identity,
    leg::{Leg, LegKind, LegState, Tally},
    policy::{Ability, Policy, World},
    ports::{
        Change, Changes, Channel, Channels, Clock, MockBacklog, MockBoards, MockChannel,
        MockClaims, MockFiles, MockPlanner,
    },
    record::{
        BoardStart, IntentResult, Owed, OwedLeg, Pass, Plan, Planned, Position, Raise, RowChange,
        RowOutcome, Work,
    },
    subscription::{Life, Mode, Row, SubKey, Subscription},
    time::Timestamp,
    verdict::{Detail, Receipt, Verdict},
};

const BOARD: BoardId = BoardId(1);
const NOW: Timestamp = Timestamp::from_secs(1_000_000);

/// What was called, in order.
type Log = Arc<Mutex<Vec<&'static str>>>;

/// One board that was opened, and then no more news.
struct OneBoard(Option<Change>);

#[async_trait]
impl Changes for OneBoard {
    async fn next(&mut self) -> Option<Change> {
        self.0.take()
    }
}

/// Time that is always there already: every timer fires at once.
struct Eager(Mutex<Timestamp>);

#[async_trait]
impl Clock for Eager {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let mut now = self.0.lock().unwrap();
        // A gateway that never becomes idle must fail the test rather than run for ever.
        if at.since(NOW) < Duration::from_secs(100_000) {
            *now = (*now).max(at);
        } else {
            drop(now);
            std::future::pending::<()>().await;
        }
    }
}

struct OneChannel(Arc<dyn Channel>);

impl Channels for OneChannel {
    fn get(&self, _: &ChannelName) -> Option<Arc<dyn Channel>> {
        Some(Arc::clone(&self.0))
    }
}

fn key() -> SubKey {
    SubKey {
        task: "t_1".into(),
        platform: "console".into(),
        chat: "room".into(),
        thread: String::new(),
    }
}

fn boards(log: &Log) -> MockBoards {
    boards_with(log, None)
}

fn boards_with(log: &Log, payload: Option<&'static str>) -> MockBoards {
    let mut boards = MockBoards::new();
    boards.expect_read().returning(move |_, request| {
        let first = request.after.event == EventId(0);
        let event = Event {
            id: EventId(5),
            task: "t_1".into(),
            kind: Kind::Completed,
            payload: payload.map(str::to_owned),
            payload_cut: None,
            run: None,
            created_at: NOW,
        };
        let row = Row {
            key: key(),
            created_at: NOW,
            cursor: EventId(0),
            owner: None,
            user: None,
            mode: Mode::Unset,
            rowid: 1,
        };
        Ok(Pass {
            events: if first { vec![event] } else { vec![] },
            rows: if first { vec![row] } else { vec![] },
            next: Position { event: EventId(5), rowid: 1, ..Position::default() },
            newest: EventId(5),
            ..Pass::default()
        })
    });
    let log = Arc::clone(log);
    boards.expect_change().returning(move |_, changes| {
        log.lock().unwrap().push("raise");
        assert!(matches!(changes[0], RowChange::Raise { to: EventId(5), .. }));
        Ok(vec![RowOutcome::Won; changes.len()])
    });
    boards
}

fn planner() -> MockPlanner {
    let mut planner = MockPlanner::new();
    planner.expect_copies().returning(|_, _| Ok(Vec::new()));
    planner.expect_plan().returning(|plan| Ok(planned(&plan)));
    planner
}

fn planned(plan: &Plan) -> Planned {
    let sub = &plan.subscriptions[0];
    let subscription = Subscription {
        id: SubscriptionId(1),
        key: sub.key.clone(),
        created_at: sub.created_at,
        profile: sub.profile.clone(),
        adopted: None,
        mode: sub.mode,
        baseline: sub.baseline,
        seen: sub.seen,
        settled: EventId(0),
        life: Life::Live,
    };
    let leg = Leg {
        id: LegId(1),
        subscription: SubscriptionId(1),
        event: EventId(5),
        kind: LegKind::Ping,
        state: LegState::Planned,
        claim: None,
        due_at: Timestamp::default(),
        planned_at: NOW,
        tally: Tally::default(),
    };
    let facts = sub.legs[0].facts.clone();
    Planned {
        owed: vec![Owed {
            board: BOARD,
            slug: "default".into(),
            incarnation: Incarnation(1),
            subscription,
            legs: vec![OwedLeg { leg, facts, begun: None }],
        }],
        raises: vec![],
    }
}

fn claims(log: &Log) -> MockClaims {
    let mut claims = MockClaims::new();
    let calls = Arc::clone(log);
    let ids = Mutex::new(0);
    claims.expect_intend().returning(move |intents| {
        calls.lock().unwrap().push("intend");
        assert!(intents.iter().all(|intent| intent.body == "bytes"), "the bytes are pinned first");
        let mut id = ids.lock().unwrap();
        *id += 1;
        Ok(vec![IntentResult::Won(ClaimId(*id))])
    });
    let calls = Arc::clone(log);
    claims.expect_settle().returning(move |settlements| {
        calls.lock().unwrap().push("settle");
        let delivered = settlements[0].legs[0].state == LegState::Delivered;
        let raise = Raise {
            board: BOARD,
            subscription: SubscriptionId(1),
            key: key(),
            created_at: NOW,
            to: EventId(5),
            archived: false,
        };
        Ok(if delivered { vec![raise] } else { vec![] })
    });
    let calls = Arc::clone(log);
    claims.expect_raised().returning(move |_| {
        calls.lock().unwrap().push("raised");
        Ok(())
    });
    claims
}

fn channel(log: &Log, mut verdicts: Vec<Verdict>) -> MockChannel {
    let mut channel = MockChannel::new();
    channel.expect_encode().returning(|_, _| "bytes".into());
    let log = Arc::clone(log);
    let calls = Mutex::new(());
    channel.expect_send().returning(move |parcel| {
        let _one_at_a_time = calls.lock().unwrap();
        log.lock().unwrap().push("send");
        assert_eq!(parcel.body, "bytes");
        if verdicts.len() > 1 { verdicts.remove(0) } else { verdicts[0].clone() }
    });
    channel
}

fn run(log: &Log, boards: MockBoards, claims: MockClaims, channel: MockChannel) -> Ended {
    run_with(log, boards, claims, channel, MockFiles::new())
}

fn run_with(
    log: &Log,
    boards: MockBoards,
    claims: MockClaims,
    channel: MockChannel,
    files: MockFiles,
) -> Ended {
    let mut backlog = MockBacklog::new();
    backlog.expect_open_work().returning(|_| Ok(Work::default()));
    backlog.expect_disturbed().returning(|| Ok(false));
    let ports = Ports {
        boards: Arc::new(boards),
        planner: Arc::new(planner()),
        claims: Arc::new(claims),
        backlog: Arc::new(backlog),
        channels: Arc::new(OneChannel(Arc::new(channel))),
        files: Arc::new(files),
        clock: Arc::new(Eager(Mutex::new(NOW))),
    };
    let mut world = World { channels: BTreeMap::new(), ..World::default() };
    world.channels.insert(ChannelName("console".into()), Ability::default());
    let identity = Identity::new("g".into(), b"fake secret");
    let engine = Engine::new(Policy::default(), identity, world);
    let start = BoardStart {
        id: BOARD,
        slug: "default".into(),
        incarnation: Incarnation(1),
        position: Position::default(),
        has_delivery_mode: true,
    };
    let changes = OneBoard(Some(Change::Opened(start)));
    let driver = Driver::new(engine, ports);
    let until = Until::Idle { opened: Arc::new(|| Some(1)) };
    let ended = block_on(driver.run(changes, until, std::future::pending(), Duration::ZERO));
    log.lock().unwrap().retain(|call| *call != "raised");
    ended
}

fn delivered() -> Verdict {
    Verdict::Delivered(Receipt::default())
}

fn failure() -> PortError {
    PortError {
        operation: "testing",
        kind: PortErrorKind::Weather,
        source: "the disk is full".into(),
    }
}

#[test]
fn d1_intent_send_outcome_raise_in_that_order() {
    let log = Log::default();
    let ended = run(&log, boards(&log), claims(&log), channel(&log, vec![delivered()]));
    assert_eq!(ended, Ended::Idle);
    assert_eq!(*log.lock().unwrap(), ["intend", "send", "settle", "raise"]);
}

#[test]
fn d1_a_failed_send_raises_nothing_and_is_tried_again() {
    let log = Log::default();
    let refused = Verdict::Retryable { retry_after: None, detail: Detail::new("no") };
    let mut ended =
        run(&log, boards(&log), claims(&log), channel(&log, vec![refused, delivered()]));
    // An idle gateway may end before the back-off is over; the order up to there is what counts.
    let calls = log.lock().unwrap().clone();
    assert!(!calls.iter().take_while(|call| **call != "settle").any(|call| *call == "raise"));
    assert_eq!(calls[..3], ["intend", "send", "settle"]);
    if calls.len() > 3 {
        assert_eq!(calls[3..], ["intend", "send", "settle", "raise"]);
        ended = Ended::Idle;
    }
    assert_eq!(ended, Ended::Idle);
}

#[test]
fn d6_without_a_durable_intent_nothing_is_sent() {
    let log = Log::default();
    let mut failing = MockClaims::new();
    let calls = Arc::clone(&log);
    failing.expect_intend().times(1).returning(move |_| {
        calls.lock().unwrap().push("intend failed");
        Err(failure())
    });
    let calls = Arc::clone(&log);
    failing.expect_intend().returning(move |_| {
        calls.lock().unwrap().push("intend");
        Ok(vec![IntentResult::Won(ClaimId(1))])
    });
    let rest = claims(&log);
    failing.expect_settle().returning(move |settlements| now(settle(&rest, settlements)));
    failing.expect_raised().returning(|_| Ok(()));
    run(&log, boards(&log), failing, channel(&log, vec![delivered()]));
    let calls = log.lock().unwrap().clone();
    assert_eq!(calls[0], "intend failed");
    assert!(calls.len() == 1 || calls[1] == "intend", "{calls:?}");
}

#[test]
fn report_50_an_outcome_that_cannot_be_written_is_never_sent_again() {
    let log = Log::default();
    let mut failing = MockClaims::new();
    let calls = Arc::clone(&log);
    failing.expect_intend().returning(move |_| {
        calls.lock().unwrap().push("intend");
        Ok(vec![IntentResult::Won(ClaimId(1))])
    });
    let calls = Arc::clone(&log);
    failing.expect_settle().times(2).returning(move |_| {
        calls.lock().unwrap().push("settle failed");
        Err(failure())
    });
    let rest = claims(&log);
    failing.expect_settle().returning(move |settlements| now(settle(&rest, settlements)));
    failing.expect_raised().returning(|_| Ok(()));
    run(&log, boards(&log), failing, channel(&log, vec![delivered()]));
    assert_eq!(
        *log.lock().unwrap(),
        ["intend", "send", "settle failed", "settle failed", "settle", "raise"]
    );
}

/// A file system that hangs costs the message its files and some seconds, and nothing else.
#[test]
fn report_43_a_look_at_files_that_hangs_delays_a_message_and_never_fails_it() {
    let log = Log::default();
    let mut files = MockFiles::new();
    let calls = Arc::clone(&log);
    files.expect_check().times(1).returning(move |wanted| {
        assert_eq!(wanted.len(), 1);
        calls.lock().unwrap().push("check");
        futures_util::stream::pending().boxed()
    });
    let mut channel = MockChannel::new();
    channel.expect_takes().return_const(Takes::files(1));
    channel.expect_encode().returning(|_, message| {
        assert!(message.files.is_empty());
        let told = "\nNot attached: report.pdf (could not be looked at in time)";
        assert!(message.text().ends_with(told), "{}", message.text());
        "bytes".into()
    });
    let calls = Arc::clone(&log);
    channel.expect_send().returning(move |_| {
        calls.lock().unwrap().push("send");
        delivered()
    });
    let boards = boards_with(&log, Some(r#"{"artifacts": ["/out/report.pdf"]}"#));
    let ended = run_with(&log, boards, claims(&log), channel, files);
    assert_eq!(ended, Ended::Idle);
    // Nothing is asked of the ledger before it is known what the message says.
    assert_eq!(*log.lock().unwrap(), ["check", "intend", "send", "settle", "raise"]);
}

/// The result of a mocked call, which never waits.
fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("a mock answers at once")
}

async fn settle(
    claims: &MockClaims,
    settlements: Vec<kanban_notify::record::Settlement>,
) -> Result<Vec<Raise>, PortError> {
    kanban_notify::ports::Claims::settle(claims, settlements).await
}
