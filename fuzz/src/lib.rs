//! What the targets share: events as a board could hold them, and what must be true of each text.

pub mod body;
pub mod cell;
pub mod server;

use arbitrary::Arbitrary;
use kanban_notify::{
    event::{Event, Kind, Task},
    ids::EventId,
    time::Timestamp,
};
use serde_json::Value;

/// An event with its task, of any content.
#[derive(Arbitrary, Debug)]
pub struct Told {
    kind: u8,
    payload: Payload,
    payload_cut: Option<u64>,
    id: String,
    at: i64,
    task: Option<Row>,
}

/// JSON with the keys that are read, or anything.
#[derive(Arbitrary, Debug)]
enum Payload {
    None,
    Raw(String),
    Fields(String, Vec<(u8, Field)>),
    /// The same, cut after so many characters.
    Head(String, Vec<(u8, Field)>, u16),
}

#[derive(Arbitrary, Debug)]
enum Field {
    Text(String),
    Number(i64),
    List(Vec<String>),
}

#[derive(Arbitrary, Debug)]
struct Row {
    title: String,
    assignee: Option<String>,
    result: Option<String>,
    max_runtime_seconds: Option<i64>,
}

const KEYS: [&str; 12] = [
    "summary",
    "reason",
    "error",
    "status",
    "kind",
    "reviewer",
    "implementer",
    "failures",
    "limit_seconds",
    "budget_used",
    "budget_max",
    "recurrences",
];

impl Told {
    /// The event and its task.
    pub fn event(self) -> (Event, Option<Task>) {
        let id = self.id.clone();
        let event = Event {
            id: EventId(self.at),
            task: self.id,
            kind: one_of(&Kind::READ, self.kind).0,
            payload: self.payload.text(),
            payload_cut: self.payload_cut,
            run: None,
            created_at: Timestamp::from_secs(self.at),
        };
        let task = self.task.map(|row| Task {
            id,
            title: row.title,
            assignee: row.assignee,
            result: row.result,
            max_runtime_seconds: row.max_runtime_seconds,
            ..Task::default()
        });
        (event, task)
    }
}

impl Payload {
    fn text(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Raw(text) => Some(text),
            Self::Fields(words, fields) => Some(object(&words, fields)),
            Self::Head(words, fields, most) => {
                Some(object(&words, fields).chars().take(usize::from(most)).collect())
            }
        }
    }
}

/// An object with these words wherever a hand-off is looked for, and with other fields.
fn object(words: &str, fields: Vec<(u8, Field)>) -> String {
    let usual = ["summary", "reason", "error"].map(|key| (key.to_owned(), Value::from(words)));
    let fields = fields.into_iter().map(|(key, field)| {
        let value = match field {
            Field::Text(text) => Value::from(text),
            Field::Number(number) => Value::from(number),
            Field::List(items) => Value::from(items),
        };
        ((*one_of(&KEYS, key)).to_owned(), value)
    });
    Value::Object(usual.into_iter().chain(fields).collect()).to_string()
}

/// One of a list, by a number of any size.
pub fn one_of<T>(list: &[T], number: u8) -> &T {
    &list[usize::from(number) % list.len()]
}

/// Nothing that breaks a line, controls a terminal, turns text around, or passes for us.
pub fn assert_tame(text: &str, most: usize) {
    assert!(text.chars().count() <= most, "more than {most} characters: {text:?}");
    let wild = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '"')
    };
    assert!(!text.contains(wild), "{text:?}");
    let folded = text.to_ascii_lowercase();
    assert!(!folded.contains("[kanban]") && !folded.contains("kgw:"), "{text:?}");
}
