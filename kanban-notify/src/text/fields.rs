//! What a template of the operator may tell of an event, by name.

use super::{clean, words};
use crate::{facts::NAME_CHARS, message::flat, record::Facts};

/// Every field of an event on a board: the same names for every kind, empty where there is nothing to tell.
///
/// Each value comes from a task or a board, or is made from such: a template quotes it.
pub fn fields(facts: &Facts, board: &str) -> Vec<(&'static str, String)> {
    let note = |name| words::note(facts, name).unwrap_or_default().to_owned();
    vec![
        ("title", facts.subject().to_owned()),
        ("line", format!("{}.", flat(&words::happened(facts)))),
        ("label", words::handoff_label(facts.kind).to_owned()),
        ("summary", facts.handoff.clone().unwrap_or_default()),
        ("note", words::beginning(facts).unwrap_or_default()),
        ("task", facts.task.clone()),
        ("board", clean::one_line(board, NAME_CHARS)),
        ("assignee", facts.assignee.clone().unwrap_or_default()),
        ("reviewer", note("reviewer")),
        ("implementer", note("implementer")),
        ("kind", facts.kind.name().to_owned()),
        ("event", facts.event.0.to_string()),
        ("at", facts.at.to_string()),
        ("status", note("status")),
        ("block_kind", note("block_kind")),
        ("recurrences", note("recurrences")),
        ("failures", note("failures")),
        ("limit_seconds", note("limit_seconds")),
        ("budget", note("budget")),
    ]
}
