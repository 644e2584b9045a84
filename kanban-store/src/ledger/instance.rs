//! Processes that share a ledger: each holds a lock on a file of its own for life (law D9).

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process,
};

use diesel::{ExpressionMethods as _, QueryResult, RunQueryDsl as _, SqliteConnection};

use super::{
    files,
    identity::random_name,
    place::{beside, file_error},
    schema::instances,
};
use crate::error::StoreError;

/// This process as a user of a ledger. Its lock is free again when it is dropped or the process ends.
#[derive(Debug)]
pub struct Instance {
    id: String,
    folder: PathBuf,
    lock: File,
}

impl Instance {
    /// Makes and locks a file below `<ledger>.instances`.
    pub fn register(ledger: &Path) -> Result<Self, StoreError> {
        let folder = beside(ledger, ".instances");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(file_error("making the folder", &folder))?;
        let id = random_name().map_err(file_error("finding randomness for", &folder))?;
        // Locked under a name that nobody looks for, then renamed: whoever finds it finds it locked.
        let draft = folder.join(format!("{id}.new"));
        let lock = files::make(&draft).map_err(file_error("making", &draft))?;
        lock.lock().map_err(file_error("locking", &draft))?;
        fs::rename(&draft, lock_path(&folder, &id)).map_err(file_error("renaming", &draft))?;
        Ok(Self { id, folder, lock })
    }

    /// The instance's id: a random name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether any other instance left its file and is dead. Cheap: a look into one small folder.
    pub fn sees_dead(&self) -> Result<bool, StoreError> {
        Ok(!self.dead()?.is_empty())
    }

    /// The other instances whose files are there and whose locks are free; the locks are held by the
    /// answer, so that one process alone takes over what they left.
    pub fn dead(&self) -> Result<Vec<DeadInstance>, StoreError> {
        let read = |error| file_error("reading", &self.folder)(error);
        let mut dead = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(read)? {
            let entry = entry.map_err(|error| file_error("reading", &self.folder)(error))?;
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".lock")) else {
                continue;
            };
            if id != self.id
                && let Some(lock) = free(&entry.path())?
            {
                dead.push(DeadInstance { id: id.to_owned(), path: entry.path(), lock });
            }
        }
        Ok(dead)
    }

    /// Removes the file, under its lock: from now on its claims are anybody's.
    pub fn farewell(&self) {
        // What stays behind after an error counts as a dead instance.
        drop(fs::remove_file(lock_path(&self.folder, &self.id)));
    }

    /// Whether the file of an instance is there; one that ended in order has removed it.
    pub fn has_file(&self, id: &str) -> bool {
        lock_path(&self.folder, id).exists()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.farewell();
        drop(self.lock.unlock());
    }
}

/// An instance that ended without its farewell; whoever holds this may take over its claims.
#[derive(Debug)]
pub struct DeadInstance {
    id: String,
    path: PathBuf,
    lock: File,
}

impl DeadInstance {
    /// The instance's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Removes its file, once what it left is taken over.
    pub fn bury(self) -> Result<(), StoreError> {
        let removed = fs::remove_file(&self.path).map_err(file_error("removing", &self.path));
        drop(self.lock);
        removed
    }
}

/// Lists an instance in the ledger.
pub fn record(conn: &mut SqliteConnection, id: &str, now: i64) -> QueryResult<()> {
    diesel::insert_into(instances::table)
        .values((
            instances::id.eq(id),
            instances::pid.eq(i64::from(process::id())),
            instances::started_at.eq(now),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .map(drop)
}

/// Takes an instance off the ledger's list.
pub fn forget(conn: &mut SqliteConnection, id: &str) -> QueryResult<()> {
    diesel::delete(instances::table).filter(instances::id.eq(id)).execute(conn).map(drop)
}

/// Whether an instance is alive: its file is there and its lock is held (law D9). Its process id says
/// nothing: that may be a zombie's, another process's by now, or one of another namespace.
///
/// Shared and for a moment, so that others who look see nothing of it.
pub fn is_alive(ledger: &Path, id: &str) -> Result<bool, StoreError> {
    let path = lock_path(&beside(ledger, ".instances"), id);
    let file = match files::open_to_look(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(file_error("opening", &path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(fs::TryLockError::WouldBlock) => Ok(true),
        Err(fs::TryLockError::Error(error)) => Err(file_error("locking", &path)(error)),
    }
}

fn lock_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.lock"))
}

/// The file with its lock, if nobody else has the lock and the file is still there.
fn free(path: &Path) -> Result<Option<File>, StoreError> {
    let file = match files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error("opening", path)(error)),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(file_error("locking", path)(error)),
    }
}
