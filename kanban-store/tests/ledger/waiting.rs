//! A ledger with more open than is read at once: numbers for most of it, legs for what is asked for.

use futures_executor::block_on;
use kanban_notify::{
    ids::{ChannelName, SubscriptionId},
    leg::LegState,
    ports::{Backlog as _, Claims as _},
    record::{Owed, SubscriptionPlan, Work},
    subscription::SubKey,
};
use kanban_store::ports::LedgerPort;

use crate::{
    domain::{board, legs, open, outcome, owe, session, win, work},
    support::place,
};

/// So many sessions, each with a wake for one event.
const MANY: i64 = 600;

fn plans(events: impl Iterator<Item = i64>) -> Vec<SubscriptionPlan> {
    events.map(|event| session(&format!("t_{event}"), &format!("s{event}"), &[event])).collect()
}

fn ids(owed: &[Owed]) -> Vec<SubscriptionId> {
    owed.iter().map(|owed| owed.subscription.id).collect()
}

fn waiting(work: &Work) -> &[SubscriptionId] {
    assert_eq!(work.waiting.len(), 1, "{:?}", work.waiting.keys());
    &work.waiting[&ChannelName::api_server("default")]
}

fn held(port: &LedgerPort, copies: &[SubscriptionId]) -> Work {
    block_on(port.open_work(copies.to_vec())).unwrap()
}

#[test]
fn d1_few_are_read_at_once_and_of_many_only_what_is_asked_for() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let first = owe(&port, plans(1..=100));
    let all_at_once = work(&port);
    assert_eq!((ids(&all_at_once.owed), all_at_once.waiting.len()), (ids(&first), 0));

    let rest = owe(&port, plans(101..=MANY));
    let all: Vec<SubscriptionId> = ids(&first).into_iter().chain(ids(&rest)).collect();
    let many = work(&port);
    assert!(many.owed.is_empty());
    assert_eq!(waiting(&many), all);

    // What is held is read again, and what waits is read when it is asked for: whole.
    let some = held(&port, &all[5..8]);
    assert_eq!(some.owed, first[5..8]);
    assert_eq!(waiting(&some), [&all[..5], &all[8..]].concat());
    assert_eq!(block_on(port.owed(all[90..200].to_vec())).unwrap(), {
        [&first[90..], &rest[..100]].concat()
    });
}

#[test]
fn d1_who_waits_longest_comes_first() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    // The first copy has nothing to tell until all others have.
    let quiet = SubscriptionPlan { legs: Vec::new(), ..session("t_0", "s0", &[0]) };
    let quiet = ids(&owe(&port, vec![quiet]));
    let mut all = ids(&owe(&port, plans(1..=MANY)));
    owe(&port, vec![session("t_0", "s0", &[MANY + 1, MANY + 2])]);
    all.extend(quiet);
    assert_eq!(waiting(&work(&port)), all);
}

#[test]
fn d9_what_is_in_a_claim_is_always_read() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let owed = owe(&port, plans(1..=MANY));
    let (flying, lost) = (legs(&owed[3..4]), legs(&owed[300..301]));
    win(&port, "s4", &flying);
    let claim = win(&port, "s301", &lost);
    block_on(port.settle(vec![outcome(claim, &lost, LegState::Unknown)])).unwrap();
    let work = work(&port);
    assert_eq!(legs(&work.owed), [flying, lost].concat());
    assert_eq!(waiting(&work).len(), owed.len() - 2);
    // What has ended since is not owed any more.
    block_on(port.settle(vec![outcome(claim, &legs(&owed[300..301]), LegState::Delivered)]))
        .unwrap();
    assert!(block_on(port.owed(ids(&owed[300..301]))).unwrap().is_empty());
}

#[test]
fn d4_each_channel_has_its_own_line() {
    let (_folder, path) = place();
    let port = open(&path);
    board(&port, "/boards/one.db");
    let mut plans = plans(1..=MANY);
    for plan in plans.iter_mut().skip(1).step_by(2) {
        plan.profile = "other".to_owned();
    }
    // A chat of a platform whose name is written in another way than the channel's.
    let key =
        SubKey { platform: " Telegram ".to_owned(), chat: "42".to_owned(), ..plans[0].key.clone() };
    plans[0].key = key;
    plans[0].legs[0].kind = kanban_notify::leg::LegKind::Ping;
    owe(&port, plans);
    let count =
        |(name, copies): (&ChannelName, &Vec<SubscriptionId>)| (name.0.clone(), copies.len());
    assert_eq!(
        work(&port).waiting.iter().map(count).collect::<Vec<_>>(),
        [
            ("api_server/default".into(), 299),
            ("api_server/other".into(), 300),
            ("telegram".into(), 1)
        ]
    );
}
