//! One pass over a board: what is new after a mark, from one snapshot (laws F2, B6).

use std::collections::BTreeSet;

use diesel::{QueryResult, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    lenient::{
        EventColumns, RawEvent, RawSubscription, RawTask, Spoilt, SubscriptionColumns, TaskColumns,
    },
    model::{AgedQuery, Mark, PassQuery, PassRows, SubscriptionRow},
    parts::completed,
    sql::{NEWEST, Texts},
    statement::{Bind, query, scalar},
    tail::{RowMark, new_rows, newest_rowid},
};

/// Reads a pass. The caller holds the read transaction.
pub(crate) fn pass(
    connection: &mut SqliteConnection,
    texts: &Texts,
    wanted: &PassQuery,
) -> QueryResult<PassRows> {
    let mut seen = PassRows { next: wanted.after.clone(), ..PassRows::default() };
    seen.newest = newest(connection)?;
    seen.replaced = replaced(connection, texts, &wanted.after, seen.newest)?;
    if seen.replaced.is_some() {
        return Ok(seen);
    }
    let limit = i64::try_from(wanted.limit.max(1)).unwrap_or(i64::MAX - 1);
    let found = events(connection, texts, wanted, limit, &mut seen)?;
    let mark = RowMark { rowid: wanted.after.rowid, print: wanted.after.row_print.clone() };
    let fresh = new_rows(connection, &texts.rows_after, &mark, limit)?;
    seen.next.rowid = fresh.next.rowid;
    seen.next.row_print = fresh.next.print;
    seen.more |= fresh.more;

    let mut spoilt = Spoilt::new();
    let (found, parts) = completed(connection, texts, wanted, found, &fresh.rows, seen.next.event)?;
    seen.parts = parts;
    seen.events = found.into_iter().filter_map(|raw| raw.read(&mut spoilt)).collect();
    let mut rows = Vec::new();
    let named = seen.events.iter().map(|event| event.task.as_str());
    if let Some(list) = json_list(named.chain(seen.parts.iter().map(|part| part.task.as_str()))) {
        let tasks: Vec<RawTask> =
            query::<TaskColumns>(&texts.tasks, &[Bind::Text(&list)]).load(connection)?;
        seen.tasks = tasks.into_iter().filter_map(RawTask::read).collect();
        rows = query::<SubscriptionColumns>(&texts.rows_of_tasks, &[Bind::Text(&list)])
            .load(connection)?;
    }
    seen.rows = merged(rows, fresh.rows, &mut spoilt);
    for key in &wanted.watch {
        let row = row(connection, texts, key, &mut spoilt)?;
        seen.watched.push((key.clone(), row));
    }
    if let Some(AgedQuery { before, above, limit }) = wanted.aged {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let binds = [above, before, before, limit].map(Bind::Int);
        let found: Vec<RawSubscription> =
            query::<SubscriptionColumns>(&texts.aged, &binds).load(connection)?;
        seen.aged = found.into_iter().filter_map(|raw| raw.read(&mut spoilt)).collect();
    }
    seen.spoilt = spoilt;
    Ok(seen)
}

/// The newest event id; 0 for none.
pub(crate) fn newest(connection: &mut SqliteConnection) -> QueryResult<i64> {
    Ok(scalar(connection, NEWEST, &[])?.as_int().unwrap_or_default())
}

/// The highest event id ever given out; 0 for none.
pub(crate) fn sequence(connection: &mut SqliteConnection, texts: &Texts) -> QueryResult<i64> {
    let counted = scalar(connection, texts.sequence, &[])?.as_int().unwrap_or_default();
    Ok(counted.max(newest(connection)?))
}

/// The event with this id as it is stored.
pub(crate) fn event(
    connection: &mut SqliteConnection,
    texts: &Texts,
    id: i64,
) -> QueryResult<Option<RawEvent>> {
    let found: Vec<RawEvent> =
        query::<EventColumns>(&texts.event, &[Bind::Int(id)]).load(connection)?;
    Ok(found.into_iter().next())
}

/// The row with this key, if it is there and readable.
pub(crate) fn row(
    connection: &mut SqliteConnection,
    texts: &Texts,
    key: &super::model::RowKey,
    spoilt: &mut Spoilt,
) -> QueryResult<Option<SubscriptionRow>> {
    let binds = [&key.task, &key.platform, &key.chat, &key.thread].map(|part| Bind::Text(part));
    let found: Vec<RawSubscription> =
        query::<SubscriptionColumns>(&texts.row, &binds).load(connection)?;
    Ok(found.into_iter().next().and_then(|raw| raw.read(spoilt)))
}

/// How the file differs from the one that `after` was read from (law B6).
fn replaced(
    connection: &mut SqliteConnection,
    texts: &Texts,
    after: &Mark,
    newest: i64,
) -> QueryResult<Option<String>> {
    // Ids only grow: with the mark's own event or a later one there, the counter need not be read.
    if newest < after.event {
        let highest = sequence(connection, texts)?;
        if highest < after.event {
            return Ok(Some(format!(
                "its highest event id is {highest}, and {} was seen before",
                after.event
            )));
        }
    }
    if let Some(expected) = &after.event_print
        && let Some(found) = event(connection, texts, after.event)?
        && found.print() != *expected
    {
        return Ok(Some(format!("its event {} is not the one that was seen before", after.event)));
    }
    Ok(None)
}

/// Sweep and tail. Fills `next.event`, `next.event_print`, `more`, `sweep_from`.
fn events(
    connection: &mut SqliteConnection,
    texts: &Texts,
    wanted: &PassQuery,
    limit: i64,
    seen: &mut PassRows,
) -> QueryResult<Vec<RawEvent>> {
    let newest = seen.newest;
    let first_sight = wanted.after.event == 0 && wanted.sweep_above.is_some();
    // On first sight nothing before now is read for its own sake: the sweep alone decides.
    let after = if first_sight { newest } else { wanted.after.event };
    let apart = wanted.resume.iter().map(|(task, _)| task.as_str());
    let apart = json_list(apart).unwrap_or_else(|| "[]".to_owned());
    let mut found: Vec<RawEvent> = Vec::new();
    if let Some(above) = wanted.sweep_above {
        found = sweep(connection, texts, (above, after), &apart, limit)?;
        if cut(&mut found, limit) {
            seen.sweep_from = found.last().map(RawEvent::id);
            seen.more = true;
        }
    }
    let room = limit.saturating_sub(i64::try_from(found.len()).unwrap_or(limit));
    let mut next = after;
    if newest > after {
        let mut tail: Vec<RawEvent> = query::<EventColumns>(
            &texts.tail,
            &[Bind::Int(after), Bind::Text(&apart), Bind::Int(room.saturating_add(1))],
        )
        .load(connection)?;
        if cut(&mut tail, room) {
            seen.more = true;
            next = tail.last().map_or(after, RawEvent::id);
        } else {
            next = newest;
        }
        found.append(&mut tail);
    }
    if next != wanted.after.event {
        seen.next.event = next;
        seen.next.event_print = match found.last() {
            Some(last) if last.id() == next && last.cut().is_none() => Some(last.print()),
            _ => event(connection, texts, next)?.map(|event| event.print()),
        };
    }
    Ok(found)
}

/// These names once each, as JSON; `None` for no name.
pub(super) fn json_list<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: BTreeSet<&str> = names.collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<serde_json::Value>().to_string())
}

/// How many events are worth one row, when a sweep is known to find many.
const DENSE: i64 = 64;

fn sweep(
    connection: &mut SqliteConnection,
    texts: &Texts,
    (above, up_to): (i64, i64),
    apart: &str,
    limit: i64,
) -> QueryResult<Vec<RawEvent>> {
    let apart = Bind::Text(apart);
    let more = Bind::Int(limit.saturating_add(1));
    let (low, high) = (Bind::Int(above), Bind::Int(up_to));
    // Both numbers are rough and cost two look-ups; they only choose the side to start from. Rows
    // are gone through as a whole each time; events only until enough are found, which is soon
    // in the later parts of a sweep that was cut.
    let worth = if above > 0 { DENSE } else { 1 };
    if up_to.saturating_sub(above) < newest_rowid(connection)?.saturating_mul(worth) {
        query::<EventColumns>(&texts.sweep_by_events, &[low, high, apart, more]).load(connection)
    } else {
        query::<EventColumns>(&texts.sweep_by_rows, &[high, low, high, apart, more])
            .load(connection)
    }
}

/// Cuts to `limit`; says whether there was more.
pub(super) fn cut(found: &mut Vec<RawEvent>, limit: i64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > limit;
    found.truncate(limit);
    more
}

/// Each row once, ascending by rowid; a spoilt row is reported once.
fn merged(
    of_tasks: Vec<RawSubscription>,
    fresh: Vec<RawSubscription>,
    spoilt: &mut Spoilt,
) -> Vec<SubscriptionRow> {
    let mut all: Vec<RawSubscription> = of_tasks;
    all.extend(fresh);
    all.sort_by_key(RawSubscription::rowid);
    all.dedup_by_key(|row| row.rowid());
    all.into_iter().filter_map(|row| row.read(spoilt)).collect()
}
