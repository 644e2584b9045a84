//! The rows of a session, folded while they stream in (laws W4, W6).

use std::time::Duration;

use kanban_notify::{
    history::{HistoryFold, HistoryRow, Role, SessionView},
    time::Timestamp,
};

use super::{
    json::{Event, Path, Sink},
    session,
};

/// Takes `{"session_id": …, "data": [rows, oldest first]}`, in any order of keys.
pub(super) struct HistorySink {
    fold: HistoryFold,
    session: Option<String>,
    has_rows: bool,
    row: Row,
}

#[derive(Default)]
struct Row {
    role: Option<Role>,
    text: String,
    calls_tools: bool,
    at: Option<Timestamp>,
}

/// The most bytes of a row's text that are kept. A wake is far smaller, and its reference stands
/// at its beginning.
const LONGEST_TEXT: usize = 1 << 20;
const LONGEST_NAME: usize = 1024;

impl HistorySink {
    pub(super) fn new(reference: Option<&str>) -> Self {
        Self {
            fold: HistoryFold::new(reference),
            session: None,
            has_rows: false,
            row: Row::default(),
        }
    }

    /// The view, or nothing if there was no list of rows.
    pub(super) fn view(self) -> Option<SessionView> {
        self.has_rows.then(|| self.fold.finish(self.session))
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        self.fold.push(&HistoryRow {
            role: row.role.unwrap_or(Role::Other),
            text: &row.text,
            calls_tools: row.calls_tools,
            at: row.at,
        });
    }
}

impl Sink for HistorySink {
    fn keep(&self, path: &Path) -> usize {
        if is_text(path) {
            LONGEST_TEXT.saturating_sub(self.row.text.len())
        } else if path.is(&["session_id"])
            || path.is(&["data", "*", "role"])
            || path.is(&["data", "*", "tool_calls"])
        {
            LONGEST_NAME
        } else {
            0
        }
    }

    fn take(&mut self, path: &Path, event: Event<'_>) {
        match event {
            Event::Array if path.is(&["data"]) => self.has_rows = true,
            Event::Object if path.is(&["data", "*"]) => self.row = Row::default(),
            Event::End if path.is(&["data", "*"]) => self.end_row(),
            Event::Text(name) if path.is(&["session_id"]) => self.session = session::valid(name),
            Event::Text(role) if path.is(&["data", "*", "role"]) => {
                self.row.role = Some(match role {
                    "user" => Role::User,
                    "assistant" => Role::Assistant,
                    _ => Role::Other,
                });
            }
            Event::Text(text) if is_text(path) => {
                if !self.row.text.is_empty() {
                    self.row.text.push('\n');
                }
                self.row.text.push_str(text);
            }
            // A list that was stored as text.
            Event::Text(calls) if path.is(&["data", "*", "tool_calls"]) => {
                self.row.calls_tools = !matches!(calls.trim(), "" | "[]" | "null");
            }
            Event::Object if path.is(&["data", "*", "tool_calls"]) => self.row.calls_tools = true,
            event if path.is(&["data", "*", "tool_calls", "*"]) && event != Event::End => {
                self.row.calls_tools = true;
            }
            Event::Number(number) if path.is(&["data", "*", "timestamp"]) => {
                self.row.at = seconds(number);
            }
            _ => {}
        }
    }
}

/// A text by itself, or the text parts of a list.
fn is_text(path: &Path) -> bool {
    path.is(&["data", "*", "content"])
        || path.is(&["data", "*", "content", "*"])
        || path.is(&["data", "*", "content", "*", "text"])
}

/// Real Unix seconds, as sessions store them.
fn seconds(number: &str) -> Option<Timestamp> {
    let span = Duration::try_from_secs_f64(number.parse().ok()?).ok()?;
    Some(Timestamp::default().after(span))
}
