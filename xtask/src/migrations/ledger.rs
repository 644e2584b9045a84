//! Runs the store's own migrations on a ledger file, and checks that they can be undone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use kanban_store::ledger;

/// Runs what the ledger has not had, and says what that was.
pub fn run(path: &Path) -> Result<()> {
    report("ran", &ledger::migrate_file(path).context("running migrations")?);
    Ok(())
}

/// Reverts the last migration and runs it again.
pub fn redo(path: &Path) -> Result<()> {
    ensure!(path.is_file(), "{} is not there: nothing to redo", path.display());
    report("redid", &ledger::redo_file(path).context("redoing the last migration")?);
    Ok(())
}

/// Up, down and up again on a file in `scratch`, then the generated schema against `schema`.
pub fn check(scratch: &Path, folders: &[String], schema: &Path, write: bool) -> Result<()> {
    // A folder, because a ledger has its locks and its write-ahead log beside it.
    let folder = scratch.join(format!("migrations-check-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join("ledger.db");
    let outcome = up_down_up(&path, folders).and_then(|()| generated(&path, schema, write));
    fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    outcome
}

fn up_down_up(path: &Path, folders: &[String]) -> Result<()> {
    let ran = ledger::migrate_file(path).context("up")?;
    ensure!(!ran.is_empty(), "no migration ran: is the embedded set empty?");
    ensure!(
        ran.len() == folders.len(),
        "{} migrations are embedded and {} are in the folder: is the build stale?",
        ran.len(),
        folders.len()
    );
    let first = ledger::schema_dump(path).context("the schema after up")?;
    ensure!(!first.trim().is_empty(), "the migrations made nothing");

    ledger::revert_all_file(path).context("down")?;
    let left = ledger::schema_dump(path).context("the schema after down")?;
    ensure!(left.trim().is_empty(), "the down scripts leave this behind:\n{left}");

    ledger::migrate_file(path).context("up again")?;
    let second = ledger::schema_dump(path).context("the schema after the second up")?;
    ensure!(first == second, "up, down, up differs; first:\n{first}\nthen:\n{second}");
    report("checked", &ran);
    Ok(())
}

fn generated(path: &Path, schema: &Path, write: bool) -> Result<()> {
    let wanted = ledger::diesel_schema(path).context("generating the schema")?;
    if write {
        return fs::write(schema, wanted).with_context(|| schema.display().to_string());
    }
    let committed = fs::read_to_string(schema).with_context(|| schema.display().to_string())?;
    if committed == wanted {
        return Ok(());
    }
    for (number, (old, new)) in (1_u32..).zip(committed.lines().zip(wanted.lines())) {
        if old != new {
            eprintln!("{}:{number}:\n- {old}\n+ {new}", schema.display());
            break;
        }
    }
    bail!("schema.rs is not what the migrations make: `cargo xtask migrations check --write`");
}

fn report(what: &str, names: &[String]) {
    if names.is_empty() {
        eprintln!("migrations: nothing to do");
    }
    for name in names {
        eprintln!("migrations: {what} {name}");
    }
}
