//! Boards behind the port `Boards`: one thread for each owns its connections and watches it.

mod convert;
mod open;
mod served;
mod shared;
mod worker;
mod writes;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use futures_channel::{mpsc as stream, oneshot};
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::BoardId,
    ports::{Boards, Change, Changes},
    record::{Pass, PassRequest, RowChange, RowOutcome},
    verdict::Detail,
};

use super::Registrar;
use shared::{Life, Shared};
use worker::{Job, Worker};

/// How often boards are asked, and how patiently (laws B4, B7, F1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two looks at a board's data version. Boards that are slow by nature (rollback
    /// journal, network file system) are looked at once a second at most, whatever stands here.
    pub poll: Duration,
    /// How long a change waits for the write lock before it fails.
    pub lock_patience: Duration,
    /// After a failed opening, the first wait; it doubles with each failure.
    pub retry_first: Duration,
    /// The longest wait between two openings.
    pub retry_most: Duration,
}

impl Pace {
    /// Where something else nudges on each change: the look is a backstop, once a second.
    pub const WATCHED: Self = Self {
        poll: Duration::from_secs(1),
        lock_patience: Duration::from_secs(30),
        retry_first: Duration::from_secs(1),
        retry_most: Duration::from_secs(60),
    };

    /// Where nothing nudges: every 20 ms.
    pub const UNWATCHED: Self = Self { poll: Duration::from_millis(20), ..Self::WATCHED };
}

/// How a board is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardStatus {
    /// Its path, as canonical as it was when it was added.
    pub path: PathBuf,
    /// Its slug.
    pub slug: String,
    /// The ledger's id, once it was opened.
    pub id: Option<BoardId>,
    /// Why it is not served now; `None` when it is, or when it has not been tried yet: then there is no id.
    pub degraded: Option<Detail>,
    /// Why it is looked at only once a second, if so (law B7).
    pub slow: Option<String>,
}

/// All boards of this process. Clones are the same set; the last one to go ends the threads.
#[derive(Clone)]
pub struct BoardSet {
    shared: Arc<Shared>,
    _life: Arc<Life>,
}

/// What happened, on all boards: the port `Changes`.
pub struct BoardChanges(stream::UnboundedReceiver<Change>);

impl BoardSet {
    /// An empty set; `registrar` is asked for the identity of each board that is opened.
    pub fn new(registrar: Arc<dyn Registrar>, pace: Pace) -> (Self, BoardChanges) {
        let (changes, receiver) = stream::unbounded();
        let shared = Arc::new(Shared::new(registrar, pace, changes));
        let life = Arc::new(Life(Arc::clone(&shared)));
        let set = Self { shared, _life: life };
        (set, BoardChanges(receiver))
    }

    /// Starts to serve the board at `path`; it need not be there yet. `false`: it is served already.
    ///
    /// When it is open, [`Change::Opened`] says so; until then [`BoardSet::status`] has the reason.
    pub fn add(&self, path: &Path, slug: &str) -> std::io::Result<bool> {
        let path = canonical(path);
        let (jobs, queue) = mpsc::channel();
        if !self.shared.insert(&path, slug, jobs) {
            return Ok(false);
        }
        let worker = Worker::new(Arc::clone(&self.shared), path.clone(), slug, queue);
        let started =
            thread::Builder::new().name(format!("board {slug}")).spawn(move || worker.run());
        match started {
            Ok(thread) => {
                self.shared.started(&path, thread);
                Ok(true)
            }
            Err(error) => {
                self.shared.remove(&path);
                Err(error)
            }
        }
    }

    /// Stops serving the board at `path` and waits until its connections are closed. Blocks for
    /// as long as the job in hand takes. `false`: it was not served.
    pub fn remove(&self, path: &Path) -> bool {
        let Some(entry) = self.shared.remove(&canonical(path)) else {
            return false;
        };
        if let Some(id) = entry.status.id {
            let reason = Detail::new("it is not served any more");
            self.shared.send(Change::Degraded(id, reason));
        }
        entry.stop();
        true
    }

    /// Says that something moved at `path`: a board, a file that SQLite keeps beside it, or its
    /// folder. Cheap, never blocks; a path that means nothing to us is passed over.
    pub fn nudge_path(&self, path: &Path) {
        self.shared.nudge(path);
    }

    /// Puts news of another source into the stream of [`BoardChanges`].
    pub fn announce(&self, change: Change) {
        self.shared.send(change);
    }

    /// How each board is, by path.
    pub fn status(&self) -> Vec<BoardStatus> {
        self.shared.status()
    }

    /// Ends all threads and waits until their connections are closed. Blocks like `remove`.
    pub fn close(&self) {
        self.shared.close();
    }

    async fn ask<T>(
        &self,
        board: BoardId,
        operation: &'static str,
        job: impl FnOnce(oneshot::Sender<Result<T, PortError>>) -> Job,
    ) -> Result<T, PortError> {
        let (reply, answer) = oneshot::channel();
        if !self.shared.give(board, job(reply)) {
            return Err(closed(operation));
        }
        answer.await.unwrap_or_else(|_| Err(closed(operation)))
    }
}

#[async_trait]
impl Boards for BoardSet {
    async fn read(&self, board: BoardId, request: PassRequest) -> Result<Pass, PortError> {
        self.ask(board, "reading the board", |reply| Job::Read(request, reply)).await
    }

    async fn change(
        &self,
        board: BoardId,
        changes: Vec<RowChange>,
    ) -> Result<Vec<RowOutcome>, PortError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(board, "changing the board", |reply| Job::Change(changes, reply)).await
    }
}

#[async_trait]
impl Changes for BoardChanges {
    async fn next(&mut self) -> Option<Change> {
        self.0.recv().await.ok()
    }
}

fn closed(operation: &'static str) -> PortError {
    PortError {
        operation,
        kind: PortErrorKind::Closed,
        source: "the board is not served any more".into(),
    }
}

/// The path without links, also when the file, or its folder, is not there yet.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
        && let Ok(folder) = folder.canonicalize()
    {
        return folder.join(name);
    }
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}
