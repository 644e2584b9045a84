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
