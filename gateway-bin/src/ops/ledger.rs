//! The ledger by hand: its migrations.

use kanban_store::ledger;

use super::Context;

/// Applied and pending migrations.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LedgerStatus {
    /// The file.
    pub path: String,
    /// Migrations that ran.
    pub applied: Vec<String>,
    /// Migrations that will run at the next start.
    pub pending: Vec<String>,
}

/// Makes or migrates the ledger; answers with the migrations that ran.
pub fn migrate(ctx: &Context) -> anyhow::Result<Vec<String>> {
    Ok(ledger::migrate_file(&ctx.config.ledger)?)
}

/// What of the ledger's schema is there.
pub fn status(ctx: &Context) -> anyhow::Result<LedgerStatus> {
    let status = ledger::status_file(&ctx.config.ledger)?;
    Ok(LedgerStatus {
        path: ctx.config.ledger.display().to_string(),
        applied: status.applied,
        pending: status.pending,
    })
}

/// Why no ledger can be where it is to be, and what to do; `None` where one can. Makes nothing that stays.
pub(super) fn misplaced(ctx: &Context) -> Option<(String, &'static str)> {
    let path = &ctx.config.ledger;
    if let Err(error) = ledger::check_place(path) {
        return Some((error.to_string(), "set `ledger` to another place"));
    }
    // The nearest place that is there: the rest is made. What is tried there has no name, and is gone again.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let folder = whole.ancestors().skip(1).find(|folder| folder.exists())?;
    let error = tempfile::tempfile_in(folder).err()?;
    let said = format!("its folder cannot be written: {error}");
    Some((said, "make the folder writable for this user, or set `ledger`"))
}
