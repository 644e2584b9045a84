//! The ledger: our own database, never inside a board, migrated by us (law D10).
//!
//! Functions take a connection and plain rows, and run inside the transaction of their caller;
//! [`Operator`] is for commands, the ports of `kanban-notify` are for the daemon. Texts are masked
//! before they come here. Queries are ones that PostgreSQL would answer in the same way.

pub mod attempts;
pub mod backlog;
pub mod begun;
pub mod boards;
pub mod claims;
mod conditions;
mod connect;
mod copies;
pub mod cursor;
mod dump;
pub mod ends;
mod files;
mod identity;
pub mod instance;
#[cfg(feature = "notify-ports")]
mod mark;
mod migrate;
pub mod operator;
pub mod outcomes;
mod place;
pub mod plan;
#[cfg(feature = "notify-ports")]
mod presence;
pub mod prune;
mod reads;
pub mod rests;
pub mod rows;
mod schema;
pub mod states;
mod writes;

use std::path::{Path, PathBuf};

use diesel::SqliteConnection;

pub use self::{
    connect::data_version,
    dump::{diesel_schema, schema_dump},
    identity::Identity,
    instance::Instance,
    migrate::{MigrationStatus, migrate_file, redo_file, revert_all_file, status_file},
    operator::Operator,
    place::{beside, check_place},
};
pub(crate) use connect::during;
#[cfg(feature = "notify-ports")]
pub(crate) use mark::Mark;
#[cfg(feature = "notify-ports")]
pub(crate) use presence::Presence;

use crate::error::StoreError;

/// An open ledger: one connection, and who we are.
pub struct Ledger {
    path: PathBuf,
    identity: Identity,
    migrated: Vec<String>,
    conn: SqliteConnection,
}

/// Opens a ledger: makes it and its folder if they are not there, and migrates it.
///
/// Refuses a network file system (law B7), a database of something else, and one that a newer
/// version has migrated. Of two processes that start at once, one waits for the other.
pub fn open(ledger: &Path) -> Result<Ledger, StoreError> {
    open_file(ledger).map_err(|error| error.of_ledger(ledger))
}

fn open_file(ledger: &Path) -> Result<Ledger, StoreError> {
    let path = place::prepare(ledger)?;
    let _lock = place::migration_lock(&path)?;
    place::touch(&path)?;
    let mut conn = connect::connect(&path)?;
    let migrated = migrate::migrate(&mut conn, &path)?;
    let identity = Identity::load(&path)?;
    Ok(Ledger { path, identity, migrated, conn })
}

impl Ledger {
    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The gateway's id and secret.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The migrations that opening it has run.
    pub fn migrated(&self) -> &[String] {
        &self.migrated
    }

    /// The connection, for the functions of this module.
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.conn
    }

    /// Opens the mark beside it; answers besides since when the ledger is an older copy of one that was in
    /// use, if it is.
    #[cfg(feature = "notify-ports")]
    pub(crate) fn mark(&mut self) -> Result<(Mark, Option<i64>), StoreError> {
        Mark::open(&self.path, &mut self.conn, now())
    }

    /// Another connection in place of one that failed. Nothing is migrated.
    #[cfg(feature = "notify-ports")]
    pub(crate) fn reconnect(&mut self) -> Result<(), StoreError> {
        // Opening would make an empty database in its place.
        std::fs::metadata(&self.path).map_err(place::file_error("finding", &self.path))?;
        self.conn = connect::connect(&self.path)?;
        Ok(())
    }
}

/// Reads a whole ledger for damage, on a connection of its own.
#[cfg(feature = "notify-ports")]
pub(crate) fn examine(path: &Path) -> Result<(), StoreError> {
    // Connecting would make an empty database in its place.
    std::fs::metadata(path).map_err(place::file_error("finding", path))?;
    let mut conn = connect::connect(path)?;
    match connect::examine(&mut conn).map_err(|error| error.of_ledger(path))? {
        None => Ok(()),
        Some(value) => Err(StoreError::LedgerDamaged {
            path: path.to_owned(),
            source: Box::new(StoreError::LedgerValue { what: "page", value }),
        }),
    }
}

/// The wall clock as the ledger stores it: UTC microseconds.
pub fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
