//! The text of a ping: readable first, ids last.

use super::{clean, words};
use crate::{facts::NAME_CHARS, record::Facts};

/// One message about one event.
pub fn text(facts: &Facts, board: &str, possible_repeat: bool) -> String {
    let subject = if facts.title.is_empty() { &facts.task } else { &facts.title };
    let mut text = format!("{subject} {}.", words::happened(facts));
    if let Some(handoff) = &facts.handoff {
        text.push_str(&format!("\n{}: {handoff}", words::handoff_label(facts.kind)));
    }
    for (name, label) in [("reviewer", "Reviewer"), ("implementer", "Implementer")] {
        if let Some(value) = words::note(facts, name) {
            text.push_str(&format!("\n{label}: {value}"));
        }
    }
    if let Some(note) = words::beginning(facts) {
        text.push_str(&format!("\n{note}"));
    }
    let board = clean::one_line(board, NAME_CHARS);
    text.push_str(&format!("\n({} on {board}", facts.task));
    if let Some(assignee) = &facts.assignee {
        text.push_str(&format!(", @{assignee}"));
    }
    text.push(')');
    if possible_repeat {
        text.push_str("\nThis may be a repeat of an earlier message.");
    }
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
        Build report lost its worker: the process ended unexpectedly.
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
        Build report was completed.
        Summary: done once
        (t_00000001 on default, @writer)
        This may be a repeat of an earlier message.
        ");
    }
}
