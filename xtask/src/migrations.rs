//! `cargo xtask migrations`: make, run, redo and check the ledger's migrations.

mod ledger;
mod scaffold;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::workspace::Workspace;

/// What to do with the migrations.
#[derive(Subcommand)]
pub enum Action {
    /// Make an empty migration with today's time stamp.
    New {
        /// What it does, in lower case with underscores: `add_lane_to_claims`.
        name: String,
    },
    /// Run what a ledger has not had yet.
    Run {
        /// The ledger's file; made if it is not there.
        ledger: PathBuf,
    },
    /// Revert the last migration of a ledger and run it again.
    Redo {
        /// The ledger's file.
        ledger: PathBuf,
    },
    /// Run all, revert all, run all on a ledger of its own; compare `schema.rs` with the result.
    Check {
        /// Write `schema.rs` anew instead of comparing it.
        #[arg(long)]
        write: bool,
    },
}

impl Action {
    /// What CI does.
    pub const CHECK: Self = Self::Check { write: false };
}

/// Where the ledger's migrations are, below the root.
const FOLDER: &str = "kanban-store/migrations/sqlite";

/// What Diesel's tables are generated into.
const SCHEMA: &str = "kanban-store/src/ledger/schema.rs";

/// Does it.
pub fn run(workspace: &Workspace, action: &Action) -> Result<()> {
    match action {
        Action::New { name } => {
            let folder = scaffold::make(&workspace.root.join(FOLDER), name)?;
            println!("{}", workspace.relative(&folder).display());
            Ok(())
        }
        Action::Run { ledger } => ledger::run(ledger),
        Action::Redo { ledger } => ledger::redo(ledger),
        Action::Check { write } => {
            let schema = workspace.root.join(SCHEMA);
            ledger::check(&workspace.target, &folders(workspace)?, &schema, *write)
        }
    }
}

/// The folders of the migrations, each once.
fn folders(workspace: &Workspace) -> Result<Vec<String>> {
    let mut folders: Vec<String> = workspace
        .files()?
        .iter()
        .filter_map(|path| path.strip_prefix(FOLDER)?.strip_prefix('/')?.split_once('/'))
        .map(|(folder, _)| folder.to_owned())
        .collect();
    folders.dedup();
    Ok(folders)
}
