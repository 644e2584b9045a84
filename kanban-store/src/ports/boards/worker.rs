//! One board's thread: serves jobs, notices commits, waits for a board that is not there.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime},
};

use futures_channel::oneshot;
use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::BoardId,
    ports::Change,
    record::{Pass, PassRequest, RowChange, RowOutcome},
    verdict::Detail,
};

use super::{
    Pace,
    convert::{port_error, told},
    open::{self, Opened},
    served::{Lost, Served},
    shared::Shared,
};
use crate::{board::FileId, error::StoreError};

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
    /// What was wrong last, until the board has been served for a while.
    fault: Option<Fault>,
}

/// A fault that may last: a board can open well and break at its first use, again and again.
struct Fault {
    reason: Detail,
    /// The wait after the next failure.
    delay: Duration,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// There is no file yet, or nothing in it.
    Awaited,
    /// It could not be opened.
    Unopened,
    /// It was open and could not be used.
    Broken,
}

enum State {
    Closed(Closed),
    Served(Box<Served>),
}

/// A board that cannot be used now.
struct Closed {
    tried_at: Instant,
    retry_at: Instant,
    /// Why, once that is known.
    reason: Option<Detail>,
    /// The file that could not be used; `None` while one is waited for.
    unusable: Option<Stamp>,
}

/// What tells whether anybody has touched a file since.
type Stamp = (Option<FileId>, u64, Option<SystemTime>);

impl Worker {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: PathBuf,
        slug: &str,
        queue: Receiver<Job>,
    ) -> Self {
        let state = State::Closed(Closed::until(Instant::now()));
        Self { shared, path, slug: slug.to_owned(), queue, state, fault: None }
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
            (Job::Nudge, State::Closed(closed)) => closed.hurry(&self.path),
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
            State::Served(served) => match served.turn(now, &self.shared) {
                Ok(()) => self.recovered(),
                Err(lost) => self.lose(lost),
            },
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
                            tracing::warn!(
                                board.slug = self.slug,
                                reason = why,
                                "board is looked at once a second"
                            );
                        }
                        self.told_open(start.id);
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

    fn told_open(&mut self, id: BoardId) {
        // One that breaks again and again is not worth a line each time.
        if self.fault.as_ref().is_some_and(|fault| fault.kind == Kind::Broken) {
            tracing::debug!(board.slug = self.slug, board.id = id.0, "board open");
        } else {
            self.fault = None;
            tracing::info!(board.slug = self.slug, board.id = id.0, "board open");
        }
    }

    /// A board that has been well for longer than we would have waited is well again.
    fn recovered(&mut self) {
        let State::Served(served) = &self.state else { return };
        if self.fault.take_if(|fault| served.age() > fault.delay).is_some() {
            tracing::info!(board.slug = self.slug, "board is served again");
        }
    }

    /// Goes on waiting after an opening that failed.
    fn failed(&mut self, now: Instant, error: &PortError) {
        self.shared.release_file(&self.path);
        let reason = told(error.source.as_ref());
        let waits = matches!(
            error.source.downcast_ref::<StoreError>(),
            Some(StoreError::BoardMissing { .. } | StoreError::BoardEmpty { .. })
        );
        let kind = if waits { Kind::Awaited } else { Kind::Unopened };
        let (delay, news) = self.faulty(&reason, kind);
        let State::Closed(closed) = &mut self.state else {
            return;
        };
        closed.tried_at = now;
        closed.retry_at = now + delay;
        closed.unusable = (!waits).then(|| stamp(&self.path));
        let known = closed.reason.replace(reason.clone());
        self.tell(&reason, delay, news);
        if known.as_ref() != Some(&reason) {
            self.shared.degrade(&self.path, reason);
        }
    }

    /// Notes what is wrong; answers how long to wait, and whether it is something else than before.
    fn faulty(&mut self, reason: &Detail, kind: Kind) -> (Duration, bool) {
        let Pace { retry_first, retry_most, .. } = self.shared.pace;
        let before = self.fault.as_ref();
        let news = before.is_none_or(|fault| fault.reason != *reason);
        let delay = match kind {
            // Looking for a file costs one stat: no need to look less often with time.
            Kind::Awaited => retry_first,
            _ => before.map_or(retry_first, |fault| fault.delay),
        };
        let next = if kind == Kind::Awaited { retry_first } else { (delay * 2).min(retry_most) };
        self.fault = Some(Fault { reason: reason.clone(), delay: next, kind });
        (delay, news)
    }

    /// Says what is wrong: a warning when it begins, and a whisper while it lasts.
    fn tell(&self, reason: &Detail, delay: Duration, news: bool) {
        let (slug, error) = (self.slug.as_str(), reason.as_str());
        let retry_after_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        if news {
            tracing::warn!(board.slug = slug, error, retry_after_ms, "board is not served");
        } else {
            tracing::debug!(board.slug = slug, error, retry_after_ms, "board is not served");
        }
    }

    /// Lets go of the board that was open.
    fn lose(&mut self, lost: Lost) {
        let now = Instant::now();
        let first = self.shared.pace.retry_first;
        let mut closed = Closed::until(now);
        match lost {
            // The file is another one: what it is comes out when it is opened, at once. A file
            // that keeps contradicting the ledger is opened less and less often.
            Lost::Replaced(reason, served) => {
                tracing::warn!(
                    board.slug = self.slug,
                    error = reason.as_str(),
                    "board was replaced"
                );
                if served < first {
                    closed.retry_at = now + first;
                }
            }
            Lost::Broken(error) => {
                let reason = told(error.as_ref());
                let (delay, news) = self.faulty(&reason, Kind::Broken);
                self.tell(&reason, delay, news);
                closed.retry_at = now + delay;
                closed.unusable = Some(stamp(&self.path));
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

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok();
    let (len, at) = found.map_or((0, None), |found| (found.len(), found.modified().ok()));
    (FileId::of(path), len, at)
}

impl Closed {
    fn until(retry_at: Instant) -> Self {
        Self { tried_at: Instant::now(), retry_at, reason: None, unusable: None }
    }

    /// Something moved: a file that is waited for may be there, one that cannot be used may be mended.
    fn hurry(&mut self, path: &Path) {
        if self.unusable.is_none_or(|unusable| unusable != stamp(path)) {
            self.retry_at = self.retry_at.min(self.tried_at + CALM);
        }
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
