//! What is made of events before they leave: keys, texts, bodies.

use std::hint::black_box;

use criterion::Criterion;
use gateway_adapters::{
    api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
    http::{HttpClient, HttpClientConfig},
};
use kanban_notify::{
    facts,
    ids::{BoardId, ChannelName, EventId, Incarnation, SubscriptionId},
    key::{Identity, Member},
    leg::LegKind,
    message::{Destination, Message, Span},
    policy::WakePolicy,
    ports::Channel as _,
    record::Facts,
    text::wake,
};

use crate::told::{event, facts_of, task};

pub fn benches(criterion: &mut Criterion) {
    let destination = Destination::Session {
        channel: ChannelName::api_server("default"),
        session: "sess-0-1".to_owned(),
    };
    let identity = Identity::new("gateway".to_owned(), &[7; 32]);
    let max_bytes = WakePolicy::default().max_bytes;
    let mut one = String::new();
    for count in [1, 64] {
        // Once for each request: what tells a repeat from another request.
        let members: Vec<Member> = (1..=count).map(member).collect();
        criterion.bench_function(&format!("key/seal of {count}"), |bencher| {
            bencher.iter(|| black_box(identity.seal(&destination, black_box(&members))));
        });

        // Once for each wake: the words of a turn.
        let facts: Vec<Facts> = (1..=count).map(facts_of).collect();
        let events: Vec<(&Facts, &str)> = facts.iter().map(|facts| (facts, "default")).collect();
        let text = || {
            wake::text(black_box(&events), |_| "kgw:0123456789abcdef0123".into(), false, max_bytes)
        };
        assert_eq!(i64::try_from(text().named).unwrap(), count);
        criterion.bench_function(&format!("text/wake of {count}"), |bencher| {
            bencher.iter(|| black_box(text()));
        });
        if count == 1 {
            one = text().text;
        }
    }

    // Once for each event of a pass: what is kept of it in the ledger.
    let event = event(1);
    criterion.bench_function("text/facts of an event", |bencher| {
        bencher.iter(|| black_box(facts::facts(black_box(&event), Some(&task()))));
    });

    // Once for each wake: the bytes that leave.
    let client = HttpClient::new(&HttpClientConfig::default()).unwrap();
    let config = ApiServerConfig {
        name: ChannelName::api_server("default"),
        base: "http://127.0.0.1:8642".to_owned(),
        key: "bench-key-0123456789".into(),
        key_from: String::new(),
        model: "hermes-agent".to_owned(),
        limits: ApiServerLimits::default(),
    };
    let server = ApiServer::new(client, config).unwrap();
    let message = Message { spans: vec![Span::ours(one)], facts: Vec::new(), ..Message::default() };
    criterion.bench_function("body/encode of a wake of 1", |bencher| {
        bencher.iter(|| black_box(server.encode(&destination, black_box(&message))));
    });
}

fn member(number: i64) -> Member {
    Member {
        board: BoardId(1),
        incarnation: Incarnation(1),
        subscription: SubscriptionId(number),
        event: EventId(100_000 + number),
        kind: LegKind::Wake,
        epoch: 0,
    }
}
