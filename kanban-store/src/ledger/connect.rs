//! Connections to a ledger, each set up in the same way.

use std::path::Path;

use diesel::{
    Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection,
    connection::SimpleConnection as _, sql_types,
};

use crate::error::StoreError;

/// How long a statement waits for another process; the ledger's transactions are short.
const BUSY_MILLIS: u32 = 10_000;

/// The size that the write-ahead log is cut to after a checkpoint.
const WAL_BYTES: u32 = 64 << 20;

/// Opens the database and sets the connection up. Makes no table.
pub(super) fn connect(path: &Path) -> Result<SqliteConnection, StoreError> {
    let Some(url) = path.to_str() else {
        return Err(StoreError::LedgerRefused {
            path: path.to_owned(),
            reason: "its path is not UTF-8".to_owned(),
        });
    };
    let mut conn = SqliteConnection::establish(url)
        .map_err(|source| StoreError::LedgerConnect { path: path.to_owned(), source })?;
    // The time-out comes first: the statements after it take locks themselves.
    conn.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_MILLIS};"))
        .and_then(|()| {
            conn.batch_execute(&format!(
                "PRAGMA synchronous = FULL;
                 PRAGMA foreign_keys = ON;
                 PRAGMA journal_size_limit = {WAL_BYTES};
                 PRAGMA temp_store = MEMORY;"
            ))
        })
        .map_err(during("setting up a connection"))
        .map_err(|error| error.of_ledger(path))?;
    Ok(conn)
}

/// Switches the file to write-ahead logging, for good.
pub(super) fn use_wal(conn: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let mode = diesel::sql_query("PRAGMA journal_mode = WAL")
        .get_result::<JournalMode>(conn)
        .map_err(during("switching to write-ahead logging"))?
        .journal_mode;
    if mode.eq_ignore_ascii_case("wal") {
        return Ok(());
    }
    Err(StoreError::LedgerRefused {
        path: path.to_owned(),
        reason: format!("its file system allows no write-ahead log (the journal stays `{mode}`)"),
    })
}

/// A number that changes when, and only when, another connection commits.
pub fn data_version(conn: &mut SqliteConnection) -> diesel::QueryResult<i64> {
    diesel::sql_query("PRAGMA data_version")
        .get_result::<DataVersion>(conn)
        .map(|row| row.data_version)
}

/// Reads every page of the database; answers with SQLite's words about damage.
#[cfg(feature = "notify-ports")]
pub(super) fn examine(conn: &mut SqliteConnection) -> Result<Option<String>, StoreError> {
    let found = diesel::sql_query("PRAGMA quick_check(1)")
        .get_result::<QuickCheck>(conn)
        .map_err(during("looking for damage"))?
        .quick_check;
    Ok((found != "ok").then(|| found.replace('\n', " ")))
}

/// Says what was tried in the ledger, for `map_err`.
pub(crate) fn during(operation: &'static str) -> impl FnOnce(diesel::result::Error) -> StoreError {
    move |source| StoreError::Ledger { operation, source }
}

#[derive(QueryableByName)]
struct JournalMode {
    #[diesel(sql_type = sql_types::Text)]
    journal_mode: String,
}

#[cfg(feature = "notify-ports")]
#[derive(QueryableByName)]
struct QuickCheck {
    #[diesel(sql_type = sql_types::Text)]
    quick_check: String,
}

#[derive(QueryableByName)]
struct DataVersion {
    #[diesel(sql_type = sql_types::BigInt)]
    data_version: i64,
}
