//! A board that is open: what its thread knows of it, and what is due when (laws B3, B6, F1).

use std::time::{Duration, Instant};

use kanban_notify::{
    error::PortError,
    ids::BoardId,
    ports::Change,
    record::{Pass, PassRequest},
    verdict::Detail,
};

use super::{
    Pace, convert,
    shared::Shared,
    writes::{Tried, Writes},
};
use crate::{
    board::{Board, PollPace},
    error::StoreError,
};

/// A WAL above this is checkpointed by us when nobody else writes (law B3).
const WAL_BOUND_BYTES: u64 = 8 * 1024 * 1024;
/// So long nobody else must have committed before we checkpoint.
const QUIET: Duration = Duration::from_secs(3);
/// Between two checkpoints of ours: our own commits alone do not call for one each.
const AGAIN: Duration = Duration::from_secs(60);
/// Slow boards are looked at, and every board's file is checked, at most this often.
const SECOND: Duration = Duration::from_secs(1);
/// News that nobody reacted to is told again after this long.
const TELL_AGAIN: Duration = Duration::from_secs(5);

/// Why a board cannot be served any more.
pub(super) enum Lost {
    /// The file is not the one that was opened or read before. With the time it was served.
    Replaced(Detail, Duration),
    /// Anything else.
    Broken(Box<StoreError>),
}

pub(super) struct Served {
    board: Box<Board>,
    id: BoardId,
    slow: bool,
    poll: Duration,
    opened_at: Instant,
    pub(super) writes: Writes,
    /// The data version before the last read; `None` before the first one.
    seen: Option<i64>,
    /// The data version at the last look.
    last: i64,
    /// When somebody was told of news that were not read since.
    told_at: Option<Instant>,
    /// When somebody else was last seen to have committed.
    foreign_at: Option<Instant>,
    ladder: Option<Ladder>,
    look_at: Instant,
    check_at: Instant,
    /// Something moved: look whether the path still leads to our file.
    check_now: bool,
    /// When we last made a checkpoint.
    checkpoint_at: Option<Instant>,
    /// The data version at our last checkpoint.
    checkpointed: Option<i64>,
}

/// Looks in quick succession: the signal of a commit comes before the commit is visible.
pub(super) struct Ladder {
    step: Duration,
    at: Instant,
}

impl Ladder {
    const FIRST: Duration = Duration::from_micros(100);
    const LAST: Duration = Duration::from_millis(100);

    fn from(now: Instant) -> Self {
        Self { step: Self::FIRST, at: now }
    }

    /// The next rung after a look at `now`; `None` at the top.
    fn climb(self, now: Instant) -> Option<Self> {
        (self.step <= Self::LAST).then(|| Self { at: now + self.step, step: self.step * 2 })
    }
}

impl Served {
    pub(super) fn new(mut board: Box<Board>, id: BoardId, pace: Pace) -> Result<Self, StoreError> {
        let now = Instant::now();
        let slow = *board.pace() != PollPace::Normal;
        let poll = if slow { pace.poll.max(SECOND) } else { pace.poll };
        Ok(Self {
            last: board.data_version()?,
            board,
            id,
            slow,
            poll,
            opened_at: now,
            writes: Writes::new(pace.lock_patience),
            seen: None,
            // That it was opened is said by the caller, which is news enough.
            told_at: Some(now),
            foreign_at: None,
            ladder: None,
            look_at: now + poll,
            check_at: now + SECOND,
            check_now: false,
            checkpoint_at: None,
            checkpointed: None,
        })
    }

    pub(super) fn next_at(&self) -> Instant {
        let ladder = self.ladder.as_ref().map(|ladder| ladder.at);
        [Some(self.look_at), Some(self.check_at), ladder, self.writes.next_at()]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(self.look_at)
    }

    /// Somebody saw something move.
    pub(super) fn nudged(&mut self, now: Instant) {
        self.check_now = true;
        // On a rollback journal every look takes a lock that writers must wait for.
        if !self.slow {
            self.ladder = Some(Ladder::from(now));
        }
    }

    pub(super) fn read(&mut self, request: PassRequest) -> (Result<Pass, PortError>, Option<Lost>) {
        let aged = request.aged;
        let query = convert::pass_query(request);
        // The version is read first: a commit between the two is read now and told of once more.
        let read = self
            .board
            .data_version()
            .and_then(|version| self.board.read(&query).map(|seen| (version, seen)));
        match read {
            Ok((version, seen)) => {
                self.note(version, Instant::now());
                self.seen = Some(version);
                self.told_at = None;
                let lost = seen
                    .replaced
                    .as_deref()
                    .map(|why| Lost::Replaced(Detail::new(why), self.opened_at.elapsed()));
                (Ok(convert::pass(seen, aged)), lost)
            }
            Err(error) => {
                let operation = "reading the board";
                if error.is_busy() {
                    // Told again at the next look.
                    self.told_at = None;
                    return (Err(convert::port_error(operation, error)), None);
                }
                let answer = PortError {
                    operation,
                    kind: convert::kind(&error),
                    source: convert::told(&error).as_str().into(),
                };
                (Err(answer), Some(self.lost(error)))
            }
        }
    }

    /// For how long it has been served.
    pub(super) fn age(&self) -> Duration {
        self.opened_at.elapsed()
    }

    /// Does what is due.
    pub(super) fn turn(&mut self, now: Instant, shared: &Shared) -> Result<(), Lost> {
        if self.check_now || now >= self.check_at {
            // Not moved by a nudge: the looks and the checks stay one wake-up.
            if now >= self.check_at {
                self.check_at = now + SECOND;
            }
            self.check_now = false;
            self.board.check_file().map_err(|error| self.lost(error))?;
        }
        let rung = self.ladder.take_if(|ladder| ladder.at <= now);
        if rung.is_some() || now >= self.look_at {
            self.look(now, shared).map_err(|error| self.lost(error))?;
            if let Some(rung) = rung {
                self.ladder = rung.climb(Instant::now());
            }
        }
        if now >= self.look_at {
            self.look_at = now + self.poll;
            self.shorten_wal(now).map_err(|error| self.lost(error))?;
        }
        if self.writes.next_at().is_some_and(|at| at <= now) {
            self.write(now).map_err(|error| self.lost(error))?;
        }
        Ok(())
    }

    fn look(&mut self, now: Instant, shared: &Shared) -> Result<(), StoreError> {
        let version = self.board.data_version()?;
        self.note(version, now);
        let told = self.told_at.is_some_and(|at| now < at + TELL_AGAIN);
        if self.seen != Some(version) && !told {
            self.told_at = Some(now);
            shared.send(Change::Board(self.id));
        }
        Ok(())
    }

    fn note(&mut self, version: i64, now: Instant) {
        if version != self.last {
            self.last = version;
            self.foreign_at = Some(now);
        }
    }

    fn write(&mut self, now: Instant) -> Result<(), StoreError> {
        let Tried { own_step, lost } = self.writes.go(&mut self.board, now, self.foreign_at);
        if let Some((before, after)) = own_step {
            // Our own commit is no news, if nothing else was unread.
            self.note(before, now);
            self.last = after;
            if self.seen == Some(before) {
                self.seen = Some(after);
            }
        }
        lost.map_or(Ok(()), Err)
    }

    fn shorten_wal(&mut self, now: Instant) -> Result<(), StoreError> {
        let quiet = self.foreign_at.is_none_or(|at| now >= at + QUIET)
            && self.checkpoint_at.is_none_or(|at| now >= at + AGAIN);
        // After a checkpoint the file keeps its size until it is written again from its start.
        if !quiet || self.checkpointed == Some(self.last) {
            return Ok(());
        }
        if self.board.wal_bytes() <= WAL_BOUND_BYTES {
            return Ok(());
        }
        self.checkpointed = Some(self.last);
        self.checkpoint_at = Some(now);
        match self.board.checkpoint() {
            Err(error) if !error.is_busy() => Err(error),
            _ => Ok(()),
        }
    }

    fn lost(&self, error: StoreError) -> Lost {
        match error {
            StoreError::FileReplaced { .. } => {
                Lost::Replaced(convert::told(&error), self.opened_at.elapsed())
            }
            error => Lost::Broken(Box::new(error)),
        }
    }
}
