//! The guard connection: opened first, asked once whether it may write, then left alone (law B3).

use std::path::Path;

use diesel::{connection::SimpleConnection, sqlite::SqliteConnection};

use super::{
    connection::{self, Access, BUSY_BACKSTOP, Trouble, change_error, read_error, trouble},
    statement::scalar,
};
use crate::error::StoreError;

/// Needs to write and changes nothing, not even the data version. To begin is not enough: on a read-only
/// file SQLite makes a transaction for reading of it.
const ASK_TO_WRITE: &str =
    "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; DELETE FROM kanban_notify_subs WHERE 0";

/// The guard connection, and whether the file lets us write.
pub(crate) fn guard(path: &Path) -> Result<(SqliteConnection, Access), StoreError> {
    let writable =
        connection::open(path, Access::ReadWrite, BUSY_BACKSTOP).and_then(|mut guard| {
            touch(path, &mut guard)?;
            let asked = guard.batch_execute(ASK_TO_WRITE);
            // Where nothing is begun this fails, and nothing has to be undone.
            drop(guard.batch_execute("ROLLBACK"));
            match asked {
                Err(error) if trouble(&error) == Trouble::ReadOnly => {
                    Err(change_error(path, error))
                }
                // Busy means that somebody writes, so it can be written.
                _ => Ok(guard),
            }
        });
    match writable {
        Ok(guard) => Ok((guard, Access::ReadWrite)),
        Err(missing @ StoreError::BoardMissing { .. }) => Err(missing),
        Err(refused @ StoreError::NotADatabase { .. }) => Err(refused),
        Err(first) => {
            let mut guard = connection::open(path, Access::ReadOnly, BUSY_BACKSTOP)?;
            // The first error says more than that reading fails as well.
            touch(path, &mut guard).map_err(|_| first)?;
            Ok((guard, Access::ReadOnly))
        }
    }
}

/// One read: from then on the connection holds its lock on a WAL-mode file.
fn touch(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    scalar(connection, "SELECT count(*) FROM sqlite_master", &[])
        .map(drop)
        .map_err(|source| read_error(path, source))
}
