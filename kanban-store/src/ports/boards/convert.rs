//! Between the board's plain data and the domain's types.

use kanban_notify::{
    error::{PortError, PortErrorKind},
    event::{Event, Kind, Task},
    ids::EventId,
    record::{
        AGED_ROWS, Aged, AgedRows, EventPrint, Part, Pass, PassRequest, Position, RowChange,
        RowOutcome, Sweep,
    },
    subscription::{Mode, Row, SubKey},
    time::Timestamp,
    verdict::Detail,
};

use crate::{
    board::{
        AgedQuery, EditOutcome, EventRow, Mark, PartRow, PassQuery, PassRows, RowEdit, RowKey,
        SubscriptionRow, TaskRow,
    },
    error::StoreError,
};

pub(super) fn pass_query(request: PassRequest) -> PassQuery {
    let after = request.after;
    PassQuery {
        after: Mark {
            event: after.event.0,
            event_print: after.event_print.map(|print| print.hash),
            rowid: after.rowid,
            row_print: after.row_print,
        },
        sweep_above: match request.sweep {
            Sweep::No => None,
            Sweep::Above(id) => Some(id.0),
        },
        limit: request.limit,
        resume: request
            .resume
            .into_iter()
            .map(|(task, above)| (task, above.map(|above| above.0)))
            .collect(),
        watch: request.watch.into_iter().map(row_key).collect(),
        aged: request.aged.map(|aged| AgedQuery {
            before: aged.before.secs(),
            above: aged.above,
            limit: AGED_ROWS,
        }),
    }
}

pub(super) fn pass(seen: PassRows, aged: Option<Aged>) -> Pass {
    Pass {
        events: seen.events.into_iter().map(event).collect(),
        parts: seen.parts.into_iter().map(part).collect(),
        tasks: seen.tasks.into_iter().map(task).collect(),
        rows: seen.rows.into_iter().map(row).collect(),
        watched: seen
            .watched
            .into_iter()
            .map(|(key, found)| (sub_key(key), found.map(row)))
            .collect(),
        aged: aged.map(|aged| AgedRows {
            before: aged.before,
            rows: seen.aged.into_iter().map(row).collect(),
        }),
        next: Position {
            event: EventId(seen.next.event),
            event_print: seen
                .next
                .event_print
                .map(|hash| EventPrint { id: EventId(seen.next.event), hash }),
            rowid: seen.next.rowid,
            row_print: seen.next.row_print,
        },
        more: seen.more,
        sweep_from: seen.sweep_from.map(EventId),
        // Every row comes with all its unseen events.
        complete_above: i64::MIN,
        has_delivery_mode: seen.features.delivery_mode,
        newest: EventId(seen.newest),
        spoilt: seen.spoilt.into_iter().map(|(name, why)| (name, Detail::new(&why))).collect(),
        replaced: seen.replaced.as_deref().map(Detail::new),
    }
}

pub(super) fn row_edit(change: RowChange) -> RowEdit {
    match change {
        RowChange::Raise { key, created_at, to } => {
            RowEdit::Raise { key: row_key(key), created_at: created_at.secs(), to: to.0 }
        }
        RowChange::Stamp { key, from, to } => RowEdit::Stamp { key: row_key(key), from, to },
        RowChange::Delete { key, created_at, aged } => RowEdit::Delete {
            key: row_key(key),
            created_at: created_at.secs(),
            aged: aged.map(Timestamp::secs),
        },
    }
}

pub(super) fn row_outcome(outcome: EditOutcome) -> RowOutcome {
    match outcome {
        EditOutcome::Won => RowOutcome::Won,
        EditOutcome::Lost => RowOutcome::Lost,
        EditOutcome::Gone => RowOutcome::Gone,
    }
}

/// The store's error as the port says it.
pub(super) fn port_error(operation: &'static str, error: StoreError) -> PortError {
    PortError { operation, kind: kind(&error), source: Box::new(error) }
}

/// Whether waiting helps.
pub(super) fn kind(error: &StoreError) -> PortErrorKind {
    match error {
        StoreError::NotADatabase { .. }
        | StoreError::LookAlike { .. }
        | StoreError::GuardBoard { .. } => PortErrorKind::Unusable,
        _ => PortErrorKind::Weather,
    }
}

/// The whole chain of causes in one line.
pub(super) fn told(error: &dyn std::error::Error) -> Detail {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    Detail::new(&text)
}

fn part(part: PartRow) -> Part {
    Part {
        task: part.task,
        above: part.above.map(EventId),
        up_to: part.up_to.map(EventId),
        history: part.history.into_iter().map(|(rowid, event)| (rowid, EventId(event))).collect(),
    }
}

fn event(event: EventRow) -> Event {
    Event {
        id: EventId(event.id),
        kind: Kind::parse(&event.kind),
        task: event.task,
        payload: event.payload,
        payload_cut: event.payload_cut.and_then(|bytes| u64::try_from(bytes).ok()),
        run: event.run,
        created_at: Timestamp::from_secs(event.created_at),
    }
}

fn task(task: TaskRow) -> Task {
    Task {
        id: task.id,
        title: task.title,
        assignee: task.assignee,
        status: task.status,
        result: task.result,
        session_id: task.session_id,
        max_runtime_seconds: task.max_runtime_seconds,
    }
}

fn row(row: SubscriptionRow) -> Row {
    Row {
        key: sub_key(row.key),
        created_at: Timestamp::from_secs(row.created_at),
        cursor: EventId(row.cursor),
        owner: row.owner,
        user: row.user,
        mode: Mode::parse(row.mode.as_deref()),
        rowid: row.rowid,
    }
}

fn row_key(key: SubKey) -> RowKey {
    RowKey { task: key.task, platform: key.platform, chat: key.chat, thread: key.thread }
}

fn sub_key(key: RowKey) -> SubKey {
    SubKey { task: key.task, platform: key.platform, chat: key.chat, thread: key.thread }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn board_and_domain_name_the_same_kinds() {
        let domain: Vec<&str> = Kind::READ.iter().map(|(_, name)| *name).collect();
        assert_eq!(domain, crate::board::READ_KINDS);
        let told: Vec<&str> =
            Kind::READ.iter().filter(|(kind, _)| kind.pings()).map(|(_, name)| *name).collect();
        assert_eq!(told, crate::board::TOLD_KINDS);
    }
}
