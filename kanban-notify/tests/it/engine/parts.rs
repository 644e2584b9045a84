//! Messages in several parts, and messages that go once more in another shape or place (laws D5, D8).

use kanban_notify::{
    message::{Destination, Parcel},
    policy::OnUnknown,
    record::{OpenClaim, Pause},
    verdict::{Detail, Fault, Receipt},
};

use super::*;

const LEG: LegId = LegId(1_005);

fn part(next: u32) -> Verdict {
    Verdict::Part { receipt: Receipt::default(), next }
}

fn delivered() -> Verdict {
    Verdict::Delivered(Receipt::default())
}

fn unknown() -> Verdict {
    Verdict::Unknown { detail: Detail::new("cut") }
}

fn refused(fault: Fault) -> Verdict {
    Verdict::Permanent { fault, detail: Detail::new("refused") }
}

fn room(thread: &str) -> SubKey {
    SubKey { thread: thread.into(), ..key("console", "room") }
}

/// A ping for event 5, and one for event 6, in a thread of a room that remembers no keys.
fn bench_with(policy: Policy, thread: &str) -> Bench {
    let open = work(vec![owed(1, room(thread), &[5, 6])]);
    let mut bench = Bench::new(policy, world(false, false), open);
    bench.pass(Pass::default(), &[]);
    bench
}

/// The same with its first request under way.
fn bench() -> Bench {
    let mut bench = bench_with(Policy::default(), "");
    begin(&mut bench, 1);
    bench
}

/// Lets the next intent be recorded, with bytes that tell it, and answers what is sent.
fn begin(bench: &mut Bench, claim: i64) -> Parcel {
    let mut intent = bench.intent().expect("an intent");
    if intent.body.is_empty() {
        intent.body = format!("bytes {claim}");
    }
    bench.feed(Input::Intended(vec![(intent, IntentResult::Won(ClaimId(claim)))]));
    sending(bench)
}

fn sending(bench: &mut Bench) -> Parcel {
    bench.wanted("a request", |command| match command {
        Command::Send(_, parcel) => Some(parcel.clone()),
        _ => None,
    })
}

fn is_sending(bench: &Bench) -> bool {
    bench.out.iter().any(|command| matches!(command, Command::Send(..)))
}

#[test]
fn d5_the_next_part_goes_once_the_one_before_is_recorded() {
    let mut bench = bench();
    bench.feed(Input::Sent { claim: ClaimId(1), verdict: part(1) });
    assert!(!is_sending(&bench), "its progress is not durable yet");
    let settled = bench.settled();
    assert_eq!((settled.over, settled.verdict), (false, "part"));
    let leg = &settled.legs[0];
    assert_eq!((leg.leg, leg.state, leg.tally.part), (LEG, LegState::Intended, 1));
    let second = sending(&mut bench);
    assert_eq!((second.part, second.body.as_str(), second.repeat), (1, "bytes 1", false));
    assert_eq!(second.part_key(), format!("{}/1", second.key));
    assert!(bench.intent().is_none(), "the lane is held");
    bench.sent(1, part(2));
    assert_eq!(sending(&mut bench).part, 2);
    let settled = bench.sent(1, delivered());
    assert_eq!((settled.over, settled.legs[0].state), (true, LegState::Delivered));
    assert_eq!(begin(&mut bench, 2).part, 0, "the next event's message begins at its beginning");
}

#[test]
fn d5_progress_that_cannot_be_recorded_sends_nothing() {
    let mut bench = bench();
    bench.feed(Input::Sent { claim: ClaimId(1), verdict: part(1) });
    let settlement = bench.wanted("an outcome", |command| match command {
        Command::Settle(settlement) => Some(settlement.clone()),
        _ => None,
    });
    bench.feed(Input::SettleFailed(vec![settlement]));
    assert!(!is_sending(&bench));
    bench.at(seconds(1));
    bench.settled();
    assert_eq!(sending(&mut bench).part, 1);
}

/// What keeps a later part from being sent, and what its leg is then due.
#[test]
fn d5_a_part_that_is_refused_for_now_leaves_the_earlier_ones_alone() {
    let detail = || Detail::new("as told");
    let hint = Some(Duration::from_secs(90));
    for refusal in [
        Verdict::Busy { retry_after: hint, detail: detail() },
        Verdict::Retryable { retry_after: None, detail: detail() },
        Verdict::Unreachable { detail: detail() },
        refused(Fault::Credential),
    ] {
        let mut bench = bench();
        bench.sent(1, part(1));
        sending(&mut bench);
        let settled = bench.sent(1, refusal.clone());
        let leg = &settled.legs[0];
        assert_eq!((settled.over, leg.state, leg.tally.part), (true, LegState::Retrying, 1));
        if matches!(refusal, Verdict::Busy { .. }) {
            bench.at(seconds(89));
            assert!(bench.intent().is_none(), "{refusal:?}");
        }
        bench.at(seconds(3_600));
        if refusal == refused(Fault::Credential) {
            let channel = ChannelName("console".into());
            bench.feed(Input::Probed { channel, verdict: delivered() });
        }
        let again = begin(&mut bench, 2);
        assert_eq!((again.part, again.body.as_str(), again.repeat), (1, "bytes 1", false));
        let settled = bench.sent(2, delivered());
        assert_eq!(settled.legs[0].state, LegState::Delivered);
    }
}

#[test]
fn d7_an_unknown_outcome_concerns_its_part_alone_and_that_one_is_marked() {
    let mut bench = bench();
    bench.sent(1, part(1));
    sending(&mut bench);
    bench.sent(1, unknown());
    bench.at(seconds(60));
    bench.settled();
    let again = begin(&mut bench, 2);
    assert_eq!((again.part, again.body.as_str(), again.repeat), (1, "bytes 1", true));
    bench.sent(2, part(2));
    let last = sending(&mut bench);
    assert_eq!((last.part, last.repeat), (2, false), "of this one nothing was sent before");
    // And this one has a repeat of its own.
    bench.sent(2, unknown());
    bench.now = seconds(120);
    bench.at(seconds(180));
    assert_eq!(bench.settled().legs[0].state, LegState::Retrying);
    let again = begin(&mut bench, 3);
    assert_eq!((again.part, again.repeat), (2, true));
    bench.sent(3, unknown());
    bench.at(seconds(400));
    assert_eq!(bench.settled().legs[0].state, LegState::Parked, "once is enough");
}

#[test]
fn d7_a_part_of_unknown_outcome_is_parked_where_that_is_wanted() {
    let policy = Policy { on_unknown: OnUnknown::Park, ..Policy::default() };
    let mut bench = bench_with(policy, "");
    begin(&mut bench, 1);
    bench.sent(1, part(1));
    sending(&mut bench);
    bench.sent(1, unknown());
    bench.at(seconds(60));
    let leg = bench.settled().legs[0].clone();
    assert_eq!((leg.state, leg.tally.part), (LegState::Parked, 1));
}

/// What the ledger holds after a kill between or within parts.
fn killed(tally: Tally, state: LegState, deduplicates: bool) -> Bench {
    let mut open = owed(1, room(""), &[5]);
    let leg = &mut open.legs[0];
    (leg.leg.tally, leg.leg.state) = (tally, state);
    leg.begun = Some("pinned".into());
    let claims = match state {
        LegState::Intended => {
            leg.leg.claim = Some(ClaimId(1));
            let destination = Destination::Chat {
                channel: ChannelName("console".into()),
                chat: "room".into(),
                thread: String::new(),
            };
            vec![OpenClaim {
                id: ClaimId(1),
                lane: "console room".into(),
                destination,
                legs: vec![LEG],
                key: "k".into(),
                reference: String::new(),
                body: "pinned".into(),
                at: NOW,
            }]
        }
        _ => Vec::new(),
    };
    let work = Work { owed: vec![open], claims, ..Work::default() };
    let mut bench = Bench::new(Policy::default(), world(false, deduplicates), work);
    bench.pass(Pass::default(), &[]);
    bench
}

#[test]
fn d5_a_start_after_a_kill_goes_on_with_the_part_that_was_under_way() {
    let tally = Tally { part: 2, ..Tally::default() };
    // A receiver that knows keys gets the same bytes and key of that part.
    let mut bench = killed(tally, LegState::Intended, true);
    bench.at(seconds(60));
    let again = sending(&mut bench);
    let told = (again.part, again.body.as_str(), again.part_key(), again.repeat);
    assert_eq!(told, (2, "pinned", "k/2".into(), false));
    // Another one gets that part once more, marked.
    let mut bench = killed(tally, LegState::Intended, false);
    bench.at(seconds(60));
    bench.settled();
    let again = begin(&mut bench, 2);
    assert_eq!((again.part, again.body.as_str(), again.repeat), (2, "pinned", true));
}

#[test]
fn d5_report_69_a_start_while_a_part_waits_goes_on_with_it_when_it_is_due() {
    let mut bench = killed(Tally { part: 1, ..Tally::default() }, LegState::Retrying, false);
    let again = begin(&mut bench, 2);
    assert_eq!((again.part, again.body.as_str(), again.repeat), (1, "pinned", false));
}

#[test]
fn d5_a_stop_lets_a_message_be_finished() {
    let mut bench = bench();
    bench.feed(Input::Stop);
    bench.sent(1, part(1));
    assert_eq!(sending(&mut bench).part, 1);
    bench.sent(1, delivered());
    assert_eq!(bench.engine.in_flight(), 0);
}

#[test]
fn d8_refused_content_goes_once_as_plain_text_and_then_to_the_dead_letters() {
    let mut bench = bench();
    let settled = bench.sent(1, refused(Fault::Payload));
    let leg = &settled.legs[0];
    assert_eq!((leg.state, leg.tally.plain), (LegState::Retrying, true));
    let again = begin(&mut bench, 2);
    assert!(again.plain && again.part == 0);
    // Another refusal for now changes nothing about it.
    bench.sent(2, Verdict::Busy { retry_after: None, detail: Detail::new("429") });
    bench.at(seconds(60));
    assert!(begin(&mut bench, 3).plain);
    assert_eq!(bench.sent(3, refused(Fault::Payload)).legs[0].state, LegState::Parked);
    assert!(!begin(&mut bench, 4).plain, "the next event's message has its markup");
}

#[test]
fn d8_once_means_once_also_after_a_start() {
    let tally = Tally { plain: true, parent: true, ..Tally::default() };
    let mut bench = killed(tally, LegState::Retrying, false);
    assert!(begin(&mut bench, 2).plain);
    assert_eq!(bench.sent(2, refused(Fault::Payload)).legs[0].state, LegState::Parked);
}

#[test]
fn d8_a_later_part_that_is_refused_goes_as_plain_text_with_what_follows() {
    let mut bench = bench();
    bench.sent(1, part(1));
    sending(&mut bench);
    bench.sent(1, refused(Fault::Payload));
    let again = begin(&mut bench, 2);
    assert_eq!((again.part, again.plain, again.body.as_str()), (1, true, "bytes 1"));
    bench.sent(2, part(2));
    assert!(sending(&mut bench).plain);
}

fn thread_of(parcel: &Parcel) -> &str {
    match &parcel.destination {
        Destination::Chat { thread, .. } => thread,
        Destination::Session { .. } => panic!("a session"),
    }
}

#[test]
fn d8_report_31_a_refused_thread_goes_once_to_the_chat_above() {
    let mut bench = bench_with(Policy::default(), "55");
    assert_eq!(thread_of(&begin(&mut bench, 1)), "55");
    bench.sent(1, refused(Fault::Thread));
    let noted = bench.out.iter().any(|command| match command {
        Command::Intend(intent) => intent.message.text().contains("cannot be reached"),
        _ => false,
    });
    assert!(noted, "whoever reads it there is told why");
    assert_eq!(thread_of(&begin(&mut bench, 2)), "");
    bench.sent(2, refused(Fault::Thread));
    // The thread may be there again for the next one.
    assert_eq!(thread_of(&begin(&mut bench, 3)), "55");
}

#[test]
fn d8_a_refused_thread_is_parked_where_the_chat_above_is_not_wanted_or_was_meant() {
    for (fallback, thread) in [(false, "55"), (true, "")] {
        let policy = Policy { thread_fallback: fallback, ..Policy::default() };
        let mut bench = bench_with(policy, thread);
        begin(&mut bench, 1);
        let settled = bench.sent(1, refused(Fault::Thread));
        assert_eq!(settled.legs[0].state, LegState::Parked, "{fallback} {thread}");
    }
}

#[test]
fn d8_report_137_a_chat_that_moved_is_followed_with_all_that_waits_for_it() {
    let mut bench = bench_with(Policy::default(), "");
    begin(&mut bench, 1);
    let moved = |to: &str| Verdict::Moved { chat: to.into(), detail: Detail::new("moved") };
    let settled = bench.sent(1, moved("-1002"));
    assert_eq!(settled.alias, Some(("room".into(), "-1002".into())));
    assert_eq!(settled.legs[0].state, LegState::Retrying);
    let chat = |parcel: &Parcel| match &parcel.destination {
        Destination::Chat { chat, .. } => chat.clone(),
        Destination::Session { .. } => panic!("a session"),
    };
    assert_eq!(chat(&begin(&mut bench, 2)), "-1002");
    bench.sent(2, delivered());
    assert_eq!(chat(&begin(&mut bench, 3)), "-1002");
    // Back again would be for ever.
    assert_eq!(bench.sent(3, moved("room")).legs[0].state, LegState::Parked);
}

#[test]
fn d8_a_chat_that_moved_is_known_after_a_start() {
    let channel = ChannelName("console".into());
    let aliases = vec![(channel.clone(), "room".into(), "-1002".into())];
    let pauses: Vec<Pause> = Vec::new();
    let work = Work { owed: vec![owed(1, room(""), &[5])], aliases, pauses, ..Work::default() };
    let mut bench = Bench::new(Policy::default(), world(false, false), work);
    bench.pass(Pass::default(), &[]);
    let chat = Destination::Chat { channel, chat: "-1002".into(), thread: String::new() };
    assert_eq!(begin(&mut bench, 1).destination, chat);
}
