//! The one thread that owns the ledger's connection: whatever waits is recorded in one transaction.

use std::{
    fmt,
    path::Path,
    sync::{Arc, mpsc},
};

use diesel::{
    Connection as _, SqliteConnection,
    connection::{AnsiTransactionManager, TransactionManager},
};
use futures_channel::oneshot;
use kanban_notify::error::{PortError, PortErrorKind};

use crate::{
    error::StoreError,
    ledger::{
        Ledger, Mark, Presence, data_version, during,
        instance::{self, DeadInstance, Instance},
        now,
    },
};

/// Jobs recorded in one transaction at most, so that nobody waits for long.
const BATCH: usize = 64;

/// What the thread is asked for.
pub(super) enum Message {
    /// Do this.
    Work(Job),
    /// The file was looked through, and this was found.
    Damaged(Failure),
    /// End.
    Stop,
}

/// One piece of work with the way to answer it.
pub(super) struct Job {
    writes: bool,
    begins: bool,
    run: Box<Run>,
}

/// Does a job at the desk, or says why it cannot be done.
type Run = dyn FnOnce(Result<&mut Desk<'_>, Failure>) -> Answer + Send;

/// Answers a job, once its transaction has ended well (`None`) or not.
type Answer = Box<dyn FnOnce(Option<&Failure>)>;

/// What a job works with.
pub(super) struct Desk<'a> {
    pub(super) conn: &'a mut SqliteConnection,
    pub(super) instance: &'a Instance,
    pub(super) seen: &'a mut Seen,
    /// Instances whose claims this transaction takes over.
    pub(super) taken: &'a mut Vec<DeadInstance>,
    /// Since when the ledger is in use, if it is an older copy of one that was.
    pub(super) older: Option<i64>,
    /// The newest claim that this transaction records.
    pub(super) claim: &'a mut i64,
    ledger: &'a Path,
    /// What says that the ledger is of no use any more.
    lost: &'a mut Option<Failure>,
}

impl Desk<'_> {
    fn failed(&mut self, error: StoreError) -> Failure {
        let failure = Failure::new(error.of_ledger(self.ledger));
        if failure.is_damage() {
            self.lost.get_or_insert_with(|| failure.clone());
        }
        failure
    }
}

/// What tells whether somebody else has changed the ledger.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) version: i64,
    /// The connection is another one than before: its versions compare with nothing.
    pub(super) unsure: bool,
}

impl Job {
    /// A job whose outcome goes to `reply`, after the transaction that it is part of.
    pub(super) fn new<T: Send + 'static>(
        operation: &'static str,
        writes: bool,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
        reply: impl FnOnce(Result<T, PortError>) + Send + 'static,
    ) -> Self {
        let run = move |desk: Result<&mut Desk<'_>, Failure>| -> Answer {
            match desk {
                Err(failure) => {
                    reply(Err(failure.error(operation)));
                    Box::new(|_| ())
                }
                Ok(desk) => {
                    let outcome = savepoint(desk, work).map_err(|error| desk.failed(error));
                    Box::new(move |failed| {
                        reply(match (outcome, failed) {
                            (Err(failure), _) => Err(failure.error(operation)),
                            (Ok(_), Some(failure)) => Err(failure.error(operation)),
                            (Ok(value), None) => Ok(value),
                        });
                    })
                }
            }
        };
        Self { writes, begins: false, run: Box::new(run) }
    }

    /// The same, as the beginning of something that must not be begun on a ledger that is lost.
    pub(super) fn beginning(self) -> Self {
        Self { begins: true, ..self }
    }
}

/// The thread's belongings.
pub(super) struct Worker {
    ledger: Ledger,
    instance: Instance,
    seen: Seen,
    broken: bool,
    presence: Presence,
    mark: Mark,
    older: Option<i64>,
    /// Why nothing is begun any more.
    lost: Option<Failure>,
    /// Who is told of it.
    tell: Option<oneshot::Sender<Arc<StoreError>>>,
}

impl Worker {
    /// Lists the instance and takes the ledger over; `tell` hears when the ledger is of no use any more.
    pub(super) fn new(
        mut ledger: Ledger,
        instance: Instance,
        tell: oneshot::Sender<Arc<StoreError>>,
    ) -> Result<Self, StoreError> {
        let conn = ledger.connection();
        let version = conn
            .immediate_transaction(|conn| {
                instance::record(conn, instance.id(), now())?;
                data_version(conn)
            })
            .map_err(during("listing this instance"))?;
        let presence = Presence::of(ledger.path());
        let (mark, older) = ledger.mark()?;
        if older.is_some() {
            tracing::warn!(
                "the ledger is an older copy of the one that was last in use; what it has open and whose \
                 subscription has ended since is not sent"
            );
        }
        Ok(Self {
            ledger,
            instance,
            seen: Seen { version, unsure: false },
            broken: false,
            presence,
            mark,
            older,
            lost: None,
            tell: Some(tell),
        })
    }

    /// Serves until nobody can ask any more.
    pub(super) fn serve(mut self, jobs: &mpsc::Receiver<Message>) {
        let mut stop = false;
        while !stop && let Ok(message) = jobs.recv() {
            let mut batch = Vec::new();
            let mut next = Some(message);
            while let Some(message) = next.take() {
                match message {
                    Message::Work(job) => batch.push(job),
                    Message::Damaged(failure) => self.lose(failure),
                    Message::Stop => stop = true,
                }
                if !stop && batch.len() < BATCH {
                    next = jobs.try_recv().ok();
                }
            }
            if !batch.is_empty() {
                self.batch(batch);
            }
        }
        // First the file, then the row: whoever sees the row go must not find the file there still, or
        // what this instance left open waits for nobody (law D9).
        self.instance.farewell();
        let id = self.instance.id().to_owned();
        if let Err(error) = instance::forget(self.ledger.connection(), &id) {
            // Its file is gone in a moment, and that is what counts.
            tracing::debug!(error = %error, "this instance stays on the ledger's list");
        }
    }

    /// Looks whether the files that are open are still the ledger.
    fn look(&mut self) {
        let path = self.ledger.path();
        if self.lost.is_none() && Presence::of(path) != self.presence {
            self.lose(Failure::new(StoreError::LedgerGone { path: path.to_owned() }));
        }
    }

    /// From now on nothing is begun; what is under way is still recorded as well as that goes.
    fn lose(&mut self, failure: Failure) {
        if let Some(tell) = self.tell.take() {
            // Whoever wanted to know may have ended.
            drop(tell.send(Arc::clone(&failure.0)));
        }
        self.lost.get_or_insert(failure);
    }

    fn batch(&mut self, mut batch: Vec<Job>) {
        self.look();
        if let Some(lost) = &self.lost {
            let begins;
            (begins, batch) = batch.into_iter().partition(|job| job.begins);
            fail(begins, lost);
        }
        if self.broken {
            // A file in its place is not the ledger.
            let again = match &self.lost {
                Some(lost) => return fail(batch, lost),
                None => self.ledger.reconnect(),
            };
            match again {
                Ok(()) => {
                    self.broken = false;
                    self.seen.unsure = true;
                }
                Err(error) => return fail(batch, &Failure::new(error)),
            }
        }
        let mut waiting = Some(batch);
        let mut answers = Vec::new();
        let mut taken = Vec::new();
        let before = self.seen;
        let writes = waiting.iter().flatten().any(|job| job.writes);
        let path = self.ledger.path().to_owned();
        let (mut lost, mut claim, older) = (None, 0, self.older);
        let (instance, seen) = (&self.instance, &mut self.seen);
        let mut work = |conn: &mut SqliteConnection| {
            let mut desk = Desk {
                conn,
                instance,
                seen,
                taken: &mut taken,
                older,
                claim: &mut claim,
                ledger: &path,
                lost: &mut lost,
            };
            for job in waiting.take().into_iter().flatten() {
                answers.push((job.run)(Ok(&mut desk)));
            }
            Ok::<(), diesel::result::Error>(())
        };
        let conn = self.ledger.connection();
        let done = if writes { conn.immediate_transaction(&mut work) } else { work(conn) };
        self.broken = is_broken(self.ledger.connection());
        match done {
            Ok(()) => {
                if claim > 0
                    && let Err(error) = self.mark.set(claim)
                {
                    tracing::debug!(error = %error, "the newest claim is not noted beside the ledger");
                }
                // Their files go while their locks are still held.
                for dead in taken {
                    if let Err(error) = dead.bury() {
                        tracing::warn!(error = %error, "a dead instance's file stays behind");
                    }
                }
                answers.into_iter().for_each(|answer| answer(None));
            }
            Err(error) => {
                let failure = Failure::new(during("committing")(error).of_ledger(&path));
                if failure.is_damage() {
                    lost.get_or_insert_with(|| failure.clone());
                }
                self.seen = before;
                match waiting {
                    // The transaction did not begin.
                    Some(batch) => fail(batch, &failure),
                    None => self.broken = true,
                }
                answers.into_iter().for_each(|answer| answer(Some(&failure)));
            }
        }
        if let Some(lost) = lost {
            self.lose(lost);
        }
    }
}

/// Whether a transaction ended behind Diesel's back, as after a full disk.
fn is_broken(conn: &mut SqliteConnection) -> bool {
    <AnsiTransactionManager as TransactionManager<SqliteConnection>>::is_broken_transaction_manager(
        conn,
    )
}

fn fail(batch: Vec<Job>, failure: &Failure) {
    for job in batch {
        (job.run)(Err(failure.clone()))(None);
    }
}

/// Runs one job so that its failure undoes nothing of the others'.
fn savepoint<T>(
    desk: &mut Desk<'_>,
    work: impl FnOnce(&mut Desk<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let Desk { conn, instance, seen, taken, older, claim, ledger, lost } = desk;
    let older = *older;
    let (claim_before, taken_before) = (**claim, taken.len());
    let outcome = conn.transaction(|conn| {
        let mut desk = Desk { conn, instance, seen, taken, older, claim, ledger, lost };
        work(&mut desk).map_err(Undo::Work)
    });
    if outcome.is_err() {
        // What is undone leaves nothing beside the ledger either.
        **claim = claim_before;
        taken.truncate(taken_before);
    }
    outcome.map_err(|undo| match undo {
        Undo::Work(error) => error,
        Undo::Query(error) => during("saving")(error),
    })
}

enum Undo {
    Work(StoreError),
    Query(diesel::result::Error),
}

impl From<diesel::result::Error> for Undo {
    fn from(error: diesel::result::Error) -> Self {
        Self::Query(error)
    }
}

/// One cause that several jobs share.
#[derive(Clone, Debug)]
pub(super) struct Failure(Arc<StoreError>);

impl Failure {
    pub(super) fn new(error: StoreError) -> Self {
        Self(Arc::new(error))
    }

    /// Whether the ledger itself is damaged.
    fn is_damage(&self) -> bool {
        matches!(*self.0, StoreError::LedgerDamaged { .. })
    }

    pub(super) fn error(&self, operation: &'static str) -> PortError {
        PortError { operation, kind: kind(&self.0), source: Box::new(self.clone()) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Locks, full disks and missing files may pass; what the ledger holds or refuses does not.
fn kind(error: &StoreError) -> PortErrorKind {
    match error {
        StoreError::LedgerRefused { .. }
        | StoreError::LedgerGone { .. }
        | StoreError::LedgerDamaged { .. }
        | StoreError::LedgerValue { .. }
        | StoreError::BoardReplaced { .. }
        | StoreError::LedgerMigrate { .. } => PortErrorKind::Unusable,
        _ => PortErrorKind::Weather,
    }
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod tests;
