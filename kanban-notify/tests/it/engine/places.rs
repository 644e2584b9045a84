//! Who gets a place among the requests in flight, and when (laws D4, D6).

use kanban_notify::{
    record::{Sweep, Work},
    verdict::{Detail, Receipt},
};

use super::*;

/// One place, and three chats that each wait for one.
fn one_place(events: &[i64]) -> Bench {
    let policy = Policy { concurrency: 1, ..Policy::default() };
    let owed = |(at, name): (usize, &str)| {
        let id = i64::try_from(at).unwrap() + 1;
        let events: Vec<i64> = events.iter().map(|event| event * 10 - id).collect();
        owed(id, key("console", name), &events)
    };
    // The oldest event is that of the last name.
    let owed = ["a", "b", "c"].into_iter().enumerate().map(owed).collect();
    let mut bench = Bench::new(policy, world(false, true), Work { owed, ..Work::default() });
    bench.pass(Pass::default(), &[]);
    bench
}

fn delivered() -> Verdict {
    Verdict::Delivered(Receipt::default())
}

#[test]
fn d4_the_oldest_event_goes_first_and_nobody_goes_twice_before_all_went_once() {
    let mut bench = one_place(&[1, 2, 3]);
    let mut lanes = Vec::new();
    for claim in 1..=9 {
        lanes.push(bench.intended(claim).lane);
        assert!(bench.intent().is_none(), "one at a time");
        bench.sent(claim, delivered());
    }
    let names: Vec<&str> = lanes.iter().map(|lane| lane.split_once(' ').unwrap().1).collect();
    assert_eq!(names, ["c", "b", "a", "c", "b", "a", "c", "b", "a"]);
}

#[test]
fn d6_who_waits_for_a_place_and_has_nothing_to_send_any_more_takes_it_from_nobody() {
    let mut bench = one_place(&[1]);
    assert_eq!(bench.intended(1).lane, "console c");
    // The second one's row goes while it waits.
    let gone = copy(2, key("console", "b"), Life::Live);
    bench.commit();
    bench.at(seconds(1));
    let watched = vec![(gone.key.clone(), None)];
    bench.pass(Pass { watched, ..Pass::default() }, &[gone]);
    bench.planned(Vec::new());
    bench.sent(1, delivered());
    assert_eq!(bench.intended(2).lane, "console a");
}

#[test]
fn d6_a_claim_that_is_found_out_about_needs_a_place_too() {
    let policy = Policy { concurrency: 1, ..Policy::default() };
    let both =
        ["a", "b"].map(|name| owed(if name == "a" { 1 } else { 2 }, key("console", name), &[5]));
    let mut bench = Bench::new(policy, world(false, true), work(both.into()));
    bench.pass(Pass::default(), &[]);
    bench.intended(1);
    bench.sent(1, Verdict::Unknown { detail: Detail::new("cut") });
    bench.intended(2);
    let again = |bench: &mut Bench| {
        bench.take(|command| match command {
            Command::Send(ClaimId(1), _) => Some(()),
            _ => None,
        })
    };
    assert!(again(&mut bench).is_some(), "its first try");
    bench.at(seconds(60));
    assert!(again(&mut bench).is_none(), "the place is taken");
    bench.sent(2, delivered());
    assert!(again(&mut bench).is_some());
}

/// A backlog that nobody has seen stays on the board until there is need of it; what is new is read on.
#[test]
fn f2_a_sweep_goes_on_as_fast_as_is_delivered() {
    let many = (1..=1_100).map(|id| owed(id, key("api_server", &format!("s{id}")), &[5])).collect();
    let mut bench = Bench::new(Policy::default(), world(false, true), work(many));
    bench.pass(Pass { sweep_from: Some(EventId(7)), ..Pass::default() }, &[]);
    assert!(bench.read().is_none(), "1 100 are enough");
    bench.commit();
    let tail = bench.pass(Pass::default(), &[]);
    assert_eq!(tail.sweep, Sweep::No);
    assert!(!bench.engine.is_idle(bench.now));

    let mut count = 0;
    let next = loop {
        count += 1;
        assert!(count < 200, "it never goes on");
        bench.intended(count);
        bench.sent(count, delivered());
        if let Some((_, request)) = bench.read() {
            break request;
        }
    };
    assert!(count > 50, "{count}");
    assert_eq!(next.sweep, Sweep::Above(EventId(7)));
}
