//! From an event and its task to what is told of it: masked, bounded, and independent of the board row.

use serde_json::Value;

use crate::{
    artifacts::{self, Take},
    event::{Event, Kind, Task},
    payload,
    record::Facts,
    text::clean::{self, Line},
};

/// Longest title told, in characters.
pub const TITLE_CHARS: usize = 120;
/// Longest hand-off told, in characters.
pub const HANDOFF_CHARS: usize = 400;
/// Longest name told (assignee, reviewer), in characters.
pub const NAME_CHARS: usize = 48;

/// How much of an event's text is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes that there are.
    pub bytes: u64,
    /// Bytes that are told.
    pub told: u64,
}

/// The facts of `event`; `task` is `None` when its row is gone already.
pub fn facts(event: &Event, task: Option<&Task>) -> Facts {
    facts_and_cut(event, task).0
}

/// The facts of `event`, and whether a text of it is longer than what is told.
pub fn facts_and_cut(event: &Event, task: Option<&Task>) -> (Facts, Option<Cut>) {
    let payload = Payload::parse(event);
    let title = task.map(|task| clean::line(&task.title, TITLE_CHARS)).unwrap_or_default();
    let handoff = handoff(event.kind, &payload, task);
    let mut notes = notes(event.kind, &payload, task);
    if event.kind == Kind::Completed {
        notes.extend(artifacts::notes(&payload.0, event.payload_cut.is_some()));
    }
    if let Some(bytes) = event.payload_cut {
        notes.push(("payload_bytes".to_owned(), bytes.to_string()));
    }
    let cut = cut([Some(&title), handoff.as_ref()], event.payload_cut);
    let facts = Facts {
        event: event.id,
        kind: event.kind,
        task: clean::one_line(&event.task, 64),
        title: title.text,
        assignee: task.and_then(|task| name(task.assignee.as_deref())),
        handoff: handoff.map(|line| line.text),
        session: task.and_then(|task| task.session_id.clone()).filter(|id| !id.trim().is_empty()),
        notes,
        at: event.created_at,
        print: event.print(),
    };
    (facts, cut)
}

/// The same, with the files whose paths stand in what the worker wrote, where these are wanted.
pub(crate) fn with_files(event: &Event, task: Option<&Task>, take: Take) -> (Facts, Option<Cut>) {
    let (mut facts, cut) = facts_and_cut(event, task);
    if take == Take::ListedAndFound {
        artifacts::find(&mut facts, event, task);
    }
    (facts, cut)
}

fn cut(lines: [Option<&Line>; 2], payload: Option<u64>) -> Option<Cut> {
    let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let cut = lines.into_iter().flatten().filter_map(|line| Some((line, line.cut_from?)));
    let cut = cut.fold(None, |sum: Option<Cut>, (line, from)| {
        let Cut { bytes, told } = sum.unwrap_or(Cut { bytes: 0, told: 0 });
        let told = told.saturating_add(size(line.text.len()));
        Some(Cut { bytes: bytes.saturating_add(size(from)), told })
    });
    match payload {
        None => cut,
        Some(bytes) => {
            let told = lines.into_iter().flatten().map(|line| size(line.text.len())).sum();
            Some(Cut { bytes, told })
        }
    }
}

/// What the worker, or the machinery, said last.
fn handoff(kind: Kind, payload: &Payload, task: Option<&Task>) -> Option<Line> {
    let line = |text: Option<&str>| text.and_then(|text| clean::first_line(text, HANDOFF_CHARS));
    match kind {
        Kind::Completed => line(payload.text("summary"))
            .or_else(|| line(task.and_then(|task| task.result.as_deref()))),
        Kind::ReviewRequested => line(payload.text("summary")),
        Kind::Blocked | Kind::BlockLoopDetected | Kind::ChangesRequested => {
            // Of a card that was made blocked: a word of the machinery, which tells nobody anything.
            line(payload.text("reason").filter(|reason| *reason != "initial_status"))
        }
        Kind::GaveUp | Kind::TimedOut => line(payload.text("error")),
        Kind::Crashed | Kind::Status | Kind::Archived | Kind::Unblocked | Kind::Other => None,
    }
}

/// Small facts of the kind, under fixed names.
fn notes(kind: Kind, payload: &Payload, task: Option<&Task>) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            notes.push((key.to_owned(), value));
        }
    };
    match kind {
        Kind::Status => note("status", payload.line("status", 32)),
        Kind::Blocked => note("block_kind", payload.line("kind", 32)),
        Kind::BlockLoopDetected => note("recurrences", payload.number("recurrences")),
        Kind::GaveUp => note("failures", payload.number("failures")),
        Kind::TimedOut => {
            // A budget's end has no limit in seconds; a limit of 0 s would be a lie.
            let limit = payload.number("limit_seconds").filter(|limit| limit != "0");
            let budget = payload.number("budget_used").zip(payload.number("budget_max"));
            match (limit, budget) {
                (Some(limit), _) => note("limit_seconds", Some(limit)),
                (None, Some((used, max))) => note("budget", Some(format!("{used} of {max}"))),
                (None, None) => note(
                    "limit_seconds",
                    task.and_then(|task| task.max_runtime_seconds)
                        .filter(|limit| *limit > 0)
                        .map(|limit| limit.to_string()),
                ),
            }
        }
        Kind::ReviewRequested => {
            note("implementer", payload.name("implementer"));
            note("reviewer", payload.name("reviewer"));
        }
        Kind::ChangesRequested => {
            note("reviewer", payload.name("reviewer"));
            note("implementer", payload.name("implementer"));
        }
        Kind::Completed | Kind::Crashed | Kind::Archived | Kind::Unblocked | Kind::Other => {}
    }
    notes
}

fn name(text: Option<&str>) -> Option<String> {
    text.map(|text| clean::one_line(text, NAME_CHARS)).filter(|name| !name.is_empty())
}

/// A payload read leniently: what is not an object has no fields.
struct Payload(Value);

impl Payload {
    fn parse(event: &Event) -> Self {
        let text = event.payload.as_deref();
        Self(text.map(|text| payload::parse(text, event.payload_cut.is_some())).unwrap_or_default())
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn line(&self, key: &str, max: usize) -> Option<String> {
        self.text(key).map(|text| clean::one_line(text, max))
    }

    fn name(&self, key: &str) -> Option<String> {
        name(self.text(key))
    }

    fn number(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_i64).map(|number| number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::EventId, time::Timestamp};

    fn of(kind: Kind, payload: Option<&str>, task: Option<&Task>) -> Facts {
        let event = Event {
            id: EventId(1),
            task: "t_1".into(),
            kind,
            payload: payload.map(str::to_owned),
            payload_cut: None,
            run: None,
            created_at: Timestamp::from_secs(5),
        };
        facts(&event, task)
    }

    #[test]
    fn report_4_a_broken_payload_is_an_absent_one() {
        for payload in [None, Some("{not json"), Some("[1]"), Some(r#"{"summary":5}"#)] {
            assert_eq!(of(Kind::Completed, payload, None).handoff, None);
        }
    }

    #[test]
    fn the_summary_wins_over_the_result() {
        let task = Task { result: Some("\n\nresult\nmore".into()), ..Task::default() };
        let both = of(Kind::Completed, Some(r#"{"summary":"sum\nx"}"#), Some(&task));
        assert_eq!(both.handoff.as_deref(), Some("sum"));
        assert_eq!(of(Kind::Completed, None, Some(&task)).handoff.as_deref(), Some("result"));
    }

    #[test]
    fn a_timeout_never_tells_of_zero_seconds() {
        let limit = |payload, task: Option<&Task>| of(Kind::TimedOut, Some(payload), task).notes;
        let pair = |k: &str, v: &str| vec![(k.to_owned(), v.to_owned())];
        assert_eq!(limit(r#"{"limit_seconds":60}"#, None), pair("limit_seconds", "60"));
        assert_eq!(limit(r#"{"budget_used":9,"budget_max":9}"#, None), pair("budget", "9 of 9"));
        let task = Task { max_runtime_seconds: Some(30), ..Task::default() };
        assert_eq!(limit(r#"{"limit_seconds":0}"#, Some(&task)), pair("limit_seconds", "30"));
        assert_eq!(limit("{}", None), vec![]);
    }
}
