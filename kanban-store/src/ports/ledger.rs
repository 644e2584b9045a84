//! The ledger behind its ports: one thread, one connection, one transaction for all that waits.

mod convert;
mod examine;
mod registrar;
mod thread;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use async_trait::async_trait;
use futures_channel::oneshot;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::{BoardId, ChannelName, SubscriptionId},
    ports::{Backlog, Claims, Planner},
    record::{
        Intent, IntentResult, Owed, Pause, Plan, Planned, Raise, RowOutcome, Settlement,
        WAKE_BUDGET_WINDOW, Work,
    },
    subscription::Subscription,
    time::Timestamp,
};

use self::{
    examine::Examination,
    thread::{Desk, Job, Message, Worker},
};
use crate::{
    error::StoreError,
    ledger::{
        self, Identity, Instance, backlog, boards,
        claims::{self, Intended},
        data_version, during, ends, instance, now, outcomes, plan, prune, rests,
    },
};

/// A handle on the ledger's thread, cheap to clone. The thread ends with the last handle, or by
/// [`LedgerPort::close`].
#[derive(Clone)]
pub struct LedgerPort {
    jobs: mpsc::Sender<Message>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
    lost: Arc<Mutex<Option<oneshot::Receiver<Arc<StoreError>>>>>,
    about: Arc<About>,
}

struct About {
    path: PathBuf,
    identity: Identity,
    instance: String,
    migrated: Vec<String>,
}

impl LedgerPort {
    /// Opens the ledger, registers this process as an instance, and starts the thread.
    ///
    /// See [`ledger::open`] for what is refused; a damaged file is refused besides, or, where it is too
    /// large to be looked through first, soon [`lost`](Self::lost).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let ledger = ledger::open(path)?;
        let examination = Examination::of(ledger.path())?;
        let instance = Instance::register(ledger.path())?;
        let about = Arc::new(About {
            path: ledger.path().to_owned(),
            identity: ledger.identity().clone(),
            instance: instance.id().to_owned(),
            migrated: ledger.migrated().to_vec(),
        });
        let (tell, lost) = oneshot::channel();
        let worker =
            Worker::new(ledger, instance, tell).map_err(|error| error.of_ledger(&about.path))?;
        let (jobs, waiting) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || worker.serve(&waiting))
            .map_err(|source| StoreError::LedgerFile {
                operation: "starting a thread for",
                path: about.path.clone(),
                source,
            })?;
        examination.go_on(&jobs);
        let (thread, lost) = (Mutex::new(Some(thread)), Mutex::new(Some(lost)));
        Ok(Self { jobs, thread: Arc::new(thread), lost: Arc::new(lost), about })
    }

    /// The ledger's canonical path.
    pub fn path(&self) -> &Path {
        &self.about.path
    }

    /// The gateway's id and secret.
    pub fn identity(&self) -> &Identity {
        &self.about.identity
    }

    /// This process as the ledger lists it.
    pub fn instance(&self) -> &str {
        &self.about.instance
    }

    /// The migrations that opening it has run.
    pub fn migrated(&self) -> &[String] {
        &self.about.migrated
    }

    /// Waits until the ledger is of no use any more: removed or replaced while it is open, or found damaged.
    ///
    /// From then on no intent is recorded, and whoever waits here has to end; outcomes are still recorded
    /// where that goes, so that their cursors are raised. The first who asks is told.
    pub async fn lost(&self) -> Arc<StoreError> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).take();
        match lost {
            // The thread that ended in order has lost nothing.
            Some(lost) => match lost.await {
                Ok(why) => why,
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    /// Ends the thread once it has answered what was asked before. Later calls say `Closed`.
    pub fn close(&self) {
        // It may have ended already; then nobody listens, which is as well.
        drop(self.jobs.send(Message::Stop));
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the ledger's thread has panicked");
        }
    }

    /// Forgets outcomes older than `outcomes`, and the bytes of claims that were over `bodies` ago
    /// (law D10), in slices that let other work in between.
    pub async fn prune(
        &self,
        outcomes: Duration,
        bodies: Duration,
    ) -> Result<prune::Pruned, PortError> {
        let now = Timestamp::from_micros(now());
        let limits = prune::Limits {
            outcomes_before: now.before(outcomes).micros(),
            bodies_before: now.before(bodies).micros(),
        };
        let mut total = prune::Pruned::default();
        let mut mark = Some(prune::Mark::default());
        while let Some(from) = mark {
            let operation = "pruning the ledger";
            let (pruned, next) = self
                .call(operation, true, move |desk| {
                    prune::slice(desk.conn, limits, from).map_err(during(operation))
                })
                .await?;
            total = total.and(pruned);
            mark = next;
        }
        Ok(total)
    }

    async fn call<T: Send + 'static>(
        &self,
        operation: &'static str,
        writes: bool,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PortError> {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may have given up meanwhile.
        let reply = move |outcome| drop(reply.send(outcome));
        self.post(operation, Job::new(operation, writes, work, reply))?;
        answer.await.unwrap_or_else(|_| Err(closed(operation)))
    }

    /// As `call`, for what must not be begun on a ledger that is lost.
    async fn begin<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PortError> {
        let (reply, answer) = oneshot::channel();
        let reply = move |outcome| drop(reply.send(outcome));
        self.post(operation, Job::new(operation, true, work, reply).beginning())?;
        answer.await.unwrap_or_else(|_| Err(closed(operation)))
    }

    /// As `call`, for threads that may block.
    fn ask<T: Send + 'static>(
        &self,
        operation: &'static str,
        writes: bool,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, PortError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let reply = move |outcome| drop(reply.send(outcome));
        self.post(operation, Job::new(operation, writes, work, reply))?;
        answer.recv().unwrap_or_else(|_| Err(closed(operation)))
    }

    fn post(&self, operation: &'static str, job: Job) -> Result<(), PortError> {
        self.jobs.send(Message::Work(job)).map_err(|_| closed(operation))
    }
}

#[async_trait]
impl Planner for LedgerPort {
    async fn copies(
        &self,
        board: BoardId,
        tasks: Vec<String>,
    ) -> Result<Vec<Subscription>, PortError> {
        let operation = "reading copies of subscriptions";
        self.call(operation, false, move |desk| {
            let Some(board) = boards::get(desk.conn, board.0).map_err(during(operation))? else {
                return Ok(Vec::new());
            };
            let rows = plan::copies(desk.conn, &board, &tasks).map_err(during(operation))?;
            rows.into_iter().map(convert::subscription).collect()
        })
        .await
    }

    async fn plan(&self, plan: Plan) -> Result<Planned, PortError> {
        let operation = "recording a plan";
        self.call(operation, true, move |desk| {
            let rows = convert::plan_rows(plan, now());
            match plan::plan(desk.conn, &rows).map_err(during(operation))? {
                Some(planned) => convert::planned(planned),
                None => Err(StoreError::BoardReplaced {
                    board: rows.board,
                    incarnation: rows.incarnation,
                }),
            }
        })
        .await
    }
}

#[async_trait]
impl Claims for LedgerPort {
    async fn intend(&self, intents: Vec<Intent>) -> Result<Vec<IntentResult>, PortError> {
        let operation = "recording intents";
        self.begin(operation, move |desk| {
            let me = desk.instance.id();
            let rows: Vec<_> = intents.into_iter().map(convert::intent_row).collect();
            if let Some(older) = desk.older {
                for row in &rows {
                    // A leg that is closed here is one that the intent does not find.
                    ends::close_outdated(desk.conn, &row.legs, older, row.at)
                        .map_err(during(operation))?;
                }
            }
            let intended = claims::intend_all(desk.conn, me, &rows).map_err(during(operation))?;
            for won in &intended {
                if let Intended::Won(id) = won {
                    *desk.claim = (*id).max(*desk.claim);
                }
            }
            Ok(intended.into_iter().map(convert::intended).collect())
        })
        .await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Raise>, PortError> {
        let operation = "recording outcomes";
        self.call(operation, true, move |desk| {
            let rows: Vec<_> = settlements.into_iter().map(convert::settlement_row).collect();
            let (raises, ignored) = outcomes::settle_all(desk.conn, desk.instance.id(), &rows)
                .map_err(during(operation))?;
            for claim in ignored {
                tracing::warn!(
                    claim.id = claim,
                    "an outcome came for a claim that is over or another instance's"
                );
            }
            Ok(raises.into_iter().map(convert::raise).collect())
        })
        .await
    }

    async fn rest(&self, pause: Pause) -> Result<(), PortError> {
        let operation = "recording a pause";
        self.call(operation, true, move |desk| {
            let row = convert::pause_row(pause, now());
            rests::rest(desk.conn, &row, row.updated_at).map_err(during(operation))
        })
        .await
    }

    async fn lift(&self, channel: ChannelName) -> Result<(), PortError> {
        let operation = "lifting a pause";
        self.call(operation, true, move |desk| {
            rests::lift(desk.conn, channel.as_str()).map_err(during(operation)).map(drop)
        })
        .await
    }

    async fn raised(&self, raised: Vec<(Raise, RowOutcome)>) -> Result<(), PortError> {
        let operation = "noting raised cursors";
        self.call(operation, true, move |desk| {
            let at = now();
            for (raise, outcome) in raised {
                let copy = raise.subscription.0;
                match outcome {
                    RowOutcome::Won => ends::note_raised(desk.conn, copy, raise.to.0, at),
                    RowOutcome::Gone => ends::vanished(desk.conn, copy, at),
                    // The row is somebody else's now, or another one: the next sweep says which.
                    RowOutcome::Lost => Ok(()),
                }
                .map_err(during(operation))?;
            }
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl Backlog for LedgerPort {
    async fn open_work(&self, held: Vec<SubscriptionId>) -> Result<Work, PortError> {
        let held: Vec<i64> = held.into_iter().map(|copy| copy.0).collect();
        self.call("reading open work", true, move |desk| open_work(desk, &held)).await
    }

    async fn owed(&self, copies: Vec<SubscriptionId>) -> Result<Vec<Owed>, PortError> {
        let operation = "reading what is owed";
        let copies: Vec<i64> = copies.into_iter().map(|copy| copy.0).collect();
        self.call(operation, false, move |desk| {
            let rows = backlog::owed(desk.conn, &copies).map_err(during(operation))?;
            let boards = backlog::boards(desk.conn).map_err(during(operation))?;
            convert::all_owed(rows, &boards)
        })
        .await
    }

    async fn disturbed(&self) -> Result<bool, PortError> {
        let operation = "looking for changes of the ledger";
        self.call(operation, false, move |desk| {
            let version = data_version(desk.conn).map_err(during(operation))?;
            let changed = desk.seen.unsure || version != desk.seen.version;
            desk.seen.version = version;
            desk.seen.unsure = false;
            Ok(changed || desk.instance.sees_dead()?)
        })
        .await
    }
}

fn open_work(desk: &mut Desk<'_>, held: &[i64]) -> Result<Work, StoreError> {
    let operation = "reading open work";
    let dead = desk.instance.dead()?;
    let me = desk.instance.id();
    // One that ended in order has no file any more, and may still have left claims of unknown outcome.
    let is_dead = |id: &str| dead.iter().any(|dead| dead.id() == id) || !desk.instance.has_file(id);
    let claims = backlog::take_over(desk.conn, me, &is_dead).map_err(during(operation))?;
    for dead in &dead {
        instance::forget(desk.conn, dead.id()).map_err(during(operation))?;
    }
    if !claims.is_empty() {
        tracing::info!(claims = claims.len(), "took over what a dead instance left");
    }
    let at = Timestamp::from_micros(now());
    let since = at.before(WAKE_BUDGET_WINDOW).micros();
    let rows = backlog::read(desk.conn, held, at.micros(), since).map_err(during(operation))?;
    desk.seen.version = data_version(desk.conn).map_err(during(operation))?;
    desk.seen.unsure = false;
    desk.taken.extend(dead);
    let older = desk.older.map(Timestamp::from_micros);
    Ok(Work { older, ..convert::work(rows, claims)? })
}

fn closed(operation: &'static str) -> PortError {
    PortError {
        operation,
        kind: PortErrorKind::Closed,
        source: "the ledger's thread has ended".into(),
    }
}
