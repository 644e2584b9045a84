//! Events of a board, as they were written.

use std::collections::VecDeque;

use kanban_store::board::{Board, ListedEvent};
use serde::Serialize;
use serde_json::Value;

use super::{Context, tasks::resolve, time::Moment};

/// One event.
#[derive(Clone, Debug, Serialize)]
pub struct EventLine {
    /// Its id on the board.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Its kind.
    pub kind: String,
    /// The attempt it belongs to.
    pub run: Option<i64>,
    /// When it was written.
    pub created_at: Moment,
    /// Its payload; as text where it is no JSON, and nothing where it is longer than 256 KiB.
    pub payload: Option<Value>,
    /// The length of a payload that is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<i64>,
}

impl EventLine {
    /// The payload as a text, or how long it is.
    pub fn payload_text(&self) -> String {
        match (&self.payload, self.payload_bytes) {
            (_, Some(bytes)) => format!("({bytes} bytes)"),
            (Some(payload), None) => payload.to_string(),
            (None, None) => String::new(),
        }
    }
}

/// Which events.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of this task.
    pub task: Option<String>,
    /// The first ones above this id; without it the newest ones.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// Events are read in pages of so many: however long a board's history is, memory stays small.
const PAGE: usize = 100;

/// Events of a board, read as they are taken.
pub struct Events {
    board: Board,
    task: Option<String>,
    page: VecDeque<EventLine>,
    /// Everything up to here was read.
    position: i64,
    /// How many more are wanted.
    left: usize,
    /// Whether there are earlier ones than the newest that were asked for.
    earlier: bool,
    seen: Option<i64>,
}

impl Events {
    /// Opens the board that `slug` names, or the current one.
    pub fn open(ctx: &Context, slug: Option<&str>, wanted: &Wanted) -> anyhow::Result<Self> {
        let (found, mut board) = ctx.board(slug)?;
        let task = match &wanted.task {
            // A task that was deleted may have left events.
            Some(task) if !board.newest_ids(Some(task), 1)?.is_empty() => Some(task.clone()),
            Some(task) => Some(resolve(&mut board, &found.slug, task)?),
            None => None,
        };
        let mut events = Self {
            task,
            page: VecDeque::new(),
            position: wanted.after.unwrap_or_default(),
            left: wanted.limit,
            earlier: false,
            seen: None,
            board,
        };
        if wanted.after.is_none() {
            events.go_back(wanted.limit)?;
        }
        Ok(events)
    }

    /// Sets the position so that `limit` events are above it.
    fn go_back(&mut self, limit: usize) -> anyhow::Result<()> {
        let task = self.task.as_deref();
        let first = self.board.newest_ids(task, limit.saturating_add(1))?;
        self.earlier = first.len() > limit;
        let oldest = if self.earlier { first.get(1) } else { first.first() };
        self.position = match oldest {
            Some(oldest) if limit > 0 => oldest.saturating_sub(1),
            _ => first.last().copied().unwrap_or_default(),
        };
        Ok(())
    }

    /// Whether earlier events were left out.
    pub fn has_earlier(&self) -> bool {
        self.earlier
    }

    /// Whether later events were left out.
    pub fn has_later(&mut self) -> anyhow::Result<bool> {
        Ok(!self.board.events(self.task.as_deref(), self.position, 1)?.is_empty())
    }

    /// The next event; `None` when there is none, or as many as wanted were given.
    pub fn take(&mut self) -> anyhow::Result<Option<EventLine>> {
        if self.page.is_empty() && self.left > 0 {
            self.read(self.left.min(PAGE))?;
        }
        let next = self.page.pop_front();
        if next.is_some() {
            self.left = self.left.saturating_sub(1);
        }
        Ok(next)
    }

    /// Events that came since, if any; cheap when nothing changed.
    pub fn news(&mut self) -> anyhow::Result<Vec<EventLine>> {
        self.board.check_file()?;
        let version = self.board.data_version()?;
        if self.seen == Some(version) && self.page.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.position;
        self.read(PAGE)?;
        // Rows that cannot be read are passed over: only what does not move is the end.
        if self.position == before {
            self.seen = Some(version);
        }
        Ok(self.page.drain(..).collect())
    }

    fn read(&mut self, most: usize) -> anyhow::Result<()> {
        let (found, last) = self.board.events_to(self.task.as_deref(), self.position, most)?;
        self.position = last.unwrap_or(self.position);
        self.page.extend(found.into_iter().map(line));
        Ok(())
    }
}

pub(super) fn line(event: ListedEvent) -> EventLine {
    EventLine {
        id: event.id,
        task: event.task,
        kind: event.kind,
        run: event.run,
        created_at: Moment::from_secs(event.created_at),
        payload: event.payload.map(json),
        payload_bytes: event.payload_cut,
    }
}

/// Stored JSON as JSON; anything else as the text that it is.
pub(super) fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
