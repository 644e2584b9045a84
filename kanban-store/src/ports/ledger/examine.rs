//! Looking a ledger through for damage: a small one before it is used, a large one while it is.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    thread,
};

use super::thread::{Failure, Message};
use crate::{error::StoreError, ledger};

/// A ledger of up to so many bytes is looked through first; that takes less than a tenth of a second, and
/// a large one is not to hold up each start.
const SMALL: u64 = 4 << 20;

/// What is still to be looked through.
#[derive(Debug)]
pub(super) enum Examination {
    Done,
    Ahead(PathBuf),
}

impl Examination {
    /// Looks a small ledger through.
    ///
    /// # Errors
    ///
    /// When it is damaged.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        if fs::metadata(path).is_ok_and(|file| file.len() > SMALL) {
            return Ok(Self::Ahead(path.to_owned()));
        }
        ledger::examine(path).map(|()| Self::Done)
    }

    /// Looks a large one through on a thread of its own, which tells the ledger's of damage.
    pub(super) fn go_on(self, jobs: &Sender<Message>) {
        let Self::Ahead(path) = self else {
            return;
        };
        let jobs = jobs.clone();
        let examine = move || match ledger::examine(&path) {
            Err(error @ StoreError::LedgerDamaged { .. }) => {
                // A thread that has ended uses it no more.
                drop(jobs.send(Message::Damaged(Failure::new(error))));
            }
            Err(error) => untold(&error),
            Ok(()) => {}
        };
        let started = thread::Builder::new().name("ledger check".to_owned()).spawn(examine);
        if let Err(error) = started {
            untold(&error);
        }
    }
}

/// What cannot be looked through is found damaged when it is read, if it is.
fn untold(error: &dyn std::fmt::Display) {
    tracing::debug!(error = %error, "the ledger is not looked through for damage");
}
