//! The text of a ping: readable first, ids last.

use super::{clean, words};
use crate::{
    facts::NAME_CHARS,
    message::{Span, flat},
    record::Facts,
};

/// One message about one event, as flat text.
pub fn text(facts: &Facts, board: &str, possible_repeat: bool) -> String {
    flat(&marked(body(facts, board), possible_repeat, false))
}

/// How a message begins that an earlier one may have told already (law D7).
const REPEAT: &str = "(may be a repeat) ";

/// What a message says that goes to the chat above its thread.
const THREAD_NOTE: &str = "\nThis was meant for a thread that cannot be reached.";

/// A message with the marks that belong to it however it is worded: that it may be a repeat, and that it
/// was meant for a thread.
pub fn marked(body: Vec<Span>, possible_repeat: bool, without_thread: bool) -> Vec<Span> {
    // Ahead of everything: the end may be in another part of a long message, or cut off.
    let before = possible_repeat.then(|| Span::ours(REPEAT));
    let after = without_thread.then(|| Span::ours(THREAD_NOTE));
    before.into_iter().chain(body).chain(after).collect()
}

/// Our own words about one event, with what is quoted told from them.
pub fn body(facts: &Facts, board: &str) -> Vec<Span> {
    let (ours, quoted) = (|text: &str| Span::ours(text), |text: &str| Span::quoted(text));
    let mut text = vec![quoted(facts.subject()), ours(" ")];
    text.extend(words::happened(facts));
    text.push(ours("."));
    let mut line = |label: &str, value: &str| {
        text.extend([Span::ours(format!("\n{label}: ")), quoted(value)]);
    };
    if let Some(handoff) = &facts.handoff {
        line(words::handoff_label(facts.kind), handoff);
    }
    for (name, label) in [("reviewer", "Reviewer"), ("implementer", "Implementer")] {
        if let Some(value) = words::note(facts, name) {
            line(label, value);
        }
    }
    if let Some(note) = words::beginning(facts) {
        text.push(Span::ours(format!("\n{note}")));
    }
    text.extend([ours("\n("), quoted(&facts.task), ours(" on ")]);
    text.push(Span::quoted(clean::one_line(board, NAME_CHARS)));
    let named = ["reviewer", "implementer"].map(|name| words::note(facts, name));
    if let Some(assignee) = facts.assignee.as_deref().filter(|name| !named.contains(&Some(*name))) {
        // The sign goes with the name: together they may be a mention, which is for the channel to disarm.
        text.extend([ours(", "), Span::quoted(format!("@{assignee}"))]);
    }
    text.push(ours(")"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::Kind, ids::EventId, time::Timestamp};

    fn facts(kind: Kind) -> Facts {
        Facts {
            event: EventId(7),
            kind,
            task: "t_00000001".into(),
            title: "Build report".into(),
            assignee: Some("writer".into()),
            handoff: None,
            session: None,
            notes: vec![],
            at: Timestamp::from_secs(0),
            print: String::new(),
        }
    }

    #[test]
    fn one_text_for_each_kind() {
        let all: Vec<String> = Kind::READ
            .iter()
            .filter(|(kind, _)| kind.pings())
            .map(|(kind, _)| {
                text(&facts(*kind), "default", false).lines().next().unwrap().to_owned()
            })
            .collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        Build report was completed.
        Build report is blocked.
        Build report was given up.
        Build report lost its worker: the process ended unexpectedly; another attempt is expected.
        Build report ran into a limit.
        Build report was moved.
        Build report is ready for review.
        Build report came back from review with changes requested.
        Build report was blocked again for the same reason and is in triage.
        ");
    }

    #[test]
    fn hand_off_and_ids_come_last() {
        let facts = Facts { handoff: Some("done once".into()), ..facts(Kind::Completed) };
        insta::assert_snapshot!(text(&facts, "default", true), @r"
        (may be a repeat) Build report was completed.
        Summary: done once
        (t_00000001 on default, @writer)
        ");
    }

    #[test]
    fn everything_that_came_from_a_task_or_a_board_is_quoted() {
        let note = |name: &str| (name.to_owned(), format!("<{name}>"));
        let names =
            ["reviewer", "implementer", "block_kind", "failures", "limit_seconds", "budget"];
        let names = names.iter().chain(&["status", "recurrences"]);
        for (kind, _) in Kind::READ.iter().copied() {
            let facts = Facts {
                task: "<task>".into(),
                title: "<title>".into(),
                assignee: Some("<assignee>".into()),
                handoff: Some("<handoff>".into()),
                notes: names.clone().map(|name| note(name)).collect(),
                ..facts(kind)
            };
            for span in marked(body(&facts, "<board>"), true, true) {
                assert!(matches!(&span, Span::Quoted(_)) == span.text().contains('<'), "{span:?}");
            }
        }
    }
}
