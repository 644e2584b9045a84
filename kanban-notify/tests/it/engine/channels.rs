//! A channel that nobody answers on: one tries at a time, and nobody is charged for it (law D8).

use kanban_notify::{
    engine::{Lane, Notice},
    history::SessionView,
    ports::LookError,
    record::Pause,
    verdict::{Detail, Fault, Receipt},
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
fn d8_report_102_one_look_at_a_time_tries_a_server_that_is_down_and_people_are_told_once() {
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
    let told = |command: &Command| match command {
        Command::Tell(Notice::Postponed { until, .. }) => Some(*until),
        _ => None,
    };
    assert_eq!(
        bench.out.iter().find_map(told),
        Some(pause.until),
        "people are told when it goes on"
    );
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

fn refused_key() -> Verdict {
    Verdict::Permanent { fault: Fault::Credential, detail: Detail::new("HTTP 401") }
}

fn told_of_refusals(bench: &Bench) -> Vec<&'static str> {
    let told = |command: &Command| match command {
        Command::Tell(Notice::Paused { credential: true, .. }) => Some("refused"),
        Command::Tell(Notice::RefusedBefore { .. }) => Some("refused before"),
        Command::Tell(Notice::Resumed { .. }) => Some("resumed"),
        _ => None,
    };
    bench.out.iter().filter_map(told).collect()
}

#[test]
fn d8_a_look_whose_key_is_refused_rests_the_channel_at_once_and_is_told_once() {
    let mut bench = Bench::new(Policy::default(), world(true, true), waiting());
    bench.pass(Pass::default(), &[]);
    let lanes = looks(&mut bench);
    assert!(lanes.len() > 1);
    for lane in lanes {
        let refused = Err(LookError::Credential(Detail::new("HTTP 401")));
        bench.feed(Input::Looked { lane, claim: None, result: refused });
    }
    let rests = |command: &Command| match command {
        Command::Rest(pause) => Some(pause.credential),
        _ => None,
    };
    assert_eq!(bench.take(rests), Some(true));
    assert_eq!(told_of_refusals(&bench), ["refused"]);
    // Nothing is looked at or sent before the probe says that the key is right.
    bench.at(seconds(20));
    assert!(looks(&mut bench).is_empty() && bench.intent().is_none());
    bench.at(seconds(60));
    let channel = bench.wanted("a probe", |command| match command {
        Command::Probe(channel) => Some(channel.clone()),
        _ => None,
    });
    assert!(looks(&mut bench).is_empty() && bench.intent().is_none());
    let verdict = Verdict::Delivered(Receipt::default());
    bench.feed(Input::Probed { channel, verdict });
    assert!(!looks(&mut bench).is_empty());
    assert_eq!(told_of_refusals(&bench), ["refused", "resumed"]);
}

#[test]
fn d8_a_look_for_an_unknown_outcome_whose_key_is_refused_is_made_again_once_it_is_right() {
    let one = work(vec![owed(1, key("api_server", "s1"), &[5])]);
    let mut bench = Bench::new(Policy::default(), world(true, true), one);
    bench.pass(Pass::default(), &[]);
    for lane in looks(&mut bench) {
        bench.feed(Input::Looked { lane, claim: None, result: Ok(SessionView::default()) });
    }
    bench.intended(1);
    bench.sent(1, Verdict::Unknown { detail: Detail::new("cut") });
    let found_out = |command: &Command| match command {
        Command::Look { lane, claim: Some(claim), .. } => Some((lane.clone(), *claim)),
        _ => None,
    };
    bench.at(seconds(10));
    let (lane, claim) = bench.wanted("a look for the claim", found_out);
    let refused = Err(LookError::Credential(Detail::new("HTTP 401")));
    bench.feed(Input::Looked { lane, claim: Some(claim), result: refused });
    assert_eq!(told_of_refusals(&bench), ["refused"]);
    // A key that is wrong for longer than anything is waited for gives nothing up.
    for hour in 1..80 {
        bench.at(seconds(hour * 3_600));
        assert!(bench.take(found_out).is_none());
        let channel = bench.take(|command| match command {
            Command::Probe(channel) => Some(channel.clone()),
            _ => None,
        });
        if let Some(channel) = channel {
            let verdict =
                if hour < 79 { refused_key() } else { Verdict::Delivered(Receipt::default()) };
            bench.feed(Input::Probed { channel, verdict });
        }
    }
    bench.at(seconds(80 * 3_600));
    assert_eq!(bench.wanted("a look for the claim", found_out).1, ClaimId(1));
    assert_eq!(told_of_refusals(&bench), ["refused", "resumed"]);
}

#[test]
fn d8_a_key_that_was_refused_in_an_earlier_run_is_told_as_an_error_only_if_it_still_is() {
    for (right, words) in
        [(true, ["refused before", "resumed"]), (false, ["refused before", "refused"])]
    {
        let rest = Pause {
            channel: ChannelName::api_server("default"),
            until: seconds(3_600),
            reason: down(),
            credential: true,
        };
        let before = Work { pauses: vec![rest], ..waiting() };
        let mut bench = Bench::new(Policy::default(), world(true, true), before);
        assert_eq!(told_of_refusals(&bench), ["refused before"]);
        for _ in 0..2 {
            bench.at(bench.now.after(std::time::Duration::from_secs(1_000)));
            let channel = bench.take(|command| match command {
                Command::Probe(channel) => Some(channel.clone()),
                _ => None,
            });
            let Some(channel) = channel else { continue };
            let verdict =
                if right { Verdict::Delivered(Receipt::default()) } else { refused_key() };
            bench.feed(Input::Probed { channel, verdict });
        }
        assert_eq!(told_of_refusals(&bench), words);
    }
}
