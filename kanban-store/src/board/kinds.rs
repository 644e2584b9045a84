//! Which kinds of events a board has: for finding those that nobody here knows.

use diesel::{Queryable, RunQueryDsl};

use super::{
    Board,
    statement::{Any, Bind, Cell, query},
};
use crate::error::StoreError;

/// One kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// Its name.
    pub kind: String,
    /// How many events there are.
    pub events: i64,
    /// The newest of them.
    pub newest: i64,
}

const KINDS: &str = "SELECT kind, count(*), max(id) FROM \
     (SELECT id, kind FROM task_events ORDER BY id DESC LIMIT ?) GROUP BY kind ORDER BY kind";

impl Board {
    /// The kinds of the newest `most` events, by name. What is no text is left out.
    pub fn kinds(&mut self, most: usize) -> Result<Vec<KindCount>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows: Vec<RawCount> = self.list(|board| {
            query::<(Any, Any, Any)>(KINDS, &[Bind::Int(most)]).load(&mut board.reader)
        })?;
        let counts = rows.into_iter().filter_map(|row| {
            let (events, newest) = (row.events.as_int()?, row.newest.as_int()?);
            Some(KindCount { kind: row.kind.into_text()?, events, newest })
        });
        Ok(counts.collect())
    }
}

#[derive(Queryable)]
struct RawCount {
    kind: Cell,
    events: Cell,
    newest: Cell,
}
