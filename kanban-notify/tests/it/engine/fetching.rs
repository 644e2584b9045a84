//! What comes from the ledger while plans and reads are under way (laws D1, D4, D10).

use kanban_notify::verdict::Receipt;

use super::{
    waiting::{Ledger, all_delivered, bench, delivered, sessions},
    *,
};

/// Of so many sessions the first ones are held, and two of them were just told. A plan about another that
/// waits is on its way into the ledger, and behind it what fetches that one.
fn raced(ledger: &mut Ledger) -> Bench {
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    ledger.looked(&mut bench);
    bench.intended(1);
    bench.intended(2);
    ledger.happens(&mut bench, 9, &[9, 101]);
    for claim in [1, 2] {
        let verdict = Verdict::Delivered(Receipt::default());
        bench.feed(Input::Sent { claim: ClaimId(claim), verdict });
    }
    assert!(bench.out.iter().any(|command| matches!(command, Command::LoadOwed(_))));
    bench.planned(vec![ledger.0[8].clone()]);
    bench.settled();
    bench.settled();
    bench
}

#[test]
fn d1_what_is_fetched_behind_a_plan_about_it_waits_for_its_next_turn_too() {
    let mut ledger = Ledger::new(60);
    let mut bench = raced(&mut ledger);
    assert!(ledger.fetched(&mut bench).contains(&9));
    let mut claim = 2;
    while bench.engine.holds(ledger.0[8].legs[0].leg.id) {
        ledger.looked(&mut bench);
        delivered(&mut bench, &mut claim).expect("something is sent");
        ledger.fetched(&mut bench);
    }
    // More happens to it, while others still wait.
    ledger.looked(&mut bench);
    ledger.happens(&mut bench, 9, &[201]);
    bench.planned(vec![ledger.0[8].clone()]);
    let mut told = Vec::new();
    for _ in 0..400 {
        ledger.fetched(&mut bench);
        ledger.looked(&mut bench);
        told.extend(delivered(&mut bench, &mut claim));
        bench.at(bench.now.after(Duration::from_secs(60)));
    }
    assert!(told.contains(&"s009".to_owned()), "it is in nobody's line");
}

#[test]
fn d10_what_a_plan_tells_of_and_is_being_fetched_is_looked_at_first() {
    let mut ledger = Ledger::new(12);
    let mut bench = raced(&mut ledger);
    assert!(ledger.fetched(&mut bench).contains(&9));
    let mut claim = 2;
    let told: Vec<String> = std::iter::from_fn(|| delivered(&mut bench, &mut claim)).collect();
    assert!(!told.contains(&"s009".to_owned()), "sent before its row was looked at");
    assert!(ledger.looked(&mut bench).contains(&"s009".to_owned()));
    assert_eq!(delivered(&mut bench, &mut claim).as_deref(), Some("s009"));
}

#[test]
fn d10_what_comes_when_the_ledger_is_read_again_is_looked_at_first() {
    let ledger = Ledger::new(20);
    let mut bench = bench(ledger.work());
    let mut looked = ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    looked.extend(ledger.looked(&mut bench));
    // So little is open by now that all of it is answered.
    bench.feed(Input::Disturbed);
    bench.feed(Input::Work(Box::new(work(ledger.0.clone()))));
    let mut claim = 0;
    let mut told: Vec<String> = std::iter::from_fn(|| delivered(&mut bench, &mut claim)).collect();
    assert_eq!(told, looked);
    ledger.looked(&mut bench);
    told.extend(std::iter::from_fn(|| delivered(&mut bench, &mut claim)));
    assert_eq!(told, sessions(20));
}

/// A subscription to messages and wakes that is owed both for each of these events.
fn both(id: i64, events: &[i64]) -> Owed {
    let mut owed = owed(id, key("console", "both"), events);
    for at in 0..events.len() {
        let mut wake = owed.legs[at].clone();
        wake.leg.id = LegId(wake.leg.id.0 + 500);
        wake.leg.kind = LegKind::Wake;
        wake.facts.session = Some("both".into());
        owed.legs.push(wake);
    }
    owed
}

#[test]
fn d10_what_waits_and_comes_with_a_plan_is_looked_at_first() {
    let mut ledger = Ledger::new(40);
    let mut waits = both(41, &[41]);
    waits.legs.remove(0);
    ledger.0.push(waits);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    ledger.looked(&mut bench);
    // Of the next event a message is owed too, for which there is room.
    let key = ledger.0[40].subscription.key.clone();
    bench.commit();
    bench.at(seconds(1));
    let copy = ledger.0[40].subscription.clone();
    bench.pass(seen(vec![event(101)], vec![row(key, Some(OURS))]), &[copy]);
    ledger.0[40].legs.extend(both(41, &[101]).legs);
    bench.planned(vec![ledger.0[40].clone()]);
    let message = |bench: &Bench| {
        let to = |command: &Command| matches!(command, Command::Intend(intent) if intent.lane == "console both");
        bench.out.iter().any(to)
    };
    assert!(!message(&bench), "sent before its row was looked at");
    assert!(ledger.looked(&mut bench).contains(&"both".to_owned()));
    assert!(message(&bench));
}

#[test]
fn d4_what_waited_on_two_channels_and_was_fetched_for_one_is_in_neither_line() {
    let mut ledger = Ledger::new(8);
    let chat = |id: i64| {
        let key = SubKey { task: format!("t_{id}"), ..key("console", &format!("c{id}")) };
        owed(id, key, &[id])
    };
    let ids = |owed: &[Owed]| owed.iter().map(|owed| owed.subscription.id).collect::<Vec<_>>();
    let (sessions, chats) = (ids(&ledger.0[..4]), (11..=18).map(chat).collect::<Vec<_>>());
    let two = both(50, &[50]);
    let waiting = [
        (ChannelName::api_server("default"), [sessions, vec![two.subscription.id]].concat()),
        (ChannelName("console".into()), [ids(&chats), vec![two.subscription.id]].concat()),
    ];
    ledger.0.extend(chats);
    ledger.0.push(two);
    let mut bench = bench(Work { waiting: waiting.into(), ..Work::default() });
    all_delivered(&mut bench, &ledger);
    assert_eq!(bench.engine.held(), 0);
    // What is new finds room.
    let late = owed(60, key("console", "late"), &[160]);
    bench.commit();
    bench.at(seconds(1));
    let late_row = row(late.subscription.key.clone(), Some(OURS));
    bench.pass(seen(vec![event(160)], vec![late_row]), &[]);
    bench.planned(vec![late.clone()]);
    assert!(bench.engine.holds(late.legs[0].leg.id), "it waits behind nobody");
}
