//! A channel that nobody answers on: one tries at a time, and nobody is charged for it (law D8).

use kanban_notify::{
    engine::{Lane, Notice},
    history::SessionView,
    ports::LookError,
    record::Pause,
    verdict::{Detail, Receipt},
};

use super::*;

fn down() -> Detail {
    Detail::new("connection refused")
}

fn down_look() -> Result<SessionView, LookError> {
    Err(LookError::Unreachable(down()))
}

fn waiting() -> Work {
    work((1..=6).map(|id| owed(id, key("api_server", &format!("s{id}")), &[5])).collect())
}

fn looks(bench: &mut Bench) -> Vec<Lane> {
    let look = |command: &Command| match command {
        Command::Look { lane, .. } => Some(lane.clone()),
        _ => None,
    };
    std::iter::from_fn(|| bench.take(look)).collect()
}

fn words(bench: &Bench) -> (usize, usize) {
    let told = |wanted: fn(&Notice) -> bool| {
        let notices = bench.out.iter().filter_map(|command| match command {
            Command::Tell(notice) => Some(notice),
            _ => None,
        });
        notices.filter(|notice| wanted(notice)).count()
    };
    let paused = told(|notice| matches!(notice, Notice::Paused { credential: false, .. }));
    (paused, told(|notice| matches!(notice, Notice::Resumed { .. })))
}

#[test]
fn d8_one_look_at_a_time_tries_a_server_that_is_down_and_people_are_told_once() {
    let mut bench = Bench::new(Policy::default(), world(true, true), waiting());
    bench.pass(Pass::default(), &[]);
    for lane in looks(&mut bench) {
        bench.feed(Input::Looked { lane, claim: None, result: down_look() });
    }
    assert!(bench.out.iter().any(|command| matches!(command, Command::Rest(_))));
    let mut tries = 0;
    for second in 1..600 {
        bench.at(seconds(second));
        let lanes = looks(&mut bench);
        assert!(lanes.len() <= 1, "{lanes:?}");
        for lane in lanes {
            tries += 1;
            bench.feed(Input::Looked { lane, claim: None, result: down_look() });
        }
    }
    assert!((5..20).contains(&tries), "{tries} in ten minutes");
    for second in 600..36_000 {
        bench.at(seconds(second));
        for lane in looks(&mut bench) {
            tries += 1;
            bench.feed(Input::Looked { lane, claim: None, result: down_look() });
        }
    }
    assert!(tries < 100, "{tries} in ten hours");
    assert_eq!(words(&bench), (1, 0));

    // It is back: the first answer lets everybody go.
    bench.at(seconds(37_000));
    let [lane] = looks(&mut bench).try_into().unwrap();
    bench.feed(Input::Looked { lane, claim: None, result: Ok(SessionView::default()) });
    assert_eq!(words(&bench), (1, 1));
    assert!(bench.out.contains(&Command::Lift(ChannelName::api_server("default"))));
    assert!(looks(&mut bench).len() > 1);
}

#[test]
fn d8_a_server_that_was_started_is_tried_at_once() {
    let mut bench = Bench::new(Policy::default(), world(true, true), waiting());
    bench.pass(Pass::default(), &[]);
    for lane in looks(&mut bench) {
        bench.feed(Input::Looked { lane, claim: None, result: down_look() });
    }
    let mut up = world(true, true);
    up.up_since.insert(ChannelName::api_server("default"), NOW);
    bench.feed(Input::Change(Change::World(up)));
    assert_eq!(looks(&mut bench).len(), 1);
}

#[test]
fn d8_a_start_tries_at_once_what_was_down_before_and_a_refused_key_is_probed_first() {
    for (credential, tried) in [(false, true), (true, false)] {
        let rest = Pause {
            channel: ChannelName::api_server("default"),
            until: seconds(3_600),
            reason: down(),
            credential,
        };
        let before = Work { pauses: vec![rest], ..waiting() };
        let mut bench = Bench::new(Policy::default(), world(true, true), before);
        bench.pass(Pass::default(), &[]);
        assert_eq!(!looks(&mut bench).is_empty(), tried);
        let probed = bench.out.iter().any(|command| matches!(command, Command::Probe(_)));
        assert_eq!(probed, credential);
    }
}

#[test]
fn d8_a_send_that_found_nobody_rests_the_channel_and_not_the_leg() {
    let mut bench = Bench::new(Policy::default(), world(false, true), waiting());
    bench.pass(Pass::default(), &[]);
    bench.intended(1);
    bench.intended(2);
    let settled = bench.sent(1, Verdict::Unreachable { detail: down() });
    let pause = settled.pause.expect("the channel rests");
    assert_eq!((settled.legs[0].due_at, settled.legs[0].tally.failures), (NOW, 0));
    // What was on its way at the same time counts once; its delivery shows that somebody is there.
    bench.sent(2, Verdict::Delivered(Receipt::default()));
    assert!(pause.until > NOW);
    assert!(bench.intent().is_some());
}

#[test]
fn f4_what_could_not_be_looked_at_for_three_days_is_parked() {
    let mut bench = Bench::new(Policy::default(), world(true, true), waiting());
    bench.pass(Pass::default(), &[]);
    bench.now = seconds(73 * 3_600);
    let lanes = looks(&mut bench);
    let tried = lanes.len();
    for lane in lanes {
        bench.feed(Input::Looked { lane, claim: None, result: down_look() });
    }
    bench.pass(Pass::default(), &[]);
    let plan = bench.planned(vec![]);
    let (_, state, reason) = &plan.closes[0];
    assert_eq!((state, reason.as_str()), (&LegState::Parked, "connection refused"));
    assert!(plan.closes.len() <= tried);
}

/// The session of an unknown outcome waits for a place too, and has no use for it when it is called.
#[test]
fn d6_a_place_that_is_free_goes_to_somebody_who_has_a_use_for_it() {
    let (mut bench, second) = full();
    // Nothing of the first one is there: it is to be sent again, once there is a place.
    bench.at(seconds(10));
    looked(&mut bench, Some(1), Ok(SessionView::default()));
    bench.feed(Input::Looked { lane: second, claim: None, result: Ok(SessionView::default()) });
    bench.intended(2);
    bench.sent(2, Verdict::Delivered(Receipt::default()));
    assert_eq!(looks(&mut bench).len(), 1, "the third session has its turn");
}

#[test]
fn w6_waiting_for_a_place_is_no_reason_to_look_less_often() {
    let (mut bench, _) = full();
    for second in 10..30 {
        bench.at(seconds(second));
        looked(&mut bench, Some(1), Ok(SessionView::default()));
    }
    bench.at(seconds(30));
    looked(&mut bench, Some(1), Err(LookError::Failed(down())));
    bench.at(seconds(32));
    assert_eq!(looks(&mut bench).len(), 1, "one look failed, not twenty");
}

/// Three sessions and one place: the outcome of the first one's wake is unknown, and the look before the
/// second one's is under way.
fn full() -> (Bench, Lane) {
    let policy = Policy { concurrency: 1, ..Policy::default() };
    let three = (1..=3).map(|id| owed(id, key("api_server", &format!("s{id}")), &[5])).collect();
    let mut bench = Bench::new(policy, world(true, false), work(three));
    bench.pass(Pass::default(), &[]);
    looked(&mut bench, None, Ok(SessionView::default()));
    bench.intended(1);
    bench.sent(1, Verdict::Unknown { detail: down() });
    let [second] = looks(&mut bench).try_into().expect("the second session has the only place");
    (bench, second)
}

/// Answers the one look that is asked for.
fn looked(bench: &mut Bench, claim: Option<i64>, result: Result<SessionView, LookError>) {
    let [lane] = looks(bench).try_into().expect("one look");
    bench.feed(Input::Looked { lane, claim: claim.map(ClaimId), result });
}
