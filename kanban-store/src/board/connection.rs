//! Opening one connection to a board, and telling SQLite's failures apart (laws B3, B4).

use std::{path::Path, time::Duration};

use diesel::{Connection, ConnectionError, connection::SimpleConnection, sqlite::SqliteConnection};

use super::close_guard;
use crate::error::StoreError;
pub(crate) use crate::trouble::Trouble;

/// How long SQLite itself waits for a lock, where we do not step by ourselves.
pub(crate) const BUSY_BACKSTOP: Duration = Duration::from_secs(5);

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `mode=rw`: reads and writes an existing file.
    ReadWrite,
    /// `mode=ro`: for files or folders that do not let us write.
    ReadOnly,
}

/// Opens an existing board; never creates a file. `busy_timeout` is the first statement.
pub(crate) fn open(
    path: &Path,
    access: Access,
    busy_timeout: Duration,
) -> Result<SqliteConnection, StoreError> {
    let (opened, guarded) =
        close_guard::opening(|| SqliteConnection::establish(&uri(path, access)));
    let mut connection = opened.map_err(|source| open_error(path, source))?;
    if !guarded {
        return Err(StoreError::GuardBoard { path: path.into() });
    }
    // Foreign keys are checked as in Hermes' own connections; it has no effect on reads.
    connection
        .batch_execute(&format!(
            "PRAGMA busy_timeout = {}; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL; \
             PRAGMA foreign_keys = ON;",
            busy_timeout.as_millis()
        ))
        .map_err(|source| match trouble(&source) {
            Trouble::Unreadable => read_error(path, source),
            _ => StoreError::PrepareBoard { path: path.into(), source },
        })?;
    Ok(connection)
}

/// The path as a URI that SQLite decodes to exactly these bytes.
pub(crate) fn uri(path: &Path, access: Access) -> String {
    let mode = match access {
        Access::ReadWrite => "rw",
        Access::ReadOnly => "ro",
    };
    uri_with(path, mode)
}

/// The path as a URI with a mode of SQLite's. One that creates is for new boards alone (law B1).
pub(crate) fn uri_with(path: &Path, mode: &str) -> String {
    use std::fmt::Write as _;

    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri.push_str("?mode=");
    uri.push_str(mode);
    uri
}

/// Which kind of failure this is.
pub(crate) fn trouble(error: &diesel::result::Error) -> Trouble {
    match error {
        diesel::result::Error::DatabaseError(_, information) => Trouble::of(information.message()),
        _ => Trouble::Other,
    }
}

/// A failed read, by what it means for the board.
pub(crate) fn read_error(path: &Path, source: diesel::result::Error) -> StoreError {
    match trouble(&source) {
        Trouble::Unreadable => StoreError::NotADatabase { path: path.into(), source },
        _ => StoreError::ReadBoard { source },
    }
}

/// A failed change, by what it means for the board.
pub(crate) fn change_error(path: &Path, source: diesel::result::Error) -> StoreError {
    match trouble(&source) {
        Trouble::Unreadable => StoreError::NotADatabase { path: path.into(), source },
        Trouble::ReadOnly => StoreError::BoardReadOnly { path: path.into() },
        _ => StoreError::ChangeBoard { source },
    }
}

fn open_error(path: &Path, source: ConnectionError) -> StoreError {
    if path.exists() {
        StoreError::OpenBoard { path: path.into(), source }
    } else {
        StoreError::BoardMissing { path: path.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped_byte_by_byte() {
        assert_eq!(
            uri(Path::new("/a b/ü?#%.db"), Access::ReadWrite),
            "file:/a%20b/%C3%BC%3F%23%25.db?mode=rw"
        );
    }
}
