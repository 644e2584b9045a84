//! The one thread that owns the ledger's connection: whatever waits is recorded in one transaction.

use std::{
    fmt,
    sync::{Arc, mpsc},
};

use diesel::{
    Connection as _, SqliteConnection,
    connection::{AnsiTransactionManager, TransactionManager},
};
use kanban_notify::error::{PortError, PortErrorKind};

use crate::{
    error::StoreError,
    ledger::{
        Ledger, data_version, during,
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
    /// End.
    Stop,
}

/// One piece of work with the way to answer it.
pub(super) struct Job {
    writes: bool,
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
                    let outcome = savepoint(desk, work);
                    Box::new(move |failed| {
                        reply(match (outcome, failed) {
                            (Err(error), _) => Err(Failure::new(error).error(operation)),
                            (Ok(_), Some(failure)) => Err(failure.error(operation)),
                            (Ok(value), None) => Ok(value),
                        });
                    })
                }
            }
        };
        Self { writes, run: Box::new(run) }
    }
}

/// The thread's belongings.
pub(super) struct Worker {
    ledger: Ledger,
    instance: Instance,
    seen: Seen,
    broken: bool,
}

impl Worker {
    /// Lists the instance and takes the ledger over.
    pub(super) fn new(mut ledger: Ledger, instance: Instance) -> Result<Self, StoreError> {
        let conn = ledger.connection();
        let version = conn
            .immediate_transaction(|conn| {
                instance::record(conn, instance.id(), now())?;
                data_version(conn)
            })
            .map_err(during("listing this instance"))?;
        Ok(Self { ledger, instance, seen: Seen { version, unsure: false }, broken: false })
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

    fn batch(&mut self, batch: Vec<Job>) {
        if self.broken {
            match self.ledger.reconnect() {
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
        let (instance, seen) = (&self.instance, &mut self.seen);
        let mut work = |conn: &mut SqliteConnection| {
            let mut desk = Desk { conn, instance, seen, taken: &mut taken };
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
                // Their files go while their locks are still held.
                for dead in taken {
                    if let Err(error) = dead.bury() {
                        tracing::warn!(error = %error, "a dead instance's file stays behind");
                    }
                }
                answers.into_iter().for_each(|answer| answer(None));
            }
            Err(error) => {
                let failure = Failure::new(during("committing")(error));
                self.seen = before;
                match waiting {
                    // The transaction did not begin.
                    Some(batch) => fail(batch, &failure),
                    None => self.broken = true,
                }
                answers.into_iter().for_each(|answer| answer(Some(&failure)));
            }
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
    let Desk { conn, instance, seen, taken } = desk;
    let outcome = conn
        .transaction(|conn| work(&mut Desk { conn, instance, seen, taken }).map_err(Undo::Work));
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
        | StoreError::LedgerValue { .. }
        | StoreError::BoardReplaced { .. }
        | StoreError::LedgerMigrate { .. } => PortErrorKind::Unusable,
        _ => PortErrorKind::Weather,
    }
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod tests;
