//! Whether a ledger's path still leads to the files that are open (law D10).

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use super::place::beside;

/// The ledger and its write-ahead log, each by device and inode; `None` for one that is not there.
///
/// Neither changes while anybody has the ledger open: what is written after a change is lost with the
/// last process that has it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presence {
    ledger: Option<(u64, u64)>,
    log: Option<(u64, u64)>,
}

impl Presence {
    /// What the path leads to now.
    pub(crate) fn of(ledger: &Path) -> Self {
        Self { ledger: number(ledger), log: number(&beside(ledger, "-wal")) }
    }
}

fn number(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
