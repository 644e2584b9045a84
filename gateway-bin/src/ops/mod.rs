//! Use cases, one file each: plain arguments in, plain data out; no command line, no HTTP types.

pub mod boards;
pub mod dead;
pub mod demo;
pub mod events;
pub mod ledger;
pub mod listen;
pub mod serve;
pub mod status;
pub mod subs;
pub mod tasks;
pub mod watch;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use kanban_store::{
    StoreError,
    board::{
        Board,
        discovery::{self, BoardPath},
    },
    ledger::operator::Operator,
};

use crate::config::{Config, Env};

/// How long a command waits for a board's write lock.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// What every use case is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// The checked configuration.
    pub config: Config,
    /// The environment as it was at the start.
    pub env: Env,
}

impl Context {
    /// The board that `slug` names, or the current one.
    pub(crate) fn board(&self, slug: Option<&str>) -> anyhow::Result<(BoardPath, Board)> {
        let found = discovery::resolve(&|name| self.variable(name), slug).map_err(|error| {
            let next = match error {
                StoreError::UnknownBoard { .. } => "; see `kanban-gateway board list`",
                _ => "",
            };
            anyhow::anyhow!("{error}{next}")
        })?;
        let board = Board::open(&found.path)
            .with_context(|| format!("board `{}` cannot be opened", found.slug))?;
        Ok((found, board))
    }

    /// Every board that is there and not archived.
    pub(crate) fn boards(&self) -> anyhow::Result<Vec<(String, std::path::PathBuf)>> {
        let found = crate::wiring::find_boards(&self.config, &self.env)?;
        Ok(found.into_iter().map(|board| (board.slug, board.path)).collect())
    }

    /// The ledger, if there is one yet: looking must not make one.
    pub(crate) fn ledger(&self) -> anyhow::Result<Option<Operator>> {
        if !self.config.ledger.exists() {
            return Ok(None);
        }
        Operator::open(&self.config.ledger).map(Some).context("the ledger cannot be opened")
    }

    /// A variable as boards are found by it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        match name {
            "HERMES_HOME" => Some(self.config.hermes_home.to_string_lossy().into_owned()),
            name => self.env.get(name).map(str::to_owned),
        }
    }
}

/// Seconds since the Unix epoch, as boards keep time.
pub(crate) fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
