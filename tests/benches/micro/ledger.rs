//! What the ledger needs to make intents and outcomes durable: one transaction with FULL sync, whatever its size.

use std::{cell::Cell, path::Path, time::Duration};

use criterion::{BatchSize, Criterion};
use kanban_notify::{
    error::PortError,
    ids::{BoardId, ChannelName, ClaimId, EventId, Incarnation, LegId},
    leg::{LegKind, LegState, Tally},
    message::{Destination, Message},
    ports::{Claims as _, Planner as _},
    record::{
        EventPrint, Intent, IntentResult, LegOutcome, NewLeg, Plan, Position, Settlement,
        SubscriptionPlan,
    },
    subscription::{Life, Mode, SubKey},
    time::Timestamp,
    verdict::Detail,
};
use kanban_store::ports::{Evidence, Fingerprint, LedgerPort, Registrar as _};
use tokio::runtime::Runtime;

use crate::told::facts_of;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

pub fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let port = LedgerPort::open(&folder.path().join("ledger.db")).unwrap();
    let board = port.register(Path::new("/boards/one/kanban.db"), "one", &mut Empty).unwrap().id;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let desk = Desk { port, board, runtime, made: Cell::new(0) };
    let mut group = criterion.benchmark_group("ledger");
    group.sample_size(20).warm_up_time(Duration::from_secs(1));
    for count in [1, 64, 256] {
        // Before requests leave: all that start together share a transaction.
        group.bench_function(format!("intend {count}"), |bencher| {
            bencher.iter_batched(
                || desk.plan(count),
                |legs| desk.intend(&legs),
                BatchSize::PerIteration,
            );
        });
        // After they were answered; the cursors to be raised come out of it.
        group.bench_function(format!("settle {count}"), |bencher| {
            bencher.iter_batched(
                || {
                    let legs = desk.plan(count);
                    let claims = desk.intend(&legs);
                    (legs, claims)
                },
                |(legs, claims)| desk.settle(&legs, &claims),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
    desk.port.close();
}

struct Desk {
    port: LedgerPort,
    board: BoardId,
    runtime: Runtime,
    /// Subscriptions that were made so far, each of a task and a session of its own.
    made: Cell<i64>,
}

impl Desk {
    /// So many new subscriptions, each with a leg that is owed.
    fn plan(&self, count: i64) -> Vec<LegId> {
        let first = self.made.replace(self.made.get() + count) + 1;
        let subscriptions = (first..first + count).map(|number| SubscriptionPlan {
            key: SubKey {
                task: format!("t_{number:08x}"),
                platform: "api_server".to_owned(),
                chat: format!("sess-0-{number}"),
                thread: String::new(),
            },
            created_at: NOW,
            profile: "default".to_owned(),
            adopted: None,
            mode: Mode::Unset,
            baseline: EventId(0),
            seen: facts_of(number).event,
            cursor: EventId(0),
            archived: None,
            life: Life::Live,
            legs: vec![NewLeg {
                facts: facts_of(number),
                kind: LegKind::Wake,
                state: LegState::Planned,
                reason: Detail::default(),
                planned_at: NOW,
            }],
        });
        let plan = Plan {
            board: self.board,
            incarnation: Incarnation(1),
            position: Position::default(),
            subscriptions: subscriptions.collect(),
            closes: Vec::new(),
        };
        let planned = self.runtime.block_on(self.port.plan(plan)).unwrap();
        planned.owed.iter().flat_map(|owed| &owed.legs).map(|owed| owed.leg.id).collect()
    }

    fn intend(&self, legs: &[LegId]) -> Vec<ClaimId> {
        let intents = legs.iter().map(|leg| Intent {
            draft: 1,
            lane: format!("api_server/default sess-0-{}", leg.0),
            destination: Destination::Session {
                channel: ChannelName::api_server("default"),
                session: format!("sess-0-{}", leg.0),
            },
            legs: vec![*leg],
            tallies: vec![Tally::default()],
            key: "kgw-0123456789abcdef0123456789abcdef".to_owned(),
            reference: "kgw:0123456789abcdef0123".to_owned(),
            message: Message { spans: Vec::new(), facts: Vec::new(), ..Message::default() },
            // About as long as a wake of one event.
            body: "x".repeat(800),
            at: NOW,
        });
        let results = self.runtime.block_on(self.port.intend(intents.collect())).unwrap();
        let claims: Vec<ClaimId> = results
            .iter()
            .filter_map(|result| match result {
                IntentResult::Won(claim) => Some(*claim),
                _ => None,
            })
            .collect();
        assert_eq!(claims.len(), legs.len());
        claims
    }

    fn settle(&self, legs: &[LegId], claims: &[ClaimId]) {
        let settlements = legs.iter().zip(claims).map(|(leg, claim)| Settlement {
            claim: *claim,
            verdict: "delivered",
            detail: Detail::default(),
            legs: vec![LegOutcome {
                leg: *leg,
                state: LegState::Delivered,
                tally: Tally::default(),
                due_at: NOW,
                reason: Detail::default(),
            }],
            over: true,
            alias: None,
            pause: None,
            at: NOW,
        });
        let raises = self.runtime.block_on(self.port.settle(settlements.collect())).unwrap();
        assert_eq!(raises.len(), legs.len());
    }
}

/// A file with nothing in it yet.
struct Empty;

impl Evidence for Empty {
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError> {
        Ok(Fingerprint { oldest: None, sequence: 0, has_delivery_mode: false })
    }

    fn print_of(&mut self, _: EventId) -> Result<Option<EventPrint>, PortError> {
        Ok(None)
    }
}
