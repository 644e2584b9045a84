//! What is owed and not held waits in the ledger, and comes in its turn (laws D1, D4, D10).

use kanban_notify::verdict::{Detail, Receipt};

use super::*;

/// How many lanes in line are enough here.
pub(super) const LINE: usize = 8;

/// A ledger with so many sessions, each with one event that is planned in this order.
pub(super) struct Ledger(pub(super) Vec<Owed>);

impl Ledger {
    pub(super) fn new(sessions: i64) -> Self {
        let of = |id: i64| {
            let key = SubKey { task: format!("t_{id}"), ..key("api_server", &format!("s{id:03}")) };
            owed(id, key, &[id])
        };
        Self((1..=sessions).map(of).collect())
    }

    /// Something happened to a session's task: its row, and that it is on its way into the ledger.
    pub(super) fn happens(&mut self, bench: &mut Bench, session: i64, events: &[i64]) {
        let at = usize::try_from(session - 1).unwrap();
        let key = self.0[at].subscription.key.clone();
        self.0[at] = owed(session, key.clone(), events);
        let latest = events.last().copied().unwrap();
        let event = Event { task: key.task.clone(), ..event(latest) };
        bench.commit();
        bench.at(bench.now.after(Duration::from_secs(1)));
        let copy = self.0[at].subscription.clone();
        bench.pass(seen(vec![event], vec![row(key, Some(OURS))]), &[copy]);
    }

    /// Answers what the engine fetches; says which copies those were.
    pub(super) fn fetched(&self, bench: &mut Bench) -> Vec<i64> {
        let copies = bench.take(|command| match command {
            Command::LoadOwed(copies) => Some(copies.clone()),
            _ => None,
        });
        let Some(copies) = copies else { return Vec::new() };
        let of = |id: &SubscriptionId| self.0.iter().find(|owed| owed.subscription.id == *id);
        bench.feed(Input::Owed(copies.iter().filter_map(of).cloned().collect()));
        copies.iter().map(|id| id.0).collect()
    }

    /// Everything of it waits.
    pub(super) fn work(&self) -> Work {
        let ids = self.0.iter().map(|owed| owed.subscription.id).collect();
        Work { waiting: [(ChannelName::api_server("default"), ids)].into(), ..Work::default() }
    }

    /// Looks at the rows that are asked for, all of which are as they were.
    pub(super) fn looked(&self, bench: &mut Bench) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some((opening, request)) = bench.read() {
            let of = |key: &SubKey| self.0.iter().find(|owed| owed.subscription.key == *key);
            let copies: Vec<Subscription> =
                request.watch.iter().filter_map(of).map(|owed| owed.subscription.clone()).collect();
            let rows =
                request.watch.iter().map(|key| (key.clone(), Some(row(key.clone(), Some(OURS)))));
            let pass = Box::new(Pass { watched: rows.collect(), ..Pass::default() });
            seen.extend(request.watch.into_iter().map(|key| key.chat));
            bench.feed(Input::PassRead { opening, pass, copies });
        }
        seen
    }
}

pub(super) fn bench(work: Work) -> Bench {
    let policy = Policy { concurrency: 2, ..Policy::default() };
    Bench::with(policy, world(false, true), work, |engine| engine.with_line(LINE))
}

/// The session of the next intent, which is recorded and delivered.
pub(super) fn delivered(bench: &mut Bench, claim: &mut i64) -> Option<String> {
    let intent = bench.intent()?;
    *claim += 1;
    bench.feed(Input::Intended(vec![(intent.clone(), IntentResult::Won(ClaimId(*claim)))]));
    bench.sent(*claim, Verdict::Delivered(Receipt::default()));
    Some(intent.lane.split_once(' ').unwrap().1.to_owned())
}

/// Delivers everything; the order, and the most legs that were held at a time.
pub(super) fn all_delivered(bench: &mut Bench, ledger: &Ledger) -> (Vec<String>, usize) {
    let (mut told, mut most, mut claim) = (Vec::new(), 0, 0);
    loop {
        most = most.max(bench.engine.held());
        let fetched = ledger.fetched(bench);
        most = most.max(bench.engine.held());
        ledger.looked(bench);
        match delivered(bench, &mut claim) {
            Some(session) => told.push(session),
            None if fetched.is_empty() => return (told, most),
            None => {}
        }
    }
}

pub(super) fn sessions(count: usize) -> Vec<String> {
    (1..=count).map(|id| format!("s{id:03}")).collect()
}

#[test]
fn d4_of_all_that_is_open_at_a_start_little_is_held_and_each_is_told_in_its_turn() {
    let ledger = Ledger::new(200);
    let mut bench = bench(ledger.work());
    let (told, most) = all_delivered(&mut bench, &ledger);
    assert_eq!(told, sessions(200));
    assert!(most <= 2 * LINE, "{most} legs were held");
    assert_eq!(bench.engine.held(), 0);
    assert!(bench.engine.is_idle(bench.now));
}

#[test]
fn d4_what_plans_leave_open_is_held_as_far_as_there_is_room_and_the_rest_waits_its_turn() {
    let ledger = Ledger::new(200);
    let mut bench = bench(Work::default());
    // 20 plans of 10 events each, faster than anything is delivered.
    for owed in ledger.0.chunks(10) {
        bench.commit();
        bench.now = bench.now.after(Duration::from_millis(100));
        bench.feed(Input::Tick);
        let of = |owed: &Owed| Event {
            task: owed.subscription.key.task.clone(),
            ..event(owed.legs[0].leg.event.0)
        };
        let rows = owed.iter().map(|owed| row(owed.subscription.key.clone(), Some(OURS)));
        bench.pass(seen(owed.iter().map(of).collect(), rows.collect()), &[]);
        bench.planned(owed.to_vec());
    }
    assert!(bench.engine.held() <= LINE + 10, "{} legs are held", bench.engine.held());
    assert!(!bench.engine.is_idle(bench.now));
    let (told, most) = all_delivered(&mut bench, &ledger);
    assert_eq!(told, sessions(200));
    assert!(most <= 2 * LINE + 10, "{most} legs were held");
}

#[test]
fn d10_what_is_fetched_is_sent_only_after_its_row_was_looked_at() {
    let ledger = Ledger::new(20);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    assert_eq!(ledger.fetched(&mut bench), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(bench.intent().is_none(), "sent before it was looked at");
    // The row of one has ended meanwhile, and the cursor of another has passed its event.
    let (opening, request) = bench.read().expect("a look");
    assert_eq!(request.watch.len(), 8);
    let copies: Vec<Subscription> =
        ledger.0.iter().take(8).map(|owed| owed.subscription.clone()).collect();
    let watched = request.watch.iter().map(|key| {
        let mut row = row(key.clone(), Some(OURS));
        row.cursor = EventId(if key.chat == "s002" { 9 } else { 0 });
        (key.clone(), (key.chat != "s001").then_some(row))
    });
    let mut ended = ledger.0[0].subscription.clone();
    ended.adopted = None;
    let copies = copies.into_iter().skip(1).chain([ended]).collect();
    let pass = Pass { watched: watched.collect(), ..Pass::default() };
    bench.feed(Input::PassRead { opening, pass: Box::new(pass), copies });
    let mut closes: Vec<_> = bench
        .planned(Vec::new())
        .closes
        .into_iter()
        .map(|(leg, state, _)| (leg.0, state))
        .collect();
    closes.sort_unstable();
    assert_eq!(closes, [(1_001, LegState::Cancelled), (2_002, LegState::Taken)]);
    assert_eq!(delivered(&mut bench, &mut 0).as_deref(), Some("s003"));
}

#[test]
fn d4_a_full_channel_is_in_nobody_elses_way() {
    let ledger = Ledger::new(100);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    ledger.looked(&mut bench);
    // What the other channel has comes with the same plan as more for the full one.
    let (ping, late) = (owed(201, key("console", "me"), &[201]), owed(202, session(), &[202]));
    let rows = [&ping, &late].map(|owed| row(owed.subscription.key.clone(), Some(OURS)));
    bench.commit();
    bench.at(seconds(1));
    bench.pass(seen(vec![event(201), event(202)], rows.into()), &[]);
    let held = bench.engine.held();
    bench.planned(vec![ping, late]);
    assert_eq!(bench.engine.held(), held + 1);
    let lanes: Vec<String> =
        std::iter::from_fn(|| bench.intent()).map(|intent| intent.lane).collect();
    assert!(lanes.contains(&"console me".to_owned()), "{lanes:?}");
}

#[test]
fn d1_what_could_not_be_fetched_is_found_again() {
    let ledger = Ledger::new(30);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    let asked = |bench: &mut Bench| {
        bench.take(|command| matches!(command, Command::LoadOwed(_)).then_some(()))
    };
    asked(&mut bench).expect("something is fetched");
    bench.feed(Input::OwedFailed);
    assert!(!bench.engine.is_idle(bench.now));
    assert!(asked(&mut bench).is_none(), "not at once");
    bench.out.clear();
    bench.at(seconds(1));
    assert!(bench.out.contains(&Command::LoadWork(Vec::new())));
    bench.feed(Input::Work(Box::new(ledger.work())));
    assert_eq!(all_delivered(&mut bench, &ledger).0, sessions(30));
}

#[test]
fn d9_what_is_held_stays_held_when_the_ledger_is_read_again() {
    let ledger = Ledger::new(30);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    bench.out.retain(|command| !matches!(command, Command::LoadWork(_)));
    bench.feed(Input::Disturbed);
    let held = bench.wanted("the ledger", |command| match command {
        Command::LoadWork(held) => Some(held.clone()),
        _ => None,
    });
    assert_eq!(held.len(), LINE);
    // One of them has been dealt with by somebody else.
    let owed = ledger.0[1..LINE].to_vec();
    let waiting = ledger.0[LINE..].iter().map(|owed| owed.subscription.id).collect();
    let waiting = [(ChannelName::api_server("default"), waiting)].into();
    bench.feed(Input::Work(Box::new(Work { owed, waiting, ..Work::default() })));
    assert_eq!(bench.engine.held(), LINE - 1);
    assert_eq!(all_delivered(&mut bench, &ledger).0, sessions(30)[1..]);
}

#[test]
fn b6_a_board_that_cannot_be_looked_at_is_in_nobody_elses_way() {
    let mut ledger = Ledger::new(40);
    // The first ones are another board's, which is open and cannot be read.
    for owed in ledger.0.iter_mut().take(20) {
        owed.board = BoardId(2);
    }
    let mut bench = bench(ledger.work());
    bench.feed(Input::Change(Change::Opened(BoardStart {
        id: BoardId(2),
        slug: "broken".into(),
        incarnation: Incarnation(1),
        position: Position::default(),
        has_delivery_mode: false,
    })));
    let mut told = Vec::new();
    let mut claim = 0;
    for _ in 0..200 {
        while let Some((opening, _)) = bench.take(|command| match command {
            Command::Read(opening, request) if opening.board == BoardId(2) => {
                Some((*opening, request.clone()))
            }
            _ => None,
        }) {
            bench.feed(Input::ReadFailed(opening));
        }
        ledger.fetched(&mut bench);
        if !bench.out.iter().any(|c| matches!(c, Command::Read(o, _) if o.board == BoardId(2))) {
            ledger.looked(&mut bench);
        }
        told.extend(delivered(&mut bench, &mut claim));
    }
    assert_eq!(told, sessions(40)[20..]);
}

#[test]
fn d8_a_channel_that_rests_holds_no_more_and_then_goes_on_with_what_waits() {
    let ledger = Ledger::new(40);
    let mut bench = bench(ledger.work());
    ledger.looked(&mut bench);
    ledger.fetched(&mut bench);
    ledger.looked(&mut bench);
    bench.intended(1);
    bench.intended(2);
    bench.sent(1, Verdict::Unreachable { detail: Detail::new("nobody") });
    bench.sent(2, Verdict::Unreachable { detail: Detail::new("nobody") });
    assert!(ledger.fetched(&mut bench).is_empty());
    assert!(bench.intent().is_none());
    // What is new waits behind the others, in the ledger.
    let late = owed(41, session(), &[41]);
    bench.commit();
    bench.pass(seen(vec![event(41)], vec![row(session(), Some(OURS))]), &[]);
    bench.planned(vec![late.clone()]);
    assert_eq!(bench.engine.held(), LINE);
    bench.at(seconds(60));
    let ledger = Ledger(ledger.0.into_iter().chain([late]).collect());
    let told = all_delivered(&mut bench, &ledger).0;
    assert_eq!(told, [sessions(40), vec!["s".to_owned()]].concat());
}
