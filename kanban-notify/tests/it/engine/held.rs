//! What is held in memory is bounded, whatever keeps it from being sent (laws D4, D8).

use kanban_notify::verdict::{Detail, Receipt};

use super::{
    waiting::{LINE, Ledger, all_delivered, bench, delivered, sessions},
    *,
};

/// How many legs of a channel are enough here.
const MOST: usize = 4 * LINE;

/// Fetches as long as something is asked for; what is sent ends so. The most legs that were held.
fn held(bench: &mut Bench, ledger: &Ledger, verdict: Option<Verdict>) -> usize {
    let (mut most, mut claim) = (0, 1_000);
    for _ in 0..1_000 {
        ledger.fetched(bench);
        ledger.looked(bench);
        most = most.max(bench.engine.held());
        if let Some(verdict) = &verdict
            && let Some(intent) = bench.intent()
        {
            claim += 1;
            bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(claim)))]));
            bench.sent(claim, verdict.clone());
        }
    }
    most
}

fn busy() -> Verdict {
    Verdict::Busy { retry_after: None, detail: Detail::new("503") }
}

#[test]
fn d8_little_is_held_of_what_a_receiver_is_too_busy_for_and_later_all_is_told() {
    let ledger = Ledger::new(400);
    let mut bench = bench(ledger.work());
    let most = held(&mut bench, &ledger, Some(busy()));
    assert!(most <= MOST, "{most} legs were held");
    let (mut told, mut claim) = (Vec::new(), 10_000);
    while told.len() < 400 {
        ledger.fetched(&mut bench);
        ledger.looked(&mut bench);
        match delivered(&mut bench, &mut claim) {
            Some(session) => told.push(session),
            None => bench.at(bench.now.after(Duration::from_secs(60))),
        }
    }
    told.sort();
    assert_eq!(told, sessions(400));
    assert_eq!(bench.engine.held(), 0);
}

#[test]
fn d4_little_is_held_of_what_one_session_is_owed_and_turn_after_turn_tells_all() {
    let mut ledger = Ledger::new(400);
    for owed in &mut ledger.0 {
        owed.subscription.key.chat = "same".into();
    }
    let mut bench = bench(ledger.work());
    let most = held(&mut bench, &ledger, None);
    assert!(most <= MOST, "{most} legs were held");
    let (mut legs, mut claim) = (Vec::new(), 0);
    while let Some(intent) = bench.intent() {
        claim += 1;
        legs.extend(intent.legs.clone());
        bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(claim)))]));
        bench.sent(claim, Verdict::Delivered(Receipt::default()));
        while !ledger.fetched(&mut bench).is_empty() {
            ledger.looked(&mut bench);
        }
    }
    // Each turn gathers what came during the one before it: half of what is held, on the whole.
    assert!(claim <= 400 / i64::try_from(MOST / 2).unwrap() + 1, "{claim} turns");
    let of = |owed: &Owed| owed.legs[0].leg.id;
    assert_eq!(legs, ledger.0.iter().map(of).collect::<Vec<_>>());
}

#[test]
fn b6_little_is_held_of_what_a_board_is_owed_that_is_not_there() {
    let mut ledger = Ledger::new(400);
    for owed in &mut ledger.0 {
        owed.board = BoardId(2);
    }
    let mut bench = bench(ledger.work());
    let most = held(&mut bench, &ledger, None);
    assert!(most <= MOST, "{most} legs were held");
}

#[test]
fn d4_what_a_busy_receiver_holds_up_is_in_no_other_channels_way() {
    let mut ledger = Ledger::new(200);
    let chat = |id: i64| {
        let key = SubKey { task: format!("t_{id}"), ..key("console", &format!("c{id}")) };
        owed(id, key, &[id])
    };
    let chats: Vec<Owed> = (301..=340).map(chat).collect();
    let mut work = ledger.work();
    let ids = chats.iter().map(|owed| owed.subscription.id).collect();
    work.waiting.insert(ChannelName("console".into()), ids);
    ledger.0.extend(chats);
    let mut bench = bench(work);
    let (mut told, mut claim) = (Vec::new(), 0);
    for _ in 0..1_000 {
        ledger.fetched(&mut bench);
        ledger.looked(&mut bench);
        let Some(intent) = bench.intent() else { continue };
        claim += 1;
        let chat = intent.lane.starts_with("console");
        let verdict = if chat { Verdict::Delivered(Receipt::default()) } else { busy() };
        told.extend(chat.then(|| intent.lane.clone()));
        bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(claim)))]));
        bench.sent(claim, verdict);
    }
    let chats = (301..=340).map(|id| format!("console c{id}"));
    assert_eq!(told, chats.collect::<Vec<_>>());
}

#[test]
fn d4_copies_with_many_events_come_whole_and_no_more_of_them_than_there_is_room_for() {
    let mut ledger = Ledger::new(40);
    for (at, copy) in ledger.0.iter_mut().enumerate() {
        let first = i64::try_from(at * 10 + 1).unwrap();
        let events: Vec<i64> = (first..first + 10).collect();
        *copy = owed(copy.subscription.id.0, copy.subscription.key.clone(), &events);
    }
    let mut bench = bench(ledger.work());
    let (told, most) = all_delivered(&mut bench, &ledger);
    assert_eq!(told, sessions(40));
    assert!(most < MOST + 10, "{most} legs were held");
}

/// Of 200 sessions on one channel the first half cannot be told; whether all others are, within a few minutes.
fn others_are_told(ledger: &Ledger, bench: &mut Bench, fate: impl Fn(usize) -> Option<Verdict>) {
    let (mut told, mut claim, mut most) = (Vec::new(), 0, 0);
    for _ in 0..1_000 {
        ledger.fetched(bench);
        ledger.looked(bench);
        most = most.max(bench.engine.held());
        let Some(intent) = bench.intent() else {
            bench.at(bench.now.after(Duration::from_secs(1)));
            continue;
        };
        claim += 1;
        let at = ledger.0.iter().position(|owed| owed.legs[0].leg.id == intent.legs[0]).unwrap();
        bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(claim)))]));
        if let Some(verdict) = fate(at) {
            told.extend(matches!(verdict, Verdict::Delivered(_)).then_some(at));
            bench.sent(claim, verdict);
        }
    }
    told.sort_unstable();
    assert_eq!(told, (100..200).collect::<Vec<_>>());
    assert!(most <= MOST, "{most} legs were held");
}

fn delivered_to_others(at: usize) -> Option<Verdict> {
    (at >= 100).then(|| Verdict::Delivered(Receipt::default()))
}

#[test]
fn d4_sessions_that_are_busy_are_in_no_other_sessions_way() {
    let ledger = Ledger::new(200);
    let mut bench = bench(ledger.work());
    others_are_told(&ledger, &mut bench, |at| delivered_to_others(at).or(Some(busy())));
}

#[test]
fn d4_a_session_that_is_owed_much_and_does_not_answer_is_in_no_other_sessions_way() {
    let mut ledger = Ledger::new(200);
    for owed in ledger.0.iter_mut().take(100) {
        owed.subscription.key.chat = "same".into();
    }
    let mut bench = bench(ledger.work());
    others_are_told(&ledger, &mut bench, delivered_to_others);
}

#[test]
fn b6_a_board_that_is_not_there_is_in_no_other_boards_way() {
    let mut ledger = Ledger::new(200);
    for owed in ledger.0.iter_mut().take(100) {
        owed.board = BoardId(2);
    }
    let mut bench = bench(ledger.work());
    others_are_told(&ledger, &mut bench, delivered_to_others);
}
