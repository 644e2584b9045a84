//! What the set and its threads share: who serves which path, id and file.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::JoinHandle,
};

use futures_channel::mpsc as stream;
use kanban_notify::{ids::BoardId, ports::Change, verdict::Detail};

use super::{BoardStatus, Pace, worker::Job};
use crate::{board::FileId, ports::Registrar};

pub(super) struct Shared {
    pub(super) registrar: Arc<dyn Registrar>,
    pub(super) pace: Pace,
    changes: stream::UnboundedSender<Change>,
    table: Mutex<Table>,
}

/// Ends the threads when the last handle is gone. The threads hold [`Shared`], never this.
pub(super) struct Life(pub(super) Arc<Shared>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[derive(Default)]
struct Table {
    entries: HashMap<PathBuf, Entry>,
    /// Which path's thread answers for a board.
    ids: HashMap<BoardId, PathBuf>,
    /// Which path has which file open: links are the same board (law B6).
    files: HashMap<FileId, PathBuf>,
}

pub(super) struct Entry {
    pub(super) status: BoardStatus,
    jobs: mpsc::Sender<Job>,
    thread: Option<JoinHandle<()>>,
}

impl Entry {
    /// Asks the thread to end and waits for it.
    pub(super) fn stop(self) {
        // A thread that has ended already hears nothing.
        drop(self.jobs.send(Job::Stop));
        if let Some(thread) = self.thread {
            // A panic in it was reported by the panic hook.
            drop(thread.join());
        }
    }
}

impl Shared {
    pub(super) fn new(
        registrar: Arc<dyn Registrar>,
        pace: Pace,
        changes: stream::UnboundedSender<Change>,
    ) -> Self {
        Self { registrar, pace, changes, table: Mutex::default() }
    }

    pub(super) fn send(&self, change: Change) {
        // Nobody listens any more: the process is ending.
        drop(self.changes.unbounded_send(change));
    }

    pub(super) fn insert(&self, path: &Path, slug: &str, jobs: mpsc::Sender<Job>) -> bool {
        let mut table = self.lock();
        if table.entries.contains_key(path) {
            return false;
        }
        let status = BoardStatus {
            path: path.into(),
            slug: slug.into(),
            id: None,
            degraded: None,
            slow: None,
        };
        let entry = Entry { status, jobs, thread: None };
        table.entries.insert(path.into(), entry);
        true
    }

    pub(super) fn started(&self, path: &Path, thread: JoinHandle<()>) {
        if let Some(entry) = self.lock().entries.get_mut(path) {
            entry.thread = Some(thread);
        }
    }

    pub(super) fn remove(&self, path: &Path) -> Option<Entry> {
        let mut table = self.lock();
        table.ids.retain(|_, served| served != path);
        table.files.retain(|_, served| served != path);
        table.entries.remove(path)
    }

    pub(super) fn give(&self, board: BoardId, job: Job) -> bool {
        let table = self.lock();
        let path = table.ids.get(&board);
        let entry = path.and_then(|path| table.entries.get(path));
        entry.is_some_and(|entry| entry.jobs.send(job).is_ok())
    }

    pub(super) fn nudge(&self, path: &Path) {
        let table = self.lock();
        let nudge = |entry: &Entry| drop(entry.jobs.send(Job::Nudge));
        if let Some(entry) = table.entries.get(&database_of(path)) {
            return nudge(entry);
        }
        table
            .entries
            .iter()
            .filter(|(board, _)| board.parent() == Some(path))
            .for_each(|(_, entry)| nudge(entry));
    }

    pub(super) fn status(&self) -> Vec<BoardStatus> {
        let table = self.lock();
        let mut all: Vec<BoardStatus> =
            table.entries.values().map(|entry| entry.status.clone()).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    pub(super) fn set_status(&self, path: &Path, set: impl FnOnce(&mut BoardStatus)) {
        if let Some(entry) = self.lock().entries.get_mut(path) {
            set(&mut entry.status);
        }
    }

    /// Takes `file` for `path`; `Err` with the path that has it already.
    pub(super) fn claim_file(&self, path: &Path, file: FileId) -> Result<(), PathBuf> {
        let mut table = self.lock();
        match table.files.get(&file) {
            Some(other) if other != path => return Err(other.clone()),
            _ => {}
        }
        table.files.retain(|_, served| served != path);
        table.files.insert(file, path.into());
        Ok(())
    }

    pub(super) fn release_file(&self, path: &Path) {
        self.lock().files.retain(|_, served| served != path);
    }

    /// Routes jobs for `id` to `path`; `Err` with the path that answers for it already.
    ///
    /// A path without an open board has no claim: its file may have been moved to `path`.
    pub(super) fn claim_id(&self, path: &Path, id: BoardId) -> Result<(), PathBuf> {
        let mut table = self.lock();
        if let Some(other) = table.ids.get(&id).filter(|other| *other != path)
            && table.files.values().any(|open| open == other)
        {
            return Err(other.clone());
        }
        table.ids.retain(|_, served| served != path);
        table.ids.insert(id, path.into());
        Ok(())
    }

    /// Notes why the board at `path` is not served, and says so if it is known by an id.
    pub(super) fn degrade(&self, path: &Path, reason: Detail) {
        let id = {
            let mut table = self.lock();
            if let Some(entry) = table.entries.get_mut(path) {
                entry.status.degraded = Some(reason.clone());
            }
            table.ids.iter().find(|(_, served)| *served == path).map(|(id, _)| *id)
        };
        if let Some(id) = id {
            self.send(Change::Degraded(id, reason));
        }
    }

    /// Asks all threads to end.
    pub(super) fn stop(&self) {
        for entry in self.lock().entries.values() {
            drop(entry.jobs.send(Job::Stop));
        }
    }

    /// Ends all threads and waits for them.
    pub(super) fn close(&self) {
        self.stop();
        let table = std::mem::take(&mut *self.lock());
        for (_, entry) in table.entries {
            entry.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Every change of the table is a single step, so a panic elsewhere leaves it whole.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The board that a file beside it belongs to.
fn database_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str());
    let base = name.and_then(|name| {
        ["-wal", "-shm", "-journal"].iter().find_map(|suffix| name.strip_suffix(suffix))
    });
    base.map_or_else(|| path.into(), |base| path.with_file_name(base))
}
