//! Claims: what an unknown outcome leaves behind, and lanes under other names.

use kanban_notify::{
    history::SessionView,
    message::Destination,
    record::OpenClaim,
    verdict::{Detail, Fault, Receipt},
};

use super::*;

fn lost() -> Verdict {
    Verdict::Unknown { detail: Detail::new("cut") }
}

/// A wake for these events whose first request was cut, and which goes again after a while.
fn cut(events: &[i64]) -> (Bench, Intent) {
    let open = work(vec![owed(1, session(), events)]);
    let mut bench = Bench::new(Policy::default(), world(false, true), open);
    bench.pass(Pass::default(), &[]);
    let first = bench.intended(1);
    bench.sent(1, lost());
    bench.at(seconds(60));
    assert!(bench.out.iter().any(|command| matches!(command, Command::Send(..))));
    (bench, first)
}

#[test]
fn d7_a_message_that_is_split_after_an_unknown_outcome_says_that_it_may_be_a_repeat() {
    let (mut bench, first) = cut(&[5, 6]);
    bench.sent(1, Verdict::Permanent { fault: Fault::Payload, detail: Detail::new("413") });
    bench.at(seconds(3_600));
    let again = bench.intent().expect("the first half");
    assert_ne!(again.key, first.key);
    assert!(again.message.possible_repeat && !first.message.possible_repeat);
}

/// What `dead retry` goes by when it decides whether to look first and whether to say so.
#[test]
fn d11_a_leg_that_is_given_up_after_an_unknown_outcome_keeps_that_in_mind() {
    let refusals = [
        (Verdict::Busy { retry_after: None, detail: Detail::new("429") }, "unknown"),
        (Verdict::Unreachable { detail: Detail::new("down") }, "unknown"),
        (Verdict::Permanent { fault: Fault::Target, detail: Detail::new("404") }, "target"),
    ];
    for (refusal, verdict) in refusals {
        let (mut bench, _) = cut(&[5]);
        bench.now = seconds(73 * 3_600);
        let settled = bench.sent(1, refusal);
        let leg = &settled.legs[0];
        assert_eq!((leg.state, settled.verdict), (LegState::Parked, verdict));
        assert!(leg.tally.repeat);
    }
}

/// A claim of another instance, pinned to the name that the session had then (law W3).
fn pinned(aliases: &[(&str, &str)]) -> Bench {
    let channel = ChannelName::api_server("default");
    let mut open = owed(1, key("api_server", "a"), &[5]);
    open.legs[0].leg.state = LegState::Intended;
    open.legs[0].leg.claim = Some(ClaimId(1));
    let claim = OpenClaim {
        id: ClaimId(1),
        lane: "x".into(),
        destination: Destination::Session { channel: channel.clone(), session: "a".into() },
        legs: vec![open.legs[0].leg.id],
        key: "k".into(),
        reference: "r".into(),
        body: "b".into(),
        at: NOW,
    };
    let later = owed(2, key("api_server", "b"), &[6]);
    let alias = |(from, to): &(&str, &str)| (channel.clone(), (*from).into(), (*to).into());
    let work = Work {
        owed: vec![open, later],
        claims: vec![claim],
        aliases: aliases.iter().map(alias).collect(),
        ..Work::default()
    };
    let mut bench = Bench::new(Policy::default(), world(false, false), work);
    bench.pass(Pass::default(), &[]);
    bench
}

#[test]
fn w3_a_claim_under_an_old_name_holds_the_session_and_lets_it_go() {
    let mut bench = pinned(&[("a", "b")]);
    assert!(bench.intent().is_none(), "the session is held by its old name's claim");
    // It cannot be found out, so it goes once more and says so, with what has gathered.
    bench.at(seconds(60));
    bench.settled();
    bench.at(seconds(61));
    assert!(bench.intent().is_some());
}

#[test]
fn w3_another_name_is_another_session_until_it_is_learnt() {
    let mut bench = pinned(&[]);
    assert_eq!(bench.intent().expect("b is free").lane, "api_server/default b");
}

#[test]
fn d1_a_stop_waits_until_an_outcome_that_could_not_be_recorded_is() {
    let open = work(vec![owed(1, session(), &[5])]);
    let mut bench = Bench::new(Policy::default(), world(false, true), open);
    bench.pass(Pass::default(), &[]);
    bench.intended(1);
    bench.feed(Input::Stop);
    bench.feed(Input::Sent { claim: ClaimId(1), verdict: Verdict::Delivered(Receipt::default()) });
    let settle = |command: &Command| match command {
        Command::Settle(settlement) => Some(settlement.clone()),
        _ => None,
    };
    let settlement = bench.wanted("an outcome", settle);
    bench.feed(Input::SettleFailed(vec![settlement]));
    assert_eq!(bench.engine.in_flight(), 1);
    bench.at(seconds(1));
    bench.settled();
    assert_eq!(bench.engine.in_flight(), 0);
}

#[test]
fn d6_a_look_that_ends_after_a_stop_begins_nothing() {
    let open = work(vec![owed(1, session(), &[5])]);
    let mut bench = Bench::new(Policy::default(), world(true, true), open);
    bench.pass(Pass::default(), &[]);
    let look = |command: &Command| match command {
        Command::Look { lane, claim: None, .. } => Some(lane.clone()),
        _ => None,
    };
    let lane = bench.wanted("a look", look);
    bench.feed(Input::Stop);
    let view = SessionView { exists: true, ..SessionView::default() };
    bench.feed(Input::Looked { lane, claim: None, result: Ok(view) });
    assert!(bench.intent().is_none());
    assert_eq!(bench.engine.in_flight(), 0);
}
