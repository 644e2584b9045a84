//! Reading and planning: failures, boards opened anew, clocks, and whose a row is meanwhile.

use std::collections::BTreeSet;

use kanban_notify::{
    engine::Notice,
    history::SessionView,
    record::{Aged, AgedRows, Raise, RowOutcome, Sweep},
    verdict::Detail,
};

use super::*;

/// A board that was read once and shows nothing.
fn quiet(policy: Policy, work: Work) -> Bench {
    let mut bench = Bench::new(policy, world(true, true), work);
    bench.pass(Pass::default(), &[]);
    bench
}

#[test]
fn o2_a_new_row_whose_plan_failed_is_shown_again() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.at(seconds(1));
    bench.commit();
    // Without any event, only the tail over rowids can see it.
    bench.pass(seen(vec![], vec![row(session(), None)]), &[]);
    bench.plan_fails();
    bench.at(seconds(5));
    let (_, request) = bench.read().expect("it is read again");
    assert_eq!((request.after.rowid, request.after.row_print), (0, None));
}

#[test]
fn o3_what_a_vanished_row_is_owed_survives_a_failed_plan() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.at(seconds(1));
    bench.commit();
    let copies = [copy(1, session(), Life::Offered)];
    bench.pass(seen(vec![event(5)], vec![]), &copies);
    bench.plan_fails();
    bench.at(seconds(5));
    let request = bench.pass(seen(vec![event(5)], vec![]), &copies);
    assert_eq!(request.after.event, EventId(0));
    assert_eq!(bench.planned(vec![]).subscriptions[0].legs.len(), 1);
    bench.at(seconds(60));
    bench.commit();
    assert_eq!(bench.read().expect("the next read").1.after.event, EventId(5));
}

#[test]
fn o2_a_stamp_that_could_not_be_made_is_made_later() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.commit();
    let fresh = || seen(vec![], vec![row(session(), None)]);
    for failure in [None, Some(vec![RowOutcome::Lost])] {
        bench.pass(fresh(), &[]);
        bench.planned(vec![]);
        let (opening, changes) = bench.rows();
        assert!(matches!(changes[0], RowChange::Stamp { .. }));
        bench.feed(Input::RowsChanged { opening, changes, outcomes: failure });
        bench.at(bench.now.after(Duration::from_secs(2)));
    }
    let (_, request) = bench.read().expect("it is read again");
    assert_eq!(request.after.rowid, 0, "the row is shown again");
}

#[test]
fn o2_a_confirmed_stamp_whose_plan_failed_is_confirmed_later() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.commit();
    bench.pass(seen(vec![], vec![row(session(), None)]), &[]);
    bench.planned(vec![]);
    let (opening, changes) = bench.rows();
    let outcomes = Some(vec![RowOutcome::Won]);
    bench.feed(Input::RowsChanged { opening, changes, outcomes });
    bench.pass(Pass::default(), &[]);
    bench.plan_fails();
    bench.at(seconds(5));
    bench.pass(Pass::default(), &[]);
    assert_eq!(bench.planned(vec![]).subscriptions[0].life, Life::Live);
}

#[test]
fn f2_what_is_new_on_a_known_board_waits_for_no_sweep() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.open_at(1, Position { event: EventId(4), ..Position::default() });
    let event = event(5);
    let first = bench.pass(seen(vec![event], vec![row(session(), None)]), &[]);
    assert_eq!((first.sweep, first.after.event), (Sweep::No, EventId(4)));
    assert_eq!(bench.planned(vec![]).subscriptions[0].legs.len(), 1);
    let second = bench.pass(Pass::default(), &[]);
    assert_eq!(second.sweep, Sweep::Above(EventId(0)), "everything else follows");
}

#[test]
fn b6_a_pass_over_the_old_file_is_void_for_the_new_one() {
    let mut bench = Bench::new(Policy::default(), world(true, true), Work::default());
    let (old, _) = bench.read().expect("the first read");
    bench.open(2);
    let pass = Box::new(seen(vec![event(5)], vec![row(session(), Some(OURS))]));
    bench.feed(Input::PassRead { opening: old, pass, copies: vec![] });
    bench.feed(Input::ReadFailed(old));
    assert!(!bench.out.iter().any(|command| matches!(command, Command::Plan(..))));
    bench.pass(seen(vec![event(5)], vec![row(session(), Some(OURS))]), &[]);
    assert_eq!(bench.planned(vec![]).incarnation, Incarnation(2));
}

#[test]
fn b6_what_became_of_a_plan_is_asked_for_when_the_board_was_opened_anew() {
    let mut bench = Bench::new(Policy::default(), world(true, true), Work::default());
    bench.pass(seen(vec![event(5)], vec![row(session(), Some(OURS))]), &[]);
    bench.open(1);
    bench.out.retain(|command| !matches!(command, Command::LoadWork(_)));
    bench.planned(vec![]);
    assert!(bench.out.iter().any(|command| matches!(command, Command::LoadWork(_))));
}

/// Neither sent nor recorded as parked, a leg would wait until the next start.
#[test]
fn w8_a_leg_whose_end_was_not_recorded_is_not_forgotten() {
    for anew in [false, true] {
        let mut policy = Policy::default();
        policy.wake.create_unknown_session = false;
        let mut bench = quiet(policy, work(vec![owed(1, session(), &[5])]));
        let look = |bench: &mut Bench| {
            let lane = bench.wanted("a look", |command| match command {
                Command::Look { lane, .. } => Some(lane.clone()),
                _ => None,
            });
            bench.feed(Input::Looked { lane, claim: None, result: Ok(SessionView::default()) });
        };
        look(&mut bench);
        bench.pass(Pass::default(), &[]);
        if anew {
            bench.plan();
            bench.open(1);
            assert!(bench.out.iter().any(|command| matches!(command, Command::LoadWork(_))));
        } else {
            bench.plan_fails();
        }
        bench.at(seconds(5));
        bench.pass(Pass::default(), &[]);
        look(&mut bench);
        bench.pass(Pass::default(), &[]);
        assert_eq!(bench.planned(vec![]).closes.len(), 1);
        bench.at(seconds(100_000));
        assert!(bench.intent().is_none());
    }
}

#[test]
fn o1_what_a_hermes_that_was_started_serves_is_watched_and_not_sent() {
    let me = || key("console", "me");
    let mut open = owed(1, me(), &[5]);
    open.subscription.adopted = None;
    open.legs[0].leg.due_at = seconds(60);
    let mut bench = Bench::new(Policy::default(), world(false, false), work(vec![open.clone()]));
    let pass = |life: Life, bench: &mut Bench| {
        let mut pass = seen(vec![event(5)], vec![row(me(), Some("default"))]);
        pass.watched = vec![(me(), Some(row(me(), Some("default"))))];
        let mut copies = [open.subscription.clone()];
        copies[0].life = life;
        copies[0].seen = EventId(5);
        bench.pass(pass, &copies);
    };
    pass(Life::Live, &mut bench);

    let mut hermes = world(false, false);
    hermes.hermes = [("console".to_owned(), ["default".to_owned()].into())].into();
    bench.feed(Input::Change(Change::World(hermes)));
    // Nothing goes before it was looked at whose each row is.
    bench.at(seconds(61));
    assert!(bench.intent().is_none());
    pass(Life::Live, &mut bench);
    let mut theirs = open.clone();
    theirs.subscription.life = Life::Theirs;
    assert_eq!(bench.planned(vec![theirs]).subscriptions[0].life, Life::Theirs);
    bench.at(seconds(3_600));
    assert!(bench.intent().is_none(), "sent although Hermes serves the row");

    while bench.out.iter().any(|command| matches!(command, Command::Read(..))) {
        bench.pass(Pass::default(), &[]);
    }
    // It is gone again, and has not told it.
    bench.feed(Input::Change(Change::World(world(false, false))));
    pass(Life::Theirs, &mut bench);
    assert_eq!(bench.planned(vec![open.clone()]).subscriptions[0].life, Life::Live);
    assert!(bench.intent().is_some());
}

#[test]
fn d8_a_clock_that_is_set_back_does_not_stop_the_work() {
    let mut bench = quiet(Policy::default(), Work::default());
    bench.now = seconds(30 * 86_400);
    bench.commit();
    bench.pass(Pass::default(), &[]);
    bench.now = seconds(60);
    bench.commit();
    bench.at(seconds(61));
    assert!(bench.read().is_some(), "a commit, and nobody reads the board");
}

#[test]
fn w5_a_clock_that_is_set_back_silences_no_session() {
    let open = |event| work(vec![owed(1, session(), &[event])]);
    let mut bench = Bench::new(Policy::default(), world(false, true), open(5));
    bench.now = seconds(86_400);
    bench.pass(Pass::default(), &[]);
    bench.intended(1);
    bench.sent(1, Verdict::Delivered(Default::default()));
    bench.at(seconds(60));
    bench.commit();
    bench.at(seconds(61));
    bench.pass(seen(vec![event(6)], vec![row(session(), Some(OURS))]), &[]);
    bench.planned(vec![owed(1, session(), &[6])]);
    assert!(bench.intent().is_some());
}

#[test]
fn d8_a_rest_in_the_ledger_of_a_clock_that_was_ahead_is_lifted() {
    let open = work(vec![owed(1, session(), &[5])]);
    let mut bench = Bench::new(Policy::default(), world(false, true), open);
    bench.now = seconds(86_400);
    bench.pass(Pass::default(), &[]);
    bench.intended(1);
    bench.sent(1, Verdict::Unreachable { detail: Detail::new("refused") });
    bench.at(seconds(60));
    bench.at(seconds(120));
    let lifted = bench.out.iter().position(|command| matches!(command, Command::Lift(_)));
    let intended = bench.out.iter().position(|command| matches!(command, Command::Intend(_)));
    assert!(lifted.is_some() && lifted < intended, "{:#?}", bench.out);
}

#[test]
fn f4_a_clock_behind_the_newest_claim_is_not_believed() {
    for (behind, asks) in [(100, false), (86_400, true)] {
        let work = Work { newest_claim: seconds(behind), ..Work::default() };
        let mut bench = Bench::new(Policy::default(), world(true, true), work);
        bench.pass(seen(vec![event(5)], vec![row(session(), Some(OURS))]), &[]);
        let asked = bench
            .out
            .iter()
            .any(|command| matches!(command, Command::Tell(Notice::NeedsAccept { events: 0, .. })));
        let planned = bench.out.iter().any(|command| matches!(command, Command::Plan(..)));
        assert_eq!((asked, planned), (asks, !asks));
    }
}

#[test]
fn b2_an_event_with_a_wrong_time_spoils_itself_only() {
    // Milliseconds for seconds; and a day ahead, with a later event that is not.
    for wrong in [Timestamp::from_secs(1_800_000_000_000), seconds(86_400)] {
        let mut bench = Bench::new(Policy::default(), world(true, true), Work::default());
        let odd = Event { created_at: wrong, ..event(5) };
        bench.pass(seen(vec![odd, event(6)], vec![row(session(), Some(OURS))]), &[]);
        assert_eq!(bench.planned(vec![]).subscriptions[0].legs.len(), 2);
        bench.wanted("a word about it", |command| match command {
            Command::Tell(Notice::Spoilt { key, .. }) => Some(key.contains("event 5")),
            _ => None,
        });
    }
}

#[test]
fn s2_every_open_row_is_watched_in_its_turn() {
    let later = |mut owed: Owed| {
        owed.legs[0].leg.due_at = seconds(86_400);
        owed
    };
    let many = (1..=1_100).map(|id| later(owed(id, key("api_server", &format!("s{id}")), &[5])));
    let mut bench = quiet(Policy::default(), work(many.collect()));
    let mut watched = BTreeSet::new();
    for sweep in 1..4 {
        bench.now = seconds(31 * sweep);
        bench.commit();
        bench.at(bench.now.after(Duration::from_millis(50)));
        while let Some((opening, request)) = bench.read() {
            watched.extend(request.watch);
            let pass = Box::new(Pass::default());
            bench.feed(Input::PassRead { opening, pass, copies: vec![] });
        }
    }
    assert_eq!(watched.len(), 1_100);
}

#[test]
fn s3_report_25_rows_to_which_nothing_happens_go_once_a_look_for_them_comes() {
    let theirs = || key("api_server", "theirs");
    let open = owed(3, key("api_server", "open"), &[5]);
    let copies = [
        copy(1, session(), Life::Live),
        copy(2, theirs(), Life::Released),
        open.subscription.clone(),
    ];
    let mut bench = quiet(Policy::default(), work(vec![open.clone()]));
    bench.at(seconds(31));
    bench.pass(Pass::default(), &[]);
    bench.at(seconds(61));
    let rows = copies.iter().map(|copy| row(copy.key.clone(), Some(OURS))).collect();
    let before = seconds(61).before(Duration::from_secs(30 * 86_400));
    let aged = Some(AgedRows { before, rows });
    let request = bench.pass(Pass { aged, ..Pass::default() }, &copies);
    assert_eq!(request.aged, Some(Aged { before, above: i64::MIN }));
    // The one that was given back is not ours, and one has something open.
    let (opening, changes) = bench.rows();
    let [RowChange::Delete { key, aged: Some(_), .. }] = &changes[..] else {
        panic!("{changes:?}")
    };
    assert_eq!(*key, session());
    bench.feed(Input::RowsChanged { opening, changes, outcomes: Some(vec![RowOutcome::Won]) });
    bench.pass(Pass::default(), &[]);
    assert_eq!(bench.planned(vec![]).subscriptions[0].life, Life::Gone);
    // Not again before an hour is over; and never, if the operator wants it so.
    bench.at(seconds(120));
    assert!(bench.read().is_none_or(|(_, request)| request.aged.is_none()));
    let mut kept = quiet(Policy { retention: None, ..Policy::default() }, Work::default());
    kept.at(seconds(100_000));
    assert!(kept.read().is_none_or(|(_, request)| request.aged.is_none()));
}

#[test]
fn s3_a_row_goes_in_the_transaction_that_raises_its_cursor_for_the_last_time() {
    let mut bench = quiet(Policy::default(), Work::default());
    let raise = Raise {
        board: BOARD,
        subscription: SubscriptionId(1),
        key: session(),
        created_at: MADE,
        to: EventId(7),
        archived: true,
    };
    bench.feed(Input::Settled { settlements: vec![], raises: vec![raise.clone()] });
    for last in [false, true] {
        let (opening, changes) = bench.rows();
        assert!(matches!(changes[..], [RowChange::Raise { .. }, RowChange::Delete { .. }]));
        let outcomes = last.then(|| vec![RowOutcome::Won, RowOutcome::Won]);
        bench.feed(Input::RowsChanged { opening, changes, outcomes });
        bench.at(bench.now.after(Duration::from_secs(5)));
    }
    assert!(bench.out.contains(&Command::NoteRaised(vec![(raise, RowOutcome::Gone)])));
}

#[test]
fn b5_report_13_an_hour_without_subscriptions_writes_nothing_and_says_nothing() {
    let mut bench = quiet(Policy::default(), Work::default());
    let mut looks = 0;
    bench.out.clear();
    for second in 1..=3_600 {
        bench.at(seconds(second));
        // Somebody works on the board all the time; nobody asked to hear of it.
        bench.commit();
        while bench.out.iter().any(|command| matches!(command, Command::Read(..))) {
            bench.pass(Pass::default(), &[]);
            looks += 1;
        }
        let loud = bench.out.iter().find(|command| {
            matches!(
                command,
                Command::Tell(_)
                    | Command::ChangeRows(..)
                    | Command::Intend(_)
                    | Command::Settle(_)
            )
        });
        assert!(loud.is_none(), "{loud:?} after {second} s");
        bench.out.clear();
    }
    assert!(looks >= 3_600, "it looked only {looks} times");
}
