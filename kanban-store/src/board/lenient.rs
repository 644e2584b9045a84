//! From values of any type to rows: what is broken spoils its own row and nothing else (law B2).

use diesel::Queryable;

use super::{
    model::{EventRow, RowKey, SubscriptionRow, TaskRow},
    print::print,
    statement::{Any, Cell},
};

/// Names and reasons of what cannot be read.
pub(crate) type Spoilt = Vec<(String, String)>;

/// So much of each part of a key is named in a report.
const SHOWN_CHARS: usize = 64;

/// SQL type of [`RawEvent`].
pub(crate) type EventColumns = (Any, Any, Any, Any, Any, Any, Any);
/// SQL type of [`RawSubscription`].
pub(crate) type SubscriptionColumns = (Any, Any, Any, Any, Any, Any, Any, Any, Any, Any);
/// SQL type of [`RawTask`].
pub(crate) type TaskColumns = (Any, Any, Any, Any, Any, Any, Any);

/// An event as it is stored.
#[derive(Debug, Queryable)]
pub(crate) struct RawEvent {
    id: Cell,
    task: Cell,
    kind: Cell,
    run: Cell,
    payload: Cell,
    created_at: Cell,
    payload_bytes: Cell,
}

impl RawEvent {
    /// The id; an integer on every board, because it is the rowid.
    pub(crate) fn id(&self) -> i64 {
        self.id.as_int().unwrap_or_default()
    }

    /// The task, if it is text.
    pub(crate) fn task(&self) -> Option<&str> {
        self.task.as_text()
    }

    /// The length of the payload, when less of it was read.
    pub(crate) fn cut(&self) -> Option<i64> {
        let bytes = self.payload_bytes.as_int()?;
        let read = match &self.payload {
            Cell::Null => 0,
            Cell::Text(text) => text.len(),
            Cell::BrokenText(read) | Cell::Blob(read) => read.len(),
            Cell::Int(_) | Cell::Real(_) => return None,
        };
        (i64::try_from(read).ok()? < bytes).then_some(bytes)
    }

    /// The print over everything but the id; in the place of a payload that is too long to be read stands
    /// its length.
    pub(crate) fn print(&self) -> String {
        let length = self.cut().map(Cell::Int);
        let payload = length.as_ref().unwrap_or(&self.payload);
        print([&self.task, &self.kind, &self.run, &self.created_at, payload])
    }

    /// The event; `None`, with a note in `spoilt`, when it cannot be delivered as it is.
    pub(crate) fn read(self, spoilt: &mut Spoilt) -> Option<EventRow> {
        let id = self.id();
        let name = || format!("event {id}");
        let payload_cut = self.cut();
        let run = self.run.as_int();
        let created_at = required(&name, "created_at", self.created_at, spoilt, integral)?;
        let task = required(&name, "task_id", self.task, spoilt, Cell::into_text)?;
        let kind = required(&name, "kind", self.kind, spoilt, Cell::into_text)?;
        let payload = match self.payload {
            Cell::Null => None,
            Cell::Text(text) => Some(text),
            // The cut may have gone through a character.
            Cell::BrokenText(head) if payload_cut.is_some() => {
                Some(String::from_utf8_lossy(&head).into_owned())
            }
            other => {
                let what = other.describe();
                spoilt.push((name(), format!("payload is {what}: read as none")));
                None
            }
        };
        Some(EventRow { id, task, kind, run, payload, payload_cut, created_at })
    }
}

/// A subscription as it is stored.
#[derive(Debug, Queryable)]
pub(crate) struct RawSubscription {
    rowid: Cell,
    task: Cell,
    platform: Cell,
    chat: Cell,
    thread: Cell,
    created_at: Cell,
    cursor: Cell,
    owner: Cell,
    user: Cell,
    mode: Cell,
}

impl RawSubscription {
    /// The rowid.
    pub(crate) fn rowid(&self) -> i64 {
        self.rowid.as_int().unwrap_or_default()
    }

    /// The task, if it is text.
    pub(crate) fn task(&self) -> Option<&str> {
        self.task.as_text()
    }

    /// The row; `None`, with a note in `spoilt`, when it cannot be served as it is.
    pub(crate) fn read(self, spoilt: &mut Spoilt) -> Option<SubscriptionRow> {
        let rowid = self.rowid();
        let parts = [&self.task, &self.platform, &self.chat, &self.thread].map(shown);
        let name = || format!("subscription {} (row {rowid})", parts.join("/"));
        let key = RowKey {
            task: required(&name, "task_id", self.task, spoilt, Cell::into_text)?,
            platform: required(&name, "platform", self.platform, spoilt, Cell::into_text)?,
            chat: required(&name, "chat_id", self.chat, spoilt, Cell::into_text)?,
            thread: required(&name, "thread_id", self.thread, spoilt, Cell::into_text)?,
        };
        let exact = |cell: Cell| cell.as_int();
        let created_at = required(&name, "created_at", self.created_at, spoilt, exact)?;
        let cursor = required(&name, "last_event_id", self.cursor, spoilt, exact)?;
        let owner = match self.owner {
            Cell::Null => None,
            other => Some(required(&name, "notifier_profile", other, spoilt, Cell::into_text)?),
        };
        Some(SubscriptionRow {
            rowid,
            key,
            created_at,
            cursor,
            owner,
            user: self.user.into_text(),
            mode: self.mode.into_text(),
        })
    }
}

/// A task as it is stored.
#[derive(Debug, Queryable)]
pub(crate) struct RawTask {
    id: Cell,
    title: Cell,
    assignee: Cell,
    status: Cell,
    result: Cell,
    session_id: Cell,
    max_runtime_seconds: Cell,
}

impl RawTask {
    /// The task. Broken values are absent ones: a notice without a title still is a notice.
    pub(crate) fn read(self) -> Option<TaskRow> {
        Some(TaskRow {
            id: self.id.into_text()?,
            title: loose(self.title).unwrap_or_default(),
            assignee: loose(self.assignee),
            status: loose(self.status).unwrap_or_default(),
            result: loose(self.result),
            session_id: self.session_id.into_text(),
            max_runtime_seconds: self.max_runtime_seconds.as_int(),
        })
    }
}

fn required<T>(
    name: &impl Fn() -> String,
    column: &str,
    cell: Cell,
    spoilt: &mut Spoilt,
    read: impl FnOnce(Cell) -> Option<T>,
) -> Option<T> {
    let what = cell.describe();
    let value = read(cell);
    if value.is_none() {
        spoilt.push((name(), format!("{column} is {what}")));
    }
    value
}

/// Whole seconds, also from a real number as some clients write them.
fn integral(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(value),
        // Through text, because a cast of a float saturates silently.
        Cell::Real(value) => format!("{:.0}", value.floor()).parse().ok(),
        _ => None,
    }
}

/// Text for people from whatever is there.
fn loose(cell: Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::BrokenText(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Cell::Int(value) => Some(value.to_string()),
        Cell::Real(value) => Some(value.to_string()),
        Cell::Null | Cell::Blob(_) => None,
    }
}

/// A part of a key as it is named in a report.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) if text.chars().nth(SHOWN_CHARS).is_some() => {
            text.chars().take(SHOWN_CHARS).chain(['\u{2026}']).collect()
        }
        Cell::Text(text) => text.clone(),
        Cell::Int(value) => value.to_string(),
        other => format!("({})", other.describe()),
    }
}
