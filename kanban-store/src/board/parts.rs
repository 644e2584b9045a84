//! What belongs to a pass's events: the other unsettled events of their tasks, a bounded number at a time.
//!
//! Whoever judges a row for the first time has to see at once which events it leaves behind, and no row
//! may see an event beyond a gap. A task with more events than a pass has room for is shown from its
//! beginning, and whatever is above the last one shown is left out of that pass; the reader says in the next
//! one from where it wants to go on.

use std::collections::{BTreeMap, BTreeSet};

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    lenient::{EventColumns, RawEvent, RawSubscription},
    model::{PartRow, PassQuery},
    pass::{cut, json_list},
    sql::Texts,
    statement::{Any, Bind, Cell, query},
};

/// So many other events come along.
const ROOM: i64 = 1_024;
/// At least so many of each task that is gone on with.
const LEAST_SHARE: i64 = 16;

/// The events found, and with each of their tasks, and of the new rows' tasks, all that a row of it has
/// not settled; and the tasks of which only a part is shown.
///
/// Above `next` everything of these tasks comes along, so that no row sees an event beyond a gap.
pub(super) fn completed(
    connection: &mut SqliteConnection,
    texts: &Texts,
    wanted: &PassQuery,
    mut found: Vec<RawEvent>,
    fresh: &[RawSubscription],
    next: i64,
) -> QueryResult<(Vec<RawEvent>, Vec<PartRow>)> {
    // A new row has to be judged from all of its task's events, also of those that others have seen.
    let anew: BTreeSet<&str> = fresh.iter().filter_map(RawSubscription::task).collect();
    // Neither the tail nor the sweep has found anything of these.
    let known = wanted.resume.iter().filter(|(task, _)| !anew.contains(task.as_str()));
    let resume: BTreeMap<&str, i64> =
        known.filter_map(|(task, above)| above.map(|above| (task.as_str(), above))).collect();
    let whole: BTreeSet<String> = found
        .iter()
        .filter_map(RawEvent::task)
        .chain(anew.iter().copied())
        .map(str::to_owned)
        .collect();
    let mut parts = Vec::new();
    let mut shown: Vec<RawEvent> = Vec::new();

    if let Some(list) = json_list(whole.iter().map(String::as_str)) {
        let binds = [Bind::Int(next), Bind::Text(&list), Bind::Int(ROOM + 1)];
        let (mut events, up_to) = some(connection, &texts.unsettled, &binds, ROOM)?;
        if let Some(up_to) = up_to {
            found.retain(|event| event.id() <= up_to || event.task().is_none());
            parts.extend(whole.iter().map(|task| part(task, None, Some(up_to))));
        }
        shown.append(&mut events);
    }
    // A share for each, so that none waits for the end of another one's story.
    let tasks = i64::try_from(resume.len().max(1)).unwrap_or(ROOM);
    let share = ROOM.checked_div(tasks).unwrap_or(0).max(LEAST_SHARE);
    let mut left = ROOM;
    for (task, above) in resume {
        let room = left.min(share);
        if room < LEAST_SHARE {
            // The others in their turn.
            break;
        }
        let from: serde_json::Map<String, serde_json::Value> =
            [(task.to_owned(), above.into())].into_iter().collect();
        let from = serde_json::Value::Object(from).to_string();
        let binds = [Bind::Text(&from), Bind::Int(room.saturating_add(1))];
        let (mut events, up_to) = some(connection, &texts.resumed, &binds, room)?;
        left = left.saturating_sub(i64::try_from(events.len()).unwrap_or(ROOM));
        parts.push(part(task, Some(above), up_to));
        shown.append(&mut events);
    }
    found.append(&mut shown);
    found.sort_by_key(RawEvent::id);
    found.dedup_by_key(|event| event.id());
    judge(connection, texts, &mut parts)?;
    Ok((found, parts))
}

/// At most `room` events, and the id of the last one when there are others.
fn some(
    connection: &mut SqliteConnection,
    text: &str,
    binds: &[Bind<'_>],
    room: i64,
) -> QueryResult<(Vec<RawEvent>, Option<i64>)> {
    let mut events: Vec<RawEvent> = query::<EventColumns>(text, binds).load(connection)?;
    let more = cut(&mut events, room);
    let up_to = events.last().filter(|_| more).map(RawEvent::id);
    Ok((events, up_to))
}

fn part(task: &str, above: Option<i64>, up_to: Option<i64>) -> PartRow {
    PartRow { task: task.to_owned(), above, up_to, history: Vec::new() }
}

#[derive(Queryable)]
struct Older {
    task: Cell,
    rowid: Cell,
    event: Cell,
}

/// What the shown events do not tell of rows that are judged for the first time (law F3).
fn judge(
    connection: &mut SqliteConnection,
    texts: &Texts,
    parts: &mut [PartRow],
) -> QueryResult<()> {
    let Some(list) = json_list(parts.iter().map(|part| part.task.as_str())) else {
        return Ok(());
    };
    let rows: Vec<Older> =
        query::<(Any, Any, Any)>(texts.history, &[Bind::Text(&list)]).load(connection)?;
    for Older { task, rowid, event } in rows {
        let (Some(task), Some(rowid), Some(event)) =
            (task.as_text(), rowid.as_int(), event.as_int())
        else {
            continue;
        };
        if let Some(part) = parts.iter_mut().find(|part| part.task == task) {
            part.history.push((rowid, event));
        }
    }
    Ok(())
}
