//! Lists for people: tasks, a task's events, subscriptions.

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    Board,
    connection::read_error,
    lenient::{EventColumns, RawEvent, RawSubscription, SubscriptionColumns},
    model::SubscriptionRow,
    pass::json_list,
    statement::{Any, Bind, Cell, query},
};
use crate::error::StoreError;

/// A task in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedTask {
    /// Its id.
    pub id: String,
    /// Its title; of a very long one the first 4 096 characters.
    pub title: String,
    /// Its status.
    pub status: String,
    /// Who it is assigned to.
    pub assignee: Option<String>,
    /// When it was made, in Unix seconds.
    pub created_at: i64,
}

/// An event of any kind in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// Its id.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Its kind, whatever that is.
    pub kind: String,
    /// The attempt it belongs to.
    pub run: Option<i64>,
    /// The payload as it is stored; `None` when it is longer than 256 KiB.
    pub payload: Option<String>,
    /// Its length in bytes, when it is longer.
    pub payload_cut: Option<i64>,
    /// When it was written, in Unix seconds.
    pub created_at: i64,
}

/// What an event is, without what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStamp {
    /// Its id.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Its kind.
    pub kind: String,
    /// When it was written, in Unix seconds.
    pub created_at: i64,
}

/// Which tasks to list; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// With this status.
    pub status: Option<String>,
    /// Assigned to this profile.
    pub assignee: Option<String>,
    /// Archived ones too; a status that is asked for is always listed.
    pub archived: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

// As Hermes lists them: what is urgent first, then what has waited longest.
const FILTERED: &str = "SELECT id, substr(title, 1, 4096), status, assignee, created_at FROM tasks \
     WHERE status = coalesce(?, status) AND coalesce(assignee, '') = coalesce(?, assignee, '') AND \
     (status <> 'archived' OR ?) ORDER BY priority DESC, created_at, id LIMIT ?";
const TASK: &str =
    "SELECT id, substr(title, 1, 4096), status, assignee, created_at FROM tasks WHERE id = ?";

impl Board {
    /// The tasks that a filter names, the most urgent first, then the oldest.
    pub fn list_tasks(&mut self, filter: &TaskFilter) -> Result<Vec<ListedTask>, StoreError> {
        let archived = filter.archived || filter.status.is_some();
        let limit = filter.limit.and_then(|most| i64::try_from(most).ok()).unwrap_or(-1);
        let binds = [
            Bind::TextOrNull(filter.status.as_deref()),
            Bind::TextOrNull(filter.assignee.as_deref()),
            Bind::Int(i64::from(archived)),
            Bind::Int(limit),
        ];
        self.list(|board| tasks(&mut board.reader, FILTERED, &binds))
    }

    /// One task.
    pub fn task(&mut self, id: &str) -> Result<Option<ListedTask>, StoreError> {
        let found = self.list(|board| tasks(&mut board.reader, TASK, &[Bind::Text(id)]))?;
        Ok(found.into_iter().next())
    }

    /// Events with ids above `after`, of one task or of all, ascending, at most `limit`.
    /// Unreadable ones are left out.
    pub fn events(
        &mut self,
        task: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<ListedEvent>, StoreError> {
        self.events_to(task, after, limit).map(|(events, _)| events)
    }

    /// The same, and the id of the last one that was looked at, readable or not.
    pub fn events_to(
        &mut self,
        task: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<(Vec<ListedEvent>, Option<i64>), StoreError> {
        let limit = Bind::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        self.list(|board| {
            let (text, binds) = match task {
                Some(task) => {
                    (&board.texts.events_of_task, vec![Bind::Int(after), Bind::Text(task), limit])
                }
                None => (&board.texts.events, vec![Bind::Int(after), limit]),
            };
            listed(&mut board.reader, text, &binds)
        })
    }

    /// The events with ids above `after` that somebody may be told of, of one task or of all, ascending.
    /// All of them, however long they are: what they carry is not read.
    pub fn event_stamps(
        &mut self,
        task: Option<&str>,
        after: i64,
    ) -> Result<Vec<EventStamp>, StoreError> {
        self.list(|board| {
            let texts = &board.texts;
            let (text, binds) = match task {
                Some(task) => (&texts.stamps_of_task, vec![Bind::Int(after), Bind::Text(task)]),
                None => (&texts.stamps, vec![Bind::Int(after)]),
            };
            let (events, _) = listed(&mut board.reader, text, &binds)?;
            let stamp = |ListedEvent { id, task, kind, created_at, .. }| EventStamp {
                id,
                task,
                kind,
                created_at,
            };
            Ok(events.into_iter().map(stamp).collect())
        })
    }

    /// The newest events of one task or of all, ascending, at most `limit`. Unreadable ones are left
    /// out.
    pub fn newest_events(
        &mut self,
        task: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ListedEvent>, StoreError> {
        let limit = Bind::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        self.list(|board| {
            let (text, binds) = match task {
                Some(task) => (&board.texts.newest_of_task, vec![Bind::Text(task), limit]),
                None => (&board.texts.newest, vec![limit]),
            };
            let (mut events, _) = listed(&mut board.reader, text, &binds)?;
            events.reverse();
            Ok(events)
        })
    }

    /// The ids of the newest events of one task or of all, ascending, at most `limit`.
    pub fn newest_ids(&mut self, task: Option<&str>, limit: usize) -> Result<Vec<i64>, StoreError> {
        const OF_ALL: &str = "SELECT id FROM task_events ORDER BY id DESC LIMIT ?";
        const OF_TASK: &str =
            "SELECT id FROM task_events WHERE task_id = ? ORDER BY id DESC LIMIT ?";
        let limit = Bind::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        self.list(|board| {
            let (text, binds) = match task {
                Some(task) => (OF_TASK, vec![Bind::Text(task), limit]),
                None => (OF_ALL, vec![limit]),
            };
            let rows: Vec<Id> = query::<(Any,)>(text, &binds).load(&mut board.reader)?;
            Ok(rows.into_iter().rev().filter_map(|row| row.0.as_int()).collect())
        })
    }

    /// Subscriptions with rowids above `after`, ascending, at most `limit`; and what is spoilt.
    #[expect(clippy::type_complexity, reason = "two lists, both named in the sentence above")]
    pub fn subscriptions(
        &mut self,
        after: i64,
        limit: usize,
    ) -> Result<(Vec<SubscriptionRow>, Vec<(String, String)>), StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.list(|board| {
            let raw: Vec<RawSubscription> = query::<SubscriptionColumns>(
                &board.texts.rows_after,
                &[Bind::Int(after), Bind::Int(limit)],
            )
            .load(&mut board.reader)?;
            let mut spoilt = Vec::new();
            let rows = raw.into_iter().filter_map(|raw| raw.read(&mut spoilt)).collect();
            Ok((rows, spoilt))
        })
    }

    /// The subscriptions of one task. Unreadable ones are left out.
    pub fn subscriptions_of(&mut self, task: &str) -> Result<Vec<SubscriptionRow>, StoreError> {
        let Some(tasks) = json_list([task].into_iter()) else { return Ok(Vec::new()) };
        self.list(|board| {
            let text = &board.texts.rows_of_tasks;
            let raw: Vec<RawSubscription> =
                query::<SubscriptionColumns>(text, &[Bind::Text(&tasks)])
                    .load(&mut board.reader)?;
            let mut spoilt = Vec::new();
            Ok(raw.into_iter().filter_map(|raw| raw.read(&mut spoilt)).collect())
        })
    }

    pub(super) fn list<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> QueryResult<T>,
    ) -> Result<T, StoreError> {
        self.check_file()?;
        self.snapshot(false, |board| read(board).map_err(|source| read_error(&board.path, source)))
    }
}

#[derive(Queryable)]
struct Id(Cell);

fn listed(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<(Vec<ListedEvent>, Option<i64>)> {
    let raw: Vec<RawEvent> = query::<EventColumns>(sql, binds).load(connection)?;
    let last = raw.last().map(RawEvent::id);
    let mut spoilt = Vec::new();
    let readable = raw.into_iter().filter_map(|raw| raw.read(&mut spoilt));
    let events = readable
        .map(|event| ListedEvent {
            id: event.id,
            task: event.task,
            kind: event.kind,
            run: event.run,
            payload: event.payload,
            payload_cut: event.payload_cut,
            created_at: event.created_at,
        })
        .collect();
    Ok((events, last))
}

#[derive(Queryable)]
struct RawListed {
    id: Cell,
    title: Cell,
    status: Cell,
    assignee: Cell,
    created_at: Cell,
}

pub(super) fn tasks(
    connection: &mut SqliteConnection,
    sql: &str,
    binds: &[Bind<'_>],
) -> QueryResult<Vec<ListedTask>> {
    let rows: Vec<RawListed> = query::<(Any, Any, Any, Any, Any)>(sql, binds).load(connection)?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(ListedTask {
                id: row.id.into_text()?,
                title: row.title.into_text().unwrap_or_default(),
                status: row.status.into_text().unwrap_or_default(),
                assignee: row.assignee.into_text(),
                created_at: row.created_at.as_int().unwrap_or_default(),
            })
        })
        .collect())
}
