//! Write transactions: begun by us in short steps, and redone as a whole (law B4).

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use diesel::{connection::SimpleConnection, sqlite::SqliteConnection};

use super::connection::{BUSY_BACKSTOP, Trouble, change_error, trouble};
use crate::error::StoreError;

/// Why the body of a transaction stopped.
#[derive(Debug)]
pub(crate) enum Failed {
    /// SQLite failed.
    Sql(diesel::result::Error),
    /// What was asked for is not possible.
    Refused(StoreError),
}

impl From<diesel::result::Error> for Failed {
    fn from(error: diesel::result::Error) -> Self {
        Self::Sql(error)
    }
}

/// Tries once, without waiting for the lock. `None`: somebody else has it, nothing was done.
pub(crate) fn attempt<T>(
    path: &Path,
    connection: &mut SqliteConnection,
    body: impl FnOnce(&mut SqliteConnection) -> Result<T, Failed>,
) -> Result<Option<T>, StoreError> {
    transaction(path, connection, Duration::ZERO, body)
}

/// Tries again and again for up to `patience`, the last time waiting inside SQLite.
pub(crate) fn patiently<T>(
    path: &Path,
    connection: &mut SqliteConnection,
    patience: Duration,
    mut body: impl FnMut(&mut SqliteConnection) -> Result<T, Failed>,
) -> Result<T, StoreError> {
    let start = Instant::now();
    let stepping = patience / 2;
    loop {
        let waited = start.elapsed();
        let last = waited >= stepping;
        let wait = if last { patience.saturating_sub(waited) } else { Duration::ZERO };
        if let Some(done) = transaction(path, connection, wait, &mut body)? {
            return Ok(done);
        }
        let waited = start.elapsed();
        if waited >= patience {
            return Err(StoreError::BoardBusy { waited });
        }
        thread::sleep(step(waited));
    }
}

/// How long to wait before the next try: random, so that two waiting writers do not keep in step,
/// and short, so that a gap of a busy writer is not missed; longer when the lock is held for long.
pub(crate) fn step(waited: Duration) -> Duration {
    let most = if waited < Duration::from_secs(1) { 900 } else { 5_000 };
    Duration::from_micros(fastrand::u64(100..=most))
}

fn transaction<T>(
    path: &Path,
    connection: &mut SqliteConnection,
    wait: Duration,
    body: impl FnOnce(&mut SqliteConnection) -> Result<T, Failed>,
) -> Result<Option<T>, StoreError> {
    let begin = format!(
        "PRAGMA busy_timeout = {}; BEGIN IMMEDIATE; PRAGMA busy_timeout = {};",
        wait.as_millis(),
        BUSY_BACKSTOP.as_millis()
    );
    if let Err(error) = connection.batch_execute(&begin) {
        return busy_or(path, error);
    }
    let failed = match body(connection) {
        Ok(done) => match connection.batch_execute("COMMIT") {
            Ok(()) => return Ok(Some(done)),
            Err(error) => Failed::Sql(error),
        },
        Err(failed) => failed,
    };
    // SQLite may have rolled back by itself; then this says so, and that is what is wanted.
    drop(connection.batch_execute("ROLLBACK"));
    match failed {
        Failed::Sql(error) => busy_or(path, error),
        Failed::Refused(refused) => Err(refused),
    }
}

fn busy_or<T>(path: &Path, error: diesel::result::Error) -> Result<Option<T>, StoreError> {
    match trouble(&error) {
        Trouble::Busy => Ok(None),
        _ => Err(change_error(path, error)),
    }
}
