//! Rows that are read for each delivery, by fixed text: a built query costs more than what it reads.

use diesel::{Selectable, expression::Expression, prelude::*, sqlite::Sqlite};

use super::{
    claims::TallyRow,
    plan::CopyKey,
    rows::{EventRow, LegRow, SubscriptionRow},
};
use crate::fixed::{Bind, Fixed, fixed};

/// The columns of a copy, in the order of [`SubscriptionRow`].
macro_rules! copy_columns {
    () => {
        "id, board_id, incarnation, task, platform, chat, thread, created_at, profile, adopted, \
         previous_owner, mode, baseline, seen, settled, board_cursor, archived_event, life, updated_at"
    };
}
pub(super) use copy_columns;

/// The SQL types of a row's columns, in its order.
pub(super) type ColumnsOf<Row> =
    <<Row as Selectable<Sqlite>>::SelectExpression as Expression>::SqlType;

/// (board, incarnation, task)
struct CopiesOfTask;

impl Fixed for CopiesOfTask {
    const SQL: &'static str = concat!(
        "SELECT ",
        copy_columns!(),
        " FROM subscriptions WHERE board_id = ? AND incarnation = ? AND task = ? ORDER BY id"
    );
}

/// The copies of a task's subscriptions, the oldest first.
pub(super) fn copies_of_task(
    conn: &mut SqliteConnection,
    board: i64,
    incarnation: i64,
    task: &str,
) -> QueryResult<Vec<SubscriptionRow>> {
    let binds = [Bind::Int(board), Bind::Int(incarnation), Bind::Text(task)];
    fixed::<CopiesOfTask, ColumnsOf<SubscriptionRow>>(&binds).load(conn)
}

/// (board, incarnation, task, platform, chat, thread, created at)
struct CopyOfKey;

impl Fixed for CopyOfKey {
    const SQL: &'static str = concat!(
        "SELECT ",
        copy_columns!(),
        " FROM subscriptions WHERE board_id = ? AND incarnation = ? AND task = ? AND platform = ? \
         AND chat = ? AND thread = ? AND created_at = ?"
    );
}

/// The copy of one subscription.
pub(super) fn copy_of_key(
    conn: &mut SqliteConnection,
    board: i64,
    incarnation: i64,
    key: &CopyKey,
) -> QueryResult<Option<SubscriptionRow>> {
    let binds = [
        Bind::Int(board),
        Bind::Int(incarnation),
        Bind::Text(&key.task),
        Bind::Text(&key.platform),
        Bind::Text(&key.chat),
        Bind::Text(&key.thread),
        Bind::Int(key.created_at),
    ];
    fixed::<CopyOfKey, ColumnsOf<SubscriptionRow>>(&binds).get_result(conn).optional()
}

/// (copy)
struct Copy;

impl Fixed for Copy {
    const SQL: &'static str =
        concat!("SELECT ", copy_columns!(), " FROM subscriptions WHERE id = ?");
}

/// One copy.
pub(super) fn copy(conn: &mut SqliteConnection, id: i64) -> QueryResult<Option<SubscriptionRow>> {
    fixed::<Copy, ColumnsOf<SubscriptionRow>>(&[Bind::Int(id)]).get_result(conn).optional()
}

/// (copy, board, incarnation)
struct OpenLegs;

impl Fixed for OpenLegs {
    const SQL: &'static str = "SELECT legs.id, legs.subscription_id, legs.event, legs.kind, legs.state, \
     legs.claim_id, legs.due_at, legs.planned_at, legs.failures, legs.failed_turns, legs.epoch, \
     legs.alone, legs.repeat, legs.replay, legs.part, legs.plain, legs.parent, legs.dropped, \
     legs.reason, legs.verdict, legs.first_attempt_at, legs.last_attempt_at, legs.updated_at, \
     events.board_id, events.incarnation, events.event, events.kind, events.task, events.title, \
     events.assignee, events.handoff, events.session, events.notes, events.written_at, events.print \
     FROM legs JOIN events ON events.event = legs.event \
     WHERE legs.subscription_id = ? AND events.board_id = ? AND events.incarnation = ? \
     AND legs.state IN ('planned', 'intended', 'retrying', 'unknown') ORDER BY legs.event, legs.id";
}

/// The open legs of a copy with their events, ascending.
pub(super) fn open_legs(
    conn: &mut SqliteConnection,
    copy: &SubscriptionRow,
) -> QueryResult<Vec<(LegRow, EventRow)>> {
    let binds = [copy.id, copy.board_id, copy.incarnation].map(Bind::Int);
    fixed::<OpenLegs, (ColumnsOf<LegRow>, ColumnsOf<EventRow>)>(&binds).load(conn)
}

/// (leg)
struct Unsent;

impl Fixed for Unsent {
    const SQL: &'static str = "SELECT failures, failed_turns, epoch, alone, repeat, replay, part, plain, \
     parent FROM legs WHERE id = ? AND state IN ('planned', 'retrying')";
}

/// The counts of a leg of which nothing is sent.
pub(super) fn unsent(conn: &mut SqliteConnection, leg: i64) -> QueryResult<Option<TallyRow>> {
    fixed::<Unsent, ColumnsOf<TallyRow>>(&[Bind::Int(leg)]).get_result(conn).optional()
}
