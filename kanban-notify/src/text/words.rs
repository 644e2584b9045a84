//! The words for each kind, shared by pings and wakes.

use crate::{event::Kind, message::Span, record::Facts};

/// What happened, as the end of a sentence that begins with the task.
pub(super) fn happened(facts: &Facts) -> Vec<Span> {
    let note = |name| note(facts, name);
    match facts.kind {
        Kind::Completed => told("was completed"),
        Kind::Blocked => match note("block_kind") {
            Some("needs_input") => told("is blocked and needs input"),
            Some(kind) => around("is blocked (", kind, ")"),
            None => told("is blocked"),
        },
        Kind::GaveUp => match note("failures") {
            Some(count) => around("was given up after ", count, " failed attempts"),
            None => told("was given up"),
        },
        Kind::Crashed => {
            told("lost its worker: the process ended unexpectedly; another attempt is expected")
        }
        Kind::TimedOut => match (note("limit_seconds"), note("budget")) {
            (Some(limit), _) => around("ran into its time limit of ", limit, " s"),
            (None, Some(budget)) => around("used up its iteration budget (", budget, ")"),
            (None, None) => told("ran into a limit"),
        },
        Kind::Status => match note("status") {
            Some(status) => around("was moved to ", status, ""),
            None => told("was moved"),
        },
        Kind::ReviewRequested => told("is ready for review"),
        Kind::ChangesRequested => told("came back from review with changes requested"),
        Kind::BlockLoopDetected => match note("recurrences") {
            Some(count) => {
                around("was blocked for the same reason ", count, " times and is in triage")
            }
            None => told("was blocked again for the same reason and is in triage"),
        },
        Kind::Archived => told("was archived"),
        Kind::Unblocked => told("was unblocked"),
        Kind::Other => told("changed"),
    }
}

fn told(words: &str) -> Vec<Span> {
    vec![Span::ours(words)]
}

fn around(before: &str, value: &str, after: &str) -> Vec<Span> {
    vec![Span::ours(before), Span::quoted(value), Span::ours(after)]
}

/// How the hand-off of this kind is introduced.
pub(super) fn handoff_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Completed | Kind::ReviewRequested => "Summary",
        Kind::GaveUp | Kind::TimedOut | Kind::Crashed => "Error",
        _ => "Reason",
    }
}

/// What is said of an event whose text is too long to be read as a whole.
pub(super) fn beginning(facts: &Facts) -> Option<String> {
    let bytes = note(facts, "payload_bytes")?;
    Some(format!("Only the beginning of its {bytes} bytes was read; the board has them all."))
}

/// A note by name.
pub(super) fn note<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    facts.notes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
