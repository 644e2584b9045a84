//! The words for each kind, shared by pings and wakes.

use crate::{event::Kind, record::Facts};

/// What happened, as the end of a sentence that begins with the task.
pub(super) fn happened(facts: &Facts) -> String {
    match facts.kind {
        Kind::Completed => "was completed".to_owned(),
        Kind::Blocked => match note(facts, "block_kind") {
            Some("needs_input") => "is blocked and needs input".to_owned(),
            Some(kind) => format!("is blocked ({kind})"),
            None => "is blocked".to_owned(),
        },
        Kind::GaveUp => match note(facts, "failures") {
            Some(count) => format!("was given up after {count} failed attempts"),
            None => "was given up".to_owned(),
        },
        Kind::Crashed => "lost its worker: the process ended unexpectedly".to_owned(),
        Kind::TimedOut => match (note(facts, "limit_seconds"), note(facts, "budget")) {
            (Some(limit), _) => format!("ran into its time limit of {limit} s"),
            (None, Some(budget)) => format!("used up its iteration budget ({budget})"),
            (None, None) => "ran into a limit".to_owned(),
        },
        Kind::Status => match note(facts, "status") {
            Some(status) => format!("was moved to {status}"),
            None => "was moved".to_owned(),
        },
        Kind::ReviewRequested => "is ready for review".to_owned(),
        Kind::ChangesRequested => "came back from review with changes requested".to_owned(),
        Kind::BlockLoopDetected => match note(facts, "recurrences") {
            Some(count) => {
                format!("was blocked for the same reason {count} times and is in triage")
            }
            None => "was blocked again for the same reason and is in triage".to_owned(),
        },
        Kind::Archived => "was archived".to_owned(),
        Kind::Unblocked => "was unblocked".to_owned(),
        Kind::Other => "changed".to_owned(),
    }
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
