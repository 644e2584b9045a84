//! The newest claim by number, in a file beside the ledger: it tells an older copy that was put in the
//! ledger's place from the ledger that was last in use (law D10).

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
pub(crate) struct Mark(File);

impl Mark {
    /// Opens the mark of a ledger; answers besides whether the ledger is older than the mark.
    pub(crate) fn open(
        ledger: &Path,
        conn: &mut SqliteConnection,
    ) -> Result<(Self, bool), StoreError> {
        let path = beside(ledger, ".mark");
        let fault = |error| file_error("opening", &path)(error);
        let text = match files::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fault(error)),
        };
        let mark = Self(files::open_or_make(&path).map_err(fault)?);
        // One that cannot be read says nothing.
        let marked: i64 = text.trim().parse().unwrap_or(0);
        // After the mark: another process may be at work, and it marks what it has recorded.
        let (known, open) = state(conn).map_err(during("reading the number of claims"))?;
        if known != marked {
            mark.set(known).map_err(file_error("writing", &path))?;
        }
        Ok((mark, known < marked && open))
    }

    /// Notes the newest claim.
    pub(crate) fn set(&self, claim: i64) -> io::Result<()> {
        self.0.write_all_at(format!("{claim:>20}\n").as_bytes(), 0)
    }
}

/// The highest number that a claim was ever given, also if it is pruned, and whether anything is open.
fn state(conn: &mut SqliteConnection) -> QueryResult<(i64, bool)> {
    let rows = diesel::sql_query("SELECT seq FROM sqlite_sequence WHERE name = 'claims'")
        .load::<Sequence>(conn)?;
    let open = diesel::select(dsl::exists(legs::table.filter(conditions::OpenLegs)));
    Ok((rows.first().map_or(0, |row| row.seq), open.get_result(conn)?))
}

#[derive(QueryableByName)]
struct Sequence {
    #[diesel(sql_type = sql_types::BigInt)]
    seq: i64,
}
