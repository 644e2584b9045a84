//! Making, migrating and refusing ledgers.

use std::{os::unix::fs::PermissionsExt as _, path::Path, sync::Barrier, thread};

use diesel::{Connection as _, SqliteConnection, connection::SimpleConnection as _};
use kanban_store::{StoreError, ledger};

use crate::support::{number, place};

#[test]
fn up_down_up_makes_the_same_schema() {
    let (_folder, path) = place();
    let ran = ledger::migrate_file(&path).unwrap();
    assert!(!ran.is_empty());
    let first = ledger::schema_dump(&path).unwrap();
    let mut reverted = ledger::revert_all_file(&path).unwrap();
    reverted.reverse();
    assert_eq!(reverted, ran);
    assert_eq!(ledger::schema_dump(&path).unwrap(), "");
    assert_eq!(ledger::migrate_file(&path).unwrap(), ran);
    assert_eq!(ledger::schema_dump(&path).unwrap(), first);
    assert_eq!(ledger::migrate_file(&path).unwrap(), Vec::<String>::new());
    assert_eq!(ledger::redo_file(&path).unwrap().as_slice(), &ran[ran.len() - 1..]);
    assert_eq!(ledger::schema_dump(&path).unwrap(), first);
}

#[test]
fn the_committed_schema_is_what_the_migrations_make() {
    let (_folder, path) = place();
    ledger::migrate_file(&path).unwrap();
    assert_eq!(ledger::diesel_schema(&path).unwrap(), include_str!("../../src/ledger/schema.rs"));
}

#[test]
fn status_makes_no_ledger() {
    let (_folder, path) = place();
    let before = ledger::status_file(&path).unwrap();
    assert!(!path.exists());
    assert!(before.applied.is_empty());
    let ran = ledger::migrate_file(&path).unwrap();
    assert_eq!(before.pending, ran);
    let after = ledger::status_file(&path).unwrap();
    assert_eq!(after.applied, ran);
    assert!(after.pending.is_empty());
}

/// Field report 152: two daemons start on a ledger that is not there, fifty times.
#[test]
fn of_two_that_start_at_once_one_migrates_and_both_go_on() {
    for _ in 0..50 {
        let (_folder, path) = place();
        let start = Barrier::new(2);
        let open = || {
            start.wait();
            let mut ledger = ledger::open(&path).unwrap();
            let tables = number(ledger.connection(), "SELECT COUNT(*) FROM legs");
            (ledger.migrated().len(), ledger.identity().clone(), tables)
        };
        let (one, two) = thread::scope(|scope| {
            let one = scope.spawn(open);
            let two = scope.spawn(open);
            (one.join().unwrap(), two.join().unwrap())
        });
        let known = ledger::status_file(&path).unwrap().applied.len();
        assert_eq!(one.0 + two.0, known);
        assert_eq!(one.1, two.1, "D10: one id and one secret");
        assert_eq!((one.2, two.2), (0, 0));
    }
}

#[test]
fn a_ledger_is_for_its_user_alone() {
    let (folder, _) = place();
    let path = folder.path().join("a/b/ledger.db");
    drop(ledger::open(&path).unwrap());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&ledger::beside(&path, ".id")), 0o600);
}

#[test]
fn a_link_leads_to_the_same_ledger() {
    let (folder, path) = place();
    let first = ledger::open(&path).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let second = ledger::open(&link).unwrap();
    assert_eq!(first.path(), second.path());
    assert_eq!(first.identity(), second.identity());
}

#[test]
fn what_a_newer_version_has_migrated_is_left_alone() {
    let (_folder, path) = place();
    ledger::migrate_file(&path).unwrap();
    execute(&path, "INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')");
    let dump = ledger::schema_dump(&path).unwrap();
    for refused in [
        ledger::open(&path).map(drop),
        ledger::migrate_file(&path).map(drop),
        ledger::redo_file(&path).map(drop),
        ledger::revert_all_file(&path).map(drop),
    ] {
        let Err(error @ StoreError::LedgerRefused { .. }) = refused else {
            panic!("not refused");
        };
        assert!(error.to_string().contains("newer version"), "{error}");
    }
    assert_eq!(ledger::schema_dump(&path).unwrap(), dump);
    let applied = ledger::status_file(&path).unwrap().applied;
    assert_eq!(applied.last().unwrap(), "99990101000000");
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let (_folder, path) = place();
    execute(&path, "CREATE TABLE tasks (id TEXT)");
    for refused in [
        ledger::open(&path).map(drop),
        ledger::migrate_file(&path).map(drop),
        ledger::status_file(&path).map(drop),
        ledger::revert_all_file(&path).map(drop),
    ] {
        let Err(error @ StoreError::LedgerRefused { .. }) = refused else {
            panic!("not refused");
        };
        assert!(error.to_string().contains("something else"), "{error}");
    }
    assert_eq!(ledger::schema_dump(&path).unwrap(), "CREATE TABLE tasks (id TEXT);\n");
    assert!(!ledger::beside(&path, "-wal").exists(), "no journal mode of ours");
}

/// Field report 155: the tables of a ledger without the list of what ran on it.
#[test]
fn a_ledger_whose_migrations_nobody_knows_is_left_alone() {
    let (_folder, path) = place();
    ledger::migrate_file(&path).unwrap();
    execute(&path, "DROP TABLE __diesel_schema_migrations");
    let dump = ledger::schema_dump(&path).unwrap();
    for refused in [ledger::open(&path).map(drop), ledger::migrate_file(&path).map(drop)] {
        let Err(error @ StoreError::LedgerRefused { .. }) = refused else {
            panic!("not refused");
        };
        assert!(error.to_string().contains("give the ledger another path"), "{error}");
    }
    assert_eq!(ledger::schema_dump(&path).unwrap(), dump);
}

fn execute(path: &Path, sql: &str) {
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.batch_execute(sql).unwrap();
}
