//! Tasks with many events, and many open rows (laws D4, F2).

use std::time::Instant;

use kanban_notify::{record::Part, verdict::Receipt};

use super::*;

/// The lane of the next intent, recorded under the next number.
fn recorded(bench: &mut Bench, claim: &mut i64) -> Option<String> {
    let intent = bench.intent()?;
    *claim += 1;
    bench.feed(Input::Intended(vec![(intent.clone(), IntentResult::Won(ClaimId(*claim)))]));
    Some(intent.lane)
}

#[test]
fn d4_who_has_heard_all_that_was_read_of_a_task_does_not_wait_for_a_slower_one() {
    let chats = [key("console", "slow"), key("console", "fast")];
    let mut bench = Bench::new(Policy::default(), world(true, true), Work::default());
    let rows = chats.iter().map(|key| row(key.clone(), None)).collect();
    let part = Part { task: "t_1".into(), up_to: Some(EventId(600)), ..Part::default() };
    let all: Vec<i64> = (1..=600).collect();
    let events = all.iter().map(|id| event(*id)).collect();
    bench.pass(Pass { parts: vec![part], ..seen(events, rows) }, &[]);
    bench.planned(chats.into_iter().zip(1..).map(|(key, id)| owed(id, key, &all)).collect());
    // Both have much to do: the rest stays where it is.
    let resumed = |bench: &mut Bench| bench.pass(Pass::default(), &[]).resume;
    assert_eq!(resumed(&mut bench), [("t_1".to_owned(), None)]);
    let mut claim = 0;
    while let Some(lane) = recorded(&mut bench, &mut claim) {
        if lane == "console fast" {
            bench.sent(claim, Verdict::Delivered(Receipt::default()));
        }
    }
    assert_eq!(claim, 601, "all of the one, and one request of the other");
    bench.at(seconds(1));
    assert_eq!(resumed(&mut bench), [("t_1".to_owned(), Some(EventId(600)))]);
}

/// How long the engine takes to hold so many open rows against their board.
#[expect(clippy::disallowed_methods, reason = "it is the engine's speed that is measured")]
fn first_look(rows: i64) -> Duration {
    let keys = (1..=rows).map(|n| SubKey { task: format!("t_{n}"), ..key("console", "a") });
    let keys: Vec<SubKey> = keys.collect();
    let open = keys.iter().cloned().zip(1..).map(|(key, id)| owed(id, key, &[5])).collect();
    let copy = |(key, id): (SubKey, i64)| copy(id, key, Life::Live);
    let copies: Vec<Subscription> = keys.iter().cloned().zip(1..).map(copy).collect();
    let shown = keys.iter().map(|key| (key.clone(), Some(row(key.clone(), None))));
    let pass = Pass { watched: shown.collect(), ..Pass::default() };
    let mut bench = Bench::new(Policy::default(), world(false, true), work(open));
    let begun = Instant::now();
    bench.pass(pass, &copies);
    begun.elapsed()
}

#[test]
fn f2_a_look_at_all_open_rows_costs_what_their_number_is_and_not_its_square() {
    // Sixteen times as many: in squares that would be 256 times as long, at the best of moments too. What
    // else the machine does makes single looks long, and never short.
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        (few, many) = (few.min(first_look(500)), many.min(first_look(8_000)));
        if many < few.saturating_mul(64) {
            return;
        }
    }
    panic!("{few:?}, {many:?}");
}
