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
        let (mut events, up_to) = some(connection, &texts.unsettled, &binds)?;
        if let Some(up_to) = up_to {
            found.retain(|event| event.id() <= up_to || event.task().is_none());
            parts.extend(whole.iter().map(|task| part(task, None, Some(up_to))));
        }
        shown.append(&mut events);
    }
    if !resume.is_empty() {
        let object: serde_json::Map<String, serde_json::Value> =
            resume.iter().map(|(task, above)| ((*task).to_owned(), (*above).into())).collect();
        let object = serde_json::Value::Object(object).to_string();
        let binds = [Bind::Text(&object), Bind::Int(ROOM + 1)];
        let (mut events, up_to) = some(connection, &texts.resumed, &binds)?;
        parts.extend(resume.iter().map(|(task, above)| part(task, Some(*above), up_to)));
        shown.append(&mut events);
    }
    found.append(&mut shown);
    found.sort_by_key(RawEvent::id);
    found.dedup_by_key(|event| event.id());
    judge(connection, texts, &mut parts)?;
    Ok((found, parts))
}

/// At most [`ROOM`] events, and the id of the last one when there are others.
fn some(
    connection: &mut SqliteConnection,
    text: &str,
    binds: &[Bind<'_>],
) -> QueryResult<(Vec<RawEvent>, Option<i64>)> {
    let mut events: Vec<RawEvent> = query::<EventColumns>(text, binds).load(connection)?;
    let more = cut(&mut events, ROOM);
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
