//! Messages in the operator's own words: their marks stay ours, and a wake is none of them (law W9).

use std::sync::Arc;

use kanban_notify::{
    message::Span,
    ports::Wording,
    record::Facts,
    verdict::{Detail, Fault},
};

use super::*;

/// Words for channels of one name only.
#[derive(Debug)]
struct For(&'static str);

impl Wording for For {
    fn ping(&self, channel: &ChannelName, facts: &Facts, board: &str) -> Option<Vec<Span>> {
        let ours = channel.as_str() == self.0;
        ours.then(|| vec![Span::quoted(facts.subject()), Span::ours(format!(" ({board})"))])
    }
}

/// An engine with these words, and a leg for event 5 under this key.
fn bench(key: SubKey, words: fn(Engine) -> Engine) -> Bench {
    let open = work(vec![owed(1, key, &[5])]);
    let mut bench = Bench::with(Policy::default(), world(false, false), open, words);
    bench.pass(Pass::default(), &[]);
    bench
}

fn worded(engine: Engine) -> Engine {
    engine.with_wording(Arc::new(For("console")))
}

#[test]
fn w9_a_message_has_the_operators_words_and_a_wake_ours() {
    let ping = bench(key("console", "room"), worded).intended(1);
    assert_eq!(ping.message.spans, [Span::quoted("t_1"), Span::ours(" (default)")]);
    assert_eq!(ping.message.facts.len(), 1);

    let everything = |engine: Engine| {
        let name = ChannelName::api_server("default");
        engine.with_wording(Arc::new(For(name.as_str().to_owned().leak())))
    };
    let wake = bench(session(), everything).intended(1);
    assert!(wake.message.text().starts_with("[kanban] Task t_1 was completed."), "{wake:?}");
}

#[test]
fn what_nobody_words_is_told_in_our_words() {
    let others = |engine: Engine| engine.with_wording(Arc::new(For("telegram")));
    for words in [others, |engine| engine] {
        let ping = bench(key("console", "room"), words).intended(1);
        assert_eq!(ping.message.text(), "t_1 was completed.\n(t_1 on default)");
    }
}

#[test]
fn d7_d8_a_repeat_and_a_lost_thread_are_told_whatever_the_words_are() {
    let threaded = SubKey { thread: "7".into(), ..key("console", "room") };
    let mut bench = bench(threaded, worded);
    bench.intended(1);
    let detail = Detail::new("thread not found");
    bench.sent(1, Verdict::Permanent { fault: Fault::Thread, detail });
    let again = bench.intended(2);
    let told = "t_1 (default)\nThis was meant for a thread that cannot be reached.";
    assert_eq!(again.message.text(), told);

    bench.feed(Input::Sent {
        claim: ClaimId(2),
        verdict: Verdict::Unknown { detail: Detail::new("cut") },
    });
    bench.settled();
    bench.at(seconds(3_600));
    let settled = bench.settled();
    assert!(settled.over, "{settled:?}");
    bench.at(seconds(7_200));
    let repeat = bench.intended(3);
    assert_eq!(repeat.message.text(), format!("(may be a repeat) {told}"));
    assert!(repeat.message.possible_repeat);
}
