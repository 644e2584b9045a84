//! The ledger's migrations, embedded, and run by one process at a time.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use diesel::{
    QueryableByName, RunQueryDsl as _, SqliteConnection, migration::Migration, sql_types,
    sqlite::Sqlite,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};

use super::{
    connect::{connect, during, use_wal},
    place,
};
use crate::error::StoreError;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// Which migrations a ledger has had.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MigrationStatus {
    /// Those that ran, oldest first; unknown ones by version alone.
    pub applied: Vec<String>,
    /// Those that have not.
    pub pending: Vec<String>,
}

/// Makes the ledger if it is not there, runs what it has not had, and answers what that was.
pub fn migrate_file(ledger: &Path) -> Result<Vec<String>, StoreError> {
    locked(ledger, migrate)
}

/// Reverts the last migration and runs it again; answers its name.
pub fn redo_file(ledger: &Path) -> Result<Vec<String>, StoreError> {
    locked(ledger, |conn, path| {
        refuse_strangers(conn, path)?;
        conn.revert_last_migration(MIGRATIONS)
            .map_err(migration("reverting the last migration of"))?;
        migrate(conn, path)
    })
}

/// Reverts every migration, the last one first; answers what that was. Everything in the ledger is lost.
pub fn revert_all_file(ledger: &Path) -> Result<Vec<String>, StoreError> {
    locked(ledger, |conn, path| {
        refuse_strangers(conn, path)?;
        let mut names = status(conn, path)?.applied;
        names.reverse();
        conn.revert_all_migrations(MIGRATIONS).map_err(migration("reverting the migrations of"))?;
        Ok(names)
    })
}

/// What ran on a ledger and what did not. A ledger that is not there is not made.
pub fn status_file(ledger: &Path) -> Result<MigrationStatus, StoreError> {
    if !ledger.exists() {
        let known = known()?;
        return Ok(MigrationStatus {
            applied: Vec::new(),
            pending: known.iter().map(|known| known.name().to_string()).collect(),
        });
    }
    let path = place::prepare(ledger)?;
    let mut conn = connect(&path)?;
    status(&mut conn, &path).map_err(|error| error.of_ledger(&path))
}

/// Runs what is pending. Call under the migration lock.
pub(super) fn migrate(conn: &mut SqliteConnection, path: &Path) -> Result<Vec<String>, StoreError> {
    refuse_strangers(conn, path)?;
    use_wal(conn, path)?;
    let pending =
        conn.pending_migrations(MIGRATIONS).map_err(migration("reading the migrations of"))?;
    let mut names = Vec::new();
    for next in &pending {
        conn.run_migration(next).map_err(migration("migrating"))?;
        names.push(next.name().to_string());
    }
    Ok(names)
}

fn locked<T>(
    ledger: &Path,
    work: impl FnOnce(&mut SqliteConnection, &Path) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let path: PathBuf = place::prepare(ledger)?;
    let _lock = place::migration_lock(&path)?;
    place::touch(&path)?;
    let mut conn = connect(&path)?;
    work(&mut conn, &path).map_err(|error| error.of_ledger(&path))
}

fn status(conn: &mut SqliteConnection, path: &Path) -> Result<MigrationStatus, StoreError> {
    let applied = applied(conn, path)?;
    let (mut ran, mut pending) = (Vec::new(), Vec::new());
    let mut unknown = applied.clone();
    for known in known()? {
        let version = known.name().version().to_string();
        unknown.retain(|other| *other != version);
        if applied.contains(&version) {
            ran.push(known.name().to_string());
        } else {
            pending.push(known.name().to_string());
        }
    }
    ran.extend(unknown);
    Ok(MigrationStatus { applied: ran, pending })
}

/// A database that is none of ours, or that a newer program migrated, is left as it is.
fn refuse_strangers(conn: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let applied = applied(conn, path)?;
    let known = known()?;
    let newer = applied
        .iter()
        .find(|version| !known.iter().any(|known| known.name().version().to_string() == **version));
    match newer {
        None => Ok(()),
        Some(version) => Err(StoreError::LedgerRefused {
            path: path.to_owned(),
            reason: format!(
                "a newer version of this program has migrated it (migration {version} is unknown \
                 here); start that version, or give this one a ledger of its own"
            ),
        }),
    }
}

/// The versions that ran, oldest first. Asks without making a table in a database that is not ours.
fn applied(conn: &mut SqliteConnection, path: &Path) -> Result<Vec<String>, StoreError> {
    let reading = "reading its tables";
    let tables = diesel::sql_query(
        "SELECT name AS text FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .load::<TextRow>(conn)
    .map_err(during(reading))?;
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    if !tables.iter().any(|table| table.text == BOOKKEEPING) {
        return Err(StoreError::LedgerRefused {
            path: path.to_owned(),
            reason: "it is a database of something else; give the ledger another path".to_owned(),
        });
    }
    let versions =
        diesel::sql_query(format!("SELECT version AS text FROM {BOOKKEEPING} ORDER BY version"))
            .load::<TextRow>(conn)
            .map_err(during(reading))?;
    Ok(versions.into_iter().map(|row| row.text).collect())
}

/// Where Diesel keeps what ran.
pub(super) const BOOKKEEPING: &str = "__diesel_schema_migrations";

type BoxedMigration = Box<dyn Migration<Sqlite>>;

fn known() -> Result<Vec<BoxedMigration>, StoreError> {
    let mut known = diesel::migration::MigrationSource::<Sqlite>::migrations(&MIGRATIONS)
        .map_err(migration("reading the migrations of"))?;
    known.sort_by_key(|known| known.name().version().to_string());
    Ok(known)
}

fn migration(operation: &'static str) -> impl FnOnce(Box<dyn Error + Send + Sync>) -> StoreError {
    move |source| StoreError::LedgerMigrate { operation, source }
}

/// One text of a catalogue.
#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = sql_types::Text)]
    text: String,
}
