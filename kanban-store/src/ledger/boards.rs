//! Which board a file is: ids, incarnations, positions (law B6).

use diesel::prelude::*;

use super::{
    conditions,
    rows::BoardRow,
    schema::{boards, legs, subscriptions},
    states,
};

/// What a file told of itself when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The oldest event and its print.
    pub oldest: Option<(i64, String)>,
    /// The highest event id ever given out.
    pub sequence: i64,
}

/// How far a board was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionRow {
    /// The newest event that was read.
    pub event: i64,
    /// Its print.
    pub event_hash: Option<String>,
    /// The highest rowid of the subscriptions that was read.
    pub rowid: i64,
    /// That row's print.
    pub row_print: Option<String>,
}

/// What is to be done with a file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Nobody saw it before.
    New,
    /// It is this board, which may have moved here.
    Same {
        /// The board.
        id: i64,
        /// The incarnation that was compared with.
        incarnation: i64,
    },
    /// It took the place of this board's file.
    Replaced {
        /// The board.
        id: i64,
        /// The incarnation that was compared with.
        incarnation: i64,
    },
}

impl BoardRow {
    /// How far it was read.
    pub fn position(&self) -> PositionRow {
        PositionRow {
            event: self.position_event,
            event_hash: self.position_hash.clone(),
            rowid: self.position_rowid,
            row_print: self.position_row_print.clone(),
        }
    }

    /// Whether a file with these marks can be this board's; its position is compared besides.
    pub fn admits(&self, marks: &Marks) -> bool {
        if marks.sequence < self.sequence.max(self.position_event) {
            return false;
        }
        match (self.oldest_event, &self.oldest_hash, &marks.oldest) {
            (Some(before), Some(hash), Some((now, print))) => {
                *now > before || (*now == before && print == hash)
            }
            // Events that were not there before, or are not any more, are above all that was seen.
            _ => true,
        }
    }

    /// Whether a file with these marks is this board's beyond doubt: the same oldest event.
    pub fn is_marked_by(&self, marks: &Marks) -> bool {
        let ours = self.oldest_event.zip(self.oldest_hash.clone());
        ours.is_some() && ours == marks.oldest && self.admits(marks)
    }
}

/// Every board.
pub fn all(conn: &mut SqliteConnection) -> QueryResult<Vec<BoardRow>> {
    boards::table.order(boards::id).select(BoardRow::as_select()).load(conn)
}

/// One board.
pub fn get(conn: &mut SqliteConnection, id: i64) -> QueryResult<Option<BoardRow>> {
    boards::table.find(id).select(BoardRow::as_select()).get_result(conn).optional()
}

/// Records what a file was found to be. `None` when another process was faster: look again.
pub fn record(
    conn: &mut SqliteConnection,
    path: &str,
    slug: &str,
    marks: &Marks,
    sighting: &Sighting,
    now: i64,
) -> QueryResult<Option<BoardRow>> {
    let id = match sighting {
        Sighting::New => insert(conn, path, slug, now)?,
        Sighting::Same { id, incarnation } => update(conn, *id, *incarnation, path, slug, now)?,
        Sighting::Replaced { id, incarnation } => {
            let id = update(conn, *id, *incarnation, path, slug, now)?;
            if let Some(id) = id {
                renew(conn, id, now)?;
            }
            id
        }
    };
    let Some(id) = id else {
        return Ok(None);
    };
    diesel::update(boards::table.find(id))
        .set((
            boards::oldest_event.eq(marks.oldest.as_ref().map(|(event, _)| *event)),
            boards::oldest_hash.eq(marks.oldest.as_ref().map(|(_, hash)| hash.as_str())),
            boards::sequence.eq(marks.sequence),
        ))
        .execute(conn)?;
    get(conn, id)
}

/// Stores how far a board was read, unless another process is further.
pub fn advance(
    conn: &mut SqliteConnection,
    board: &BoardRow,
    position: &PositionRow,
    now: i64,
) -> QueryResult<()> {
    if board.position() == *position {
        return Ok(());
    }
    diesel::update(boards::table.find(board.id))
        .filter(boards::position_event.le(position.event))
        .set((
            boards::position_event.eq(position.event),
            boards::position_hash.eq(position.event_hash.as_deref()),
            boards::position_rowid.eq(position.rowid),
            boards::position_row_print.eq(position.row_print.as_deref()),
            boards::updated_at.eq(now),
        ))
        .execute(conn)
        .map(drop)
}

fn insert(
    conn: &mut SqliteConnection,
    path: &str,
    slug: &str,
    now: i64,
) -> QueryResult<Option<i64>> {
    diesel::insert_into(boards::table)
        .values((
            boards::path.eq(path),
            boards::slug.eq(slug),
            boards::incarnation.eq(1),
            boards::sequence.eq(0),
            boards::position_event.eq(0),
            boards::position_rowid.eq(0),
            boards::updated_at.eq(now),
        ))
        .on_conflict_do_nothing()
        .returning(boards::id)
        .get_result(conn)
        .optional()
}

/// Moves the board to `path`, if it still is what was compared with.
fn update(
    conn: &mut SqliteConnection,
    id: i64,
    incarnation: i64,
    path: &str,
    slug: &str,
    now: i64,
) -> QueryResult<Option<i64>> {
    let other = boards::table
        .filter(boards::path.eq(path))
        .filter(boards::id.ne(id))
        .select(boards::id)
        .get_result::<i64>(conn)
        .optional()?;
    if other.is_some() {
        return Ok(None);
    }
    let changed = diesel::update(boards::table.find(id))
        .filter(boards::incarnation.eq(incarnation))
        .set((boards::path.eq(path), boards::slug.eq(slug), boards::updated_at.eq(now)))
        .execute(conn)?;
    Ok((changed == 1).then_some(id))
}

/// Nothing of the file that was replaced counts any more; what is in flight still gets its outcome.
fn renew(conn: &mut SqliteConnection, id: i64, now: i64) -> QueryResult<()> {
    let copies =
        subscriptions::table.filter(subscriptions::board_id.eq(id)).select(subscriptions::id);
    diesel::update(legs::table)
        .filter(legs::subscription_id.eq_any(copies))
        .filter(conditions::UnsentLegs)
        .set((
            legs::state.eq(states::CANCELLED),
            legs::reason.eq("the board was replaced"),
            legs::updated_at.eq(now),
        ))
        .execute(conn)?;
    diesel::update(subscriptions::table)
        .filter(subscriptions::board_id.eq(id))
        .filter(subscriptions::life.ne(states::GONE))
        .set((subscriptions::life.eq(states::GONE), subscriptions::updated_at.eq(now)))
        .execute(conn)?;
    diesel::update(boards::table.find(id))
        .set((
            boards::incarnation.eq(boards::incarnation + 1),
            boards::position_event.eq(0),
            boards::position_hash.eq(None::<String>),
            boards::position_rowid.eq(0),
            boards::position_row_print.eq(None::<String>),
            boards::updated_at.eq(now),
        ))
        .execute(conn)
        .map(drop)
}
