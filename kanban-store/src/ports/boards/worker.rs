//! One board's thread: serves jobs, notices commits, waits for a board that is not there.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ports::Change,
    record::{Pass, PassRequest, RowChange, RowOutcome},
    verdict::Detail,
};

use super::{
    convert::{port_error, told},
    open::{self, Opened},
    served::{Lost, Served},
    shared::Shared,
};
use crate::error::StoreError;

/// What a board's thread is asked to do.
pub(super) enum Job {
    Read(PassRequest, oneshot::Sender<Result<Pass, PortError>>),
    Change(Vec<RowChange>, oneshot::Sender<Result<Vec<RowOutcome>, PortError>>),
    Nudge,
    Stop,
}

/// A nudge does not hurry an opening that failed less than this ago.
const CALM: Duration = Duration::from_millis(50);

pub(super) struct Worker {
    shared: Arc<Shared>,
    path: PathBuf,
    slug: String,
    queue: Receiver<Job>,
    state: State,
}

enum State {
    Closed(Closed),
    Served(Box<Served>),
}

/// A board that cannot be used now.
struct Closed {
    tried_at: Instant,
    retry_at: Instant,
    /// The wait after the next failure.
    delay: Duration,
    /// What was last said about it.
    reason: Option<Detail>,
}

impl Worker {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: PathBuf,
        slug: &str,
        queue: Receiver<Job>,
    ) -> Self {
        let state = State::Closed(Closed::at_once(shared.pace.retry_first));
        Self { shared, path, slug: slug.to_owned(), queue, state }
    }

    pub(super) fn run(mut self) {
        loop {
            let next = match &self.state {
                State::Closed(closed) => closed.retry_at,
                State::Served(served) => served.next_at(),
            };
            let wait = next.saturating_duration_since(Instant::now());
            match self.queue.recv_timeout(wait) {
                Ok(job) => {
                    if self.take(job) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(job) = self.queue.try_recv() {
                if self.take(job) {
                    return;
                }
            }
            self.turn(Instant::now());
        }
    }

    /// Does, or notes, a job. `true`: end.
    fn take(&mut self, job: Job) -> bool {
        match (job, &mut self.state) {
            (Job::Stop, _) => return true,
            (Job::Nudge, State::Closed(closed)) => closed.hurry(),
            (Job::Nudge, State::Served(served)) => served.nudged(Instant::now()),
            (Job::Read(_, reply), State::Closed(closed)) => {
                // The asker may have gone; so everywhere below.
                drop(reply.send(Err(closed.error("reading the board"))));
            }
            (Job::Change(_, reply), State::Closed(closed)) => {
                drop(reply.send(Err(closed.error("changing the board"))));
            }
            (Job::Read(request, reply), State::Served(served)) => {
                let (answer, lost) = served.read(request);
                drop(reply.send(answer));
                if let Some(lost) = lost {
                    self.lose(lost);
                }
            }
            (Job::Change(changes, reply), State::Served(served)) => {
                served.writes.push(changes, reply, Instant::now());
            }
        }
        false
    }

    /// What is due now.
    fn turn(&mut self, now: Instant) {
        match &mut self.state {
            State::Closed(closed) if now >= closed.retry_at => self.open(now),
            State::Closed(_) => {}
            State::Served(served) => {
                if let Err(lost) = served.turn(now, &self.shared) {
                    self.lose(lost);
                }
            }
        }
    }

    fn open(&mut self, now: Instant) {
        match open::open(&self.shared, &self.path, &self.slug) {
            Ok(Opened::Ready(board, start)) => {
                let slow = match board.pace() {
                    crate::board::PollPace::Normal => None,
                    crate::board::PollPace::Slow(why) => Some(why.clone()),
                };
                match Served::new(board, start.id, self.shared.pace) {
                    Ok(served) => {
                        if let Some(why) = &slow {
                            tracing::warn!(board.slug = self.slug, why, "board is polled slowly");
                        }
                        tracing::info!(board.slug = self.slug, board.id = start.id.0, "board open");
                        self.shared.set_status(&self.path, |status| {
                            status.id = Some(start.id);
                            status.degraded = None;
                            status.slow = slow;
                        });
                        self.state = State::Served(Box::new(served));
                        self.shared.send(Change::Opened(start));
                    }
                    Err(error) => self.failed(now, &port_error("opening the board", error)),
                }
            }
            Ok(Opened::ReadOnly(start)) => {
                self.shared.set_status(&self.path, |status| status.id = Some(start.id));
                let error = StoreError::BoardReadOnly { path: self.path.clone() };
                self.failed(now, &port_error("opening the board", error));
            }
            Err(error) => self.failed(now, &error),
        }
    }

    /// Goes on waiting after an opening that failed.
    fn failed(&mut self, now: Instant, error: &PortError) {
        self.shared.release_file(&self.path);
        let reason = told(error.source.as_ref());
        let State::Closed(closed) = &mut self.state else {
            return;
        };
        closed.tried_at = now;
        // Looking for a file costs one stat: no need to look less often with time.
        let waits = matches!(
            error.source.downcast_ref::<StoreError>(),
            Some(StoreError::BoardMissing { .. } | StoreError::BoardEmpty { .. })
        );
        let delay = if waits { self.shared.pace.retry_first } else { closed.delay };
        closed.retry_at = now + delay;
        closed.delay = (delay * 2).min(self.shared.pace.retry_most);
        let news = closed.reason.as_ref() != Some(&reason);
        if news || !waits {
            tracing::warn!(
                board.slug = self.slug,
                reason = reason.as_str(),
                retry_in_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                "board is not served"
            );
        }
        if news {
            closed.reason = Some(reason.clone());
            self.shared.degrade(&self.path, reason);
        }
    }

    /// Lets go of the board that was open.
    fn lose(&mut self, lost: Lost) {
        let now = Instant::now();
        let first = self.shared.pace.retry_first;
        let mut closed = Closed::at_once(first);
        match lost {
            // The file is another one: what it is comes out when it is opened, at once. A file
            // that keeps contradicting the ledger is opened less and less often.
            Lost::Replaced(reason, age) => {
                tracing::warn!(
                    board.slug = self.slug,
                    reason = reason.as_str(),
                    "board was replaced"
                );
                if age < first {
                    closed.retry_at = now + first;
                }
                closed.reason = None;
            }
            Lost::Broken(error) => {
                let reason = told(error.as_ref());
                tracing::warn!(board.slug = self.slug, reason = reason.as_str(), "board is lost");
                closed.retry_at = now + first;
                closed.reason = Some(reason.clone());
                self.shared.degrade(&self.path, reason);
            }
        }
        self.shared.release_file(&self.path);
        let error = closed.error("changing the board");
        let before = std::mem::replace(&mut self.state, State::Closed(closed));
        if let State::Served(mut served) = before {
            served.writes.fail_all(&error.source.to_string());
        }
    }
}

impl Closed {
    fn at_once(delay: Duration) -> Self {
        let now = Instant::now();
        Self { tried_at: now, retry_at: now, delay, reason: None }
    }

    fn hurry(&mut self) {
        self.retry_at = self.retry_at.min(self.tried_at + CALM);
    }

    fn error(&self, operation: &'static str) -> PortError {
        let why = self.reason.as_ref().map(Detail::as_str);
        PortError {
            operation,
            kind: PortErrorKind::Weather,
            source: why.unwrap_or("it is being opened").into(),
        }
    }
}
