//! New rows of the subscriptions table by rowid, although SQLite reuses rowids.
//!
//! The table has no counter of its own: a new row gets the highest rowid in the table plus one, so
//! after the newest rows were deleted their rowids are given out again. But while some row stays,
//! every later row gets a rowid above it. So a position remembers prints of the newest row and of
//! rows 1, 2, 4, 8, … rowids below it (*anchors*). Everything new lies above the highest anchor
//! that is still there; what lies above it and was seen before is returned once more.

use diesel::{QueryResult, Queryable, RunQueryDsl, sqlite::SqliteConnection};

use super::{
    lenient::{RawSubscription, SubscriptionColumns},
    print::print,
    sql::ROW_BELOW,
    statement::{Any, Bind, Cell, query},
};

/// Where the tail over rows is: the newest rowid returned, and its anchors as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowMark {
    pub rowid: i64,
    pub print: Option<String>,
}

/// Rows that were not there at the position, or may not have been.
#[derive(Debug)]
pub(crate) struct NewRows {
    pub rows: Vec<RawSubscription>,
    pub next: RowMark,
    /// Whether `limit` cut them.
    pub more: bool,
}

/// Reads what is new after `after`. Belongs inside a transaction.
pub(crate) fn new_rows(
    connection: &mut SqliteConnection,
    rows_after: &str,
    after: &RowMark,
    limit: i64,
) -> QueryResult<NewRows> {
    let anchors = after.print.as_deref().and_then(parse).unwrap_or_default();
    let mut alive = Vec::with_capacity(anchors.len());
    let mut start = i64::MIN;
    for (index, anchor) in anchors.iter().enumerate() {
        alive.push(row_below(connection, anchor.rowid)?.as_ref() == Some(anchor));
        // Two neighbours, because a row may be deleted and made again within its second, rowid and
        // all, after another one took the place of the row before it.
        let upper = index.checked_sub(1).and_then(|above| anchors.get(above));
        let both = upper.is_some() && alive.iter().rev().take(2).all(|alive| *alive);
        if let (true, Some(upper)) = (both, upper) {
            start = upper.rowid;
            break;
        }
    }
    // A single anchor is the only row there was.
    if let ([only], [true]) = (anchors.as_slice(), alive.as_slice()) {
        start = only.rowid;
    }
    let mut rows: Vec<RawSubscription> = query::<SubscriptionColumns>(
        rows_after,
        &[Bind::Int(start), Bind::Int(limit.saturating_add(1))],
    )
    .load(connection)?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > wanted;
    rows.truncate(wanted);
    let unchanged = start == after.rowid && rows.is_empty();
    let next = if unchanged {
        after.clone()
    } else {
        let top = rows.last().map_or(i64::MAX, RawSubscription::rowid);
        anchored(connection, top)?
    };
    Ok(NewRows { rows, next, more })
}

/// A rough upper bound of the number of rows: the newest rowid.
pub(crate) fn newest_rowid(connection: &mut SqliteConnection) -> QueryResult<i64> {
    Ok(row_below(connection, i64::MAX)?.map_or(0, |row| row.rowid))
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Anchor {
    rowid: i64,
    print: String,
}

/// The position whose newest row is the one at `top` or next below.
fn anchored(connection: &mut SqliteConnection, top: i64) -> QueryResult<RowMark> {
    let mut anchors: Vec<Anchor> = Vec::new();
    let mut wanted = Some(top);
    let mut step: i64 = 1;
    while let Some(rowid) = wanted {
        let Some(found) = row_below(connection, rowid)? else {
            break;
        };
        let newest = anchors.first().map_or(found.rowid, |first| first.rowid);
        if anchors.last() != Some(&found) {
            anchors.push(found);
        }
        wanted = newest.checked_sub(step);
        step = match step.checked_mul(2) {
            Some(step) => step,
            None => break,
        };
    }
    let text: Vec<String> =
        anchors.iter().map(|anchor| format!("{}:{}", anchor.rowid, anchor.print)).collect();
    Ok(RowMark {
        rowid: anchors.first().map_or(0, |anchor| anchor.rowid),
        print: (!text.is_empty()).then(|| text.join(",")),
    })
}

fn parse(text: &str) -> Option<Vec<Anchor>> {
    text.split(',')
        .map(|part| {
            let (rowid, print) = part.split_once(':')?;
            Some(Anchor { rowid: rowid.parse().ok()?, print: print.to_owned() })
        })
        .collect()
}

#[derive(Queryable)]
struct Identity {
    rowid: Cell,
    task: Cell,
    platform: Cell,
    chat: Cell,
    thread: Cell,
    created_at: Cell,
}

fn row_below(connection: &mut SqliteConnection, rowid: i64) -> QueryResult<Option<Anchor>> {
    let rows: Vec<Identity> =
        query::<(Any, Any, Any, Any, Any, Any)>(&ROW_BELOW, &[Bind::Int(rowid)])
            .load(connection)?;
    Ok(rows.first().and_then(|row| {
        let whole = print([&row.task, &row.platform, &row.chat, &row.thread, &row.created_at]);
        Some(Anchor {
            rowid: row.rowid.as_int()?,
            // 64 bits are enough to notice another row; positions stay short.
            print: whole.get(..16)?.to_owned(),
        })
    }))
}
