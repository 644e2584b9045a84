//! Who is next among all that wait for one chat (laws D4, D5).

use kanban_notify::verdict::{Detail, Receipt};

use super::*;

fn chat(id: i64) -> SubKey {
    SubKey { task: format!("t_{id}"), ..key("console", "a") }
}

/// What waits for one chat: subscriptions with their events, each so many seconds old.
fn waiting(subscriptions: &[(i64, &[(i64, u64)])]) -> Bench {
    let mut all = Vec::new();
    for (id, events) in subscriptions {
        let numbers: Vec<i64> = events.iter().map(|(event, _)| *event).collect();
        let mut open = owed(*id, chat(*id), &numbers);
        for (leg, (_, age)) in open.legs.iter_mut().zip(*events) {
            leg.facts.at = NOW.before(Duration::from_secs(*age));
        }
        all.push(open);
    }
    let copies: Vec<Subscription> = all.iter().map(|owed| owed.subscription.clone()).collect();
    let shown = |copy: &Subscription| (copy.key.clone(), Some(row(copy.key.clone(), None)));
    let watched = copies.iter().map(shown).collect();
    let mut bench = Bench::new(Policy::default(), world(false, true), work(all));
    bench.pass(Pass { watched, ..Pass::default() }, &copies);
    bench
}

/// The events in the order in which they go.
fn delivered(bench: &mut Bench, claim: &mut i64) -> Vec<i64> {
    let mut events = Vec::new();
    while let Some(intent) = bench.intent() {
        *claim += 1;
        events.extend(intent.legs.iter().map(|leg| leg.0 % 1_000));
        bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(*claim)))]));
        bench.sent(*claim, Verdict::Delivered(Receipt::default()));
    }
    events
}

#[test]
fn d4_the_oldest_event_goes_first_whoever_subscribed_first() {
    let mut bench = waiting(&[
        (1, &[(9, 0), (10, 0)]),
        (2, &[(5, 0), (12, 0)]),
        (3, &[(7, 0)]),
        (4, &[(20, 60), (21, 0)]),
    ]);
    assert_eq!(delivered(&mut bench, &mut 0), [20, 5, 7, 9, 10, 12, 21]);
}

#[test]
fn d4_the_order_of_a_subscription_is_kept_where_a_clock_stepped_back() {
    let mut bench = waiting(&[(1, &[(5, 0), (6, 90)]), (2, &[(7, 60)])]);
    assert_eq!(delivered(&mut bench, &mut 0), [7, 5, 6]);
}

#[test]
fn d4_who_is_put_off_lets_the_others_pass_and_keeps_its_own_order() {
    let mut bench = waiting(&[(1, &[(5, 0), (8, 0)]), (2, &[(6, 0)]), (3, &[(7, 0)])]);
    let first = bench.intended(1);
    assert_eq!(first.legs, [LegId(1_005)]);
    bench.sent(1, Verdict::Retryable { retry_after: None, detail: Detail::new("500") });
    assert_eq!(delivered(&mut bench, &mut 1), [6, 7]);
    bench.at(seconds(3_600));
    assert_eq!(delivered(&mut bench, &mut 3), [5, 8], "a timer was set for it");
}
