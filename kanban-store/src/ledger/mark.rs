//! The newest claim by number, in a file beside the ledger: it tells an older copy that was put in the
//! ledger's place from the ledger that was last in use (law D10). Behind it, since when such a copy is in use.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use diesel::{dsl, prelude::*, sql_types};

use super::{
    conditions,
    connect::during,
    files,
    place::{beside, file_error},
    schema::legs,
};
use crate::error::StoreError;

/// The open file. Written without a sync: what a crash of the machine loses only makes it tell less.
#[derive(Debug)]
pub(crate) struct Mark {
    file: File,
    /// Since when an older copy is in use; 0 for never.
    since: i64,
}

impl Mark {
    /// Opens the mark of a ledger; answers besides since when the ledger is in use in the place of a newer
    /// one, as long as something is open that was planned before.
    pub(crate) fn open(
        ledger: &Path,
        conn: &mut SqliteConnection,
        now: i64,
    ) -> Result<(Self, Option<i64>), StoreError> {
        let path = beside(ledger, ".mark");
        let fault = |error| file_error("opening", &path)(error);
        let text = match files::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fault(error)),
        };
        let file = files::open_or_make(&path).map_err(fault)?;
        // One that cannot be read says nothing.
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
        let (marked, before) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        // After the mark: another process may be at work, and it marks what it has recorded.
        let known = newest(conn).map_err(during("reading the number of claims"))?;
        let since = if known < marked { now } else { before };
        let open = since > 0 && has_open(conn, since).map_err(during("reading what is open"))?;
        let mark = Self { file, since: if open { since } else { 0 } };
        if (known, mark.since) != (marked, before) {
            mark.set(known).map_err(file_error("writing", &path))?;
        }
        let older = open.then_some(mark.since);
        Ok((mark, older))
    }

    /// Notes the newest claim.
    pub(crate) fn set(&self, claim: i64) -> io::Result<()> {
        self.file.write_all_at(format!("{claim:>20} {:>20}\n", self.since).as_bytes(), 0)
    }
}

/// The highest number that a claim was ever given, also if it is pruned.
fn newest(conn: &mut SqliteConnection) -> QueryResult<i64> {
    let rows = diesel::sql_query("SELECT seq FROM sqlite_sequence WHERE name = 'claims'")
        .load::<Sequence>(conn)?;
    Ok(rows.first().map_or(0, |row| row.seq))
}

/// Whether something is open that was planned before then.
fn has_open(conn: &mut SqliteConnection, before: i64) -> QueryResult<bool> {
    let open = legs::table.filter(conditions::OpenLegs).filter(legs::planned_at.lt(before));
    diesel::select(dsl::exists(open)).get_result(conn)
}

#[derive(QueryableByName)]
struct Sequence {
    #[diesel(sql_type = sql_types::BigInt)]
    seq: i64,
}
