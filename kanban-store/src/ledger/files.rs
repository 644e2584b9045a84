//! The files beside the ledger, and its own file before SQLite has it: every open(2) is in here.
#![expect(
    clippy::disallowed_methods,
    reason = "these files are no databases, but for the one that `make_empty` has just made"
)]

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The whole text of a file.
pub(super) fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Opens a file that is there.
pub(super) fn open(path: &Path) -> io::Result<File> {
    private().open(path)
}

/// Opens a file that is there, for reading only.
pub(super) fn open_to_look(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file, made if it is not there, with its content.
pub(super) fn open_or_make(path: &Path) -> io::Result<File> {
    private().create(true).truncate(false).open(path)
}

/// Opens a file, made if it is not there, without its content.
pub(super) fn replace(path: &Path) -> io::Result<File> {
    private().create(true).truncate(true).open(path)
}

/// Makes a file that must not be there.
pub(super) fn make(path: &Path) -> io::Result<File> {
    private().create_new(true).open(path)
}

/// Makes a database's empty file, readable for its user alone, unless it is there.
///
/// Only ever closes a file that it has just made: closing any other handle on a database would drop
/// the locks that SQLite holds on it in this process.
pub(super) fn make_empty(path: &Path) -> io::Result<()> {
    match make(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Has the folder's entries on disk; where that fails, the files themselves still are.
pub(super) fn sync_folder(file: &Path) {
    if let Some(folder) = file.parent()
        && let Ok(folder) = File::open(folder)
    {
        drop(folder.sync_all());
    }
}

/// How to open a file that only its user may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}
