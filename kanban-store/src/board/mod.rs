//! Boards: SQLite files of somebody else, read and changed without getting in the owner's way.
//!
//! Laws B1 to B7 of the project's delivery rules are kept here: nothing is created, no schema is
//! altered, no file descriptor outside SQLite is opened, no read transaction outlives a call.

mod close_guard;
pub(crate) mod connection;
mod details;
pub mod discovery;
mod features;
mod file;
pub(crate) mod immediate;
mod kinds;
mod lenient;
mod lists;
mod model;
mod open;
mod overview;
mod parts;
mod pass;
mod print;
mod rows;
#[cfg(feature = "write")]
pub(crate) mod schema;
mod snapshot;
mod sql;
pub(crate) mod statement;
mod tail;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use diesel::{connection::SimpleConnection, sqlite::SqliteConnection};

pub use details::{Fields, FoundTask, TaskDetails};
pub use features::Features;
#[cfg(feature = "notify-ports")]
pub(crate) use immediate::step as lock_step;

use file::Standing;
#[cfg(feature = "write")]
pub(crate) use file::read_small;
pub use file::{FileId, network_file_system};
pub use kinds::KindCount;
pub use lists::{EventStamp, ListedEvent, ListedTask, TaskFilter};
pub use model::{
    AgedQuery, EditOutcome, EventRow, Mark, PartRow, PassQuery, PassRows, READ_KINDS, RowEdit,
    RowKey, SubscriptionRow, TOLD_KINDS, TaskRow,
};
pub use overview::{Column, Overview, RunningTask};

use crate::error::StoreError;
use connection::{Access, BUSY_BACKSTOP, Trouble, read_error, trouble};
use rows::EditTexts;
use sql::Texts;
use statement::scalar;

/// At most so many changes go into one transaction (law B4).
pub const MAX_EDITS: usize = 256;

/// A sweep that took less may keep writers waiting for as long the next time.
const SHORT_SWEEP: Duration = Duration::from_millis(5);

/// So many single rows may be looked at while writers wait.
const FEW_ROWS: usize = 64;

/// How often a board may be asked whether it changed (law B7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollPace {
    /// As often as wanted.
    Normal,
    /// Once a second or slower, for this reason.
    Slow(String),
}

/// Changes that were committed in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// One outcome for each edit, in order.
    pub outcomes: Vec<EditOutcome>,
    /// The [`Board::data_version`] before and after, when nothing but this commit moved it.
    pub own_step: Option<(i64, i64)>,
}

/// An open board.
///
/// Owns up to three connections and is used from one thread at a time. Dropping it leaves the
/// board's WAL as it is (law B3).
pub struct Board {
    path: PathBuf,
    standing: Standing,
    pace: PollPace,
    access: Access,
    schema: i64,
    features: Features,
    texts: Texts,
    edits: EditTexts,
    /// How long the last sweep took.
    sweep_took: Duration,
    writer: Option<SqliteConnection>,
    reader: SqliteConnection,
    // Held for its SHARED lock alone: while it is there nobody else is the last to close. Dropped last.
    _guard: SqliteConnection,
}

impl Board {
    /// Opens the board at `path`; never creates one.
    ///
    /// A file or folder that does not let us write is opened for reading:
    /// [`Board::is_writable`] then says no.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::BoardMissing { path: path.into() };
        let path = path.canonicalize().map_err(|_| missing())?;
        // A file that is exchanged while it is being opened is opened again.
        for _ in 0..3 {
            let before = FileId::of(&path).ok_or_else(missing)?;
            let board = Self::open_file(&path, before)?;
            if FileId::of(&path) == Some(before) {
                return Ok(board);
            }
        }
        Err(StoreError::FileReplaced { path })
    }

    fn open_file(path: &Path, file: FileId) -> Result<Self, StoreError> {
        let (guard, access) = open::guard(path)?;
        let mut reader = connection::open(path, access, BUSY_BACKSTOP)?;
        let schema = features::schema_version(path, &mut reader)?;
        let features = Features::find(path, &mut reader)?;
        let journal = scalar(&mut reader, "PRAGMA journal_mode", &[])
            .map_err(|source| read_error(path, source))?
            .into_text()
            .unwrap_or_default();
        let pace = match network_file_system(path) {
            Some(kind) => PollPace::Slow(format!("it lies on a network file system ({kind})")),
            None if journal != "wal" => PollPace::Slow(format!("its journal mode is {journal}")),
            None => PollPace::Normal,
        };
        Ok(Self {
            path: path.into(),
            standing: Standing::of(path, file),
            pace,
            access,
            schema,
            texts: Texts::new(&features),
            edits: EditTexts::new(&features),
            features,
            sweep_took: SHORT_SWEEP,
            writer: None,
            reader,
            _guard: guard,
        })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which file was opened.
    pub fn file(&self) -> FileId {
        self.standing.file
    }

    /// The columns of the file, as of the last read or change.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// How often [`Board::data_version`] may be asked.
    pub fn pace(&self) -> &PollPace {
        &self.pace
    }

    /// Whether rows can be changed at all.
    pub fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Says an error when the path leads to another file, or to none, by now, and when the file was cut or
    /// its log taken away (law B6).
    pub fn check_file(&mut self) -> Result<(), StoreError> {
        self.standing.check(&self.path)
    }

    /// A number that changes with every commit of another connection.
    ///
    /// Read it before a pass, and compare it with later values of this `Board` alone.
    pub fn data_version(&mut self) -> Result<i64, StoreError> {
        data_version(&mut self.reader).map_err(|source| read_error(&self.path, source))
    }

    /// Reads what happened after a mark, in one snapshot that ends before this returns.
    ///
    /// **First sight**: with `after.event` 0 *and* a sweep, history is not read. The pass answers
    /// with the sweep's events only (those above some row's cursor, up to the newest one), and
    /// `next.event` is the newest id of the board. With `after.event` 0 and no sweep everything
    /// is new: the board was empty when it was seen first.
    ///
    /// A sweep covers events up to `after.event` (on first sight: up to the newest); the tail
    /// covers what is above, as far as `limit` leaves room for it. If the sweep was cut, go on
    /// from `next` with `sweep_above: sweep_from`.
    ///
    /// New rows are those after `after.rowid`. After deletions some rows may come again; a row
    /// that was never returned is never left out, although SQLite reuses rowids.
    pub fn read(&mut self, wanted: &PassQuery) -> Result<PassRows, StoreError> {
        self.check_file()?;
        let begun = Instant::now();
        let sweeps = wanted.sweep_above.is_some();
        // What takes long must not keep writers waiting: a sweep of many rows, of which nothing is known
        // at first, or many rows to be looked at.
        let short = !sweeps || self.sweep_took < SHORT_SWEEP;
        let undisturbed = short && wanted.watch.len() <= FEW_ROWS && wanted.aged.is_none();
        let rows = self.snapshot(undisturbed, |board| {
            let mut rows = pass::pass(&mut board.reader, &board.texts, wanted)
                .map_err(|source| read_error(&board.path, source))?;
            rows.features = board.features;
            Ok(rows)
        });
        if sweeps {
            self.sweep_took = begun.elapsed();
        }
        rows
    }

    /// The oldest event's id and print, for telling files apart (law B6).
    pub fn oldest_event(&mut self) -> Result<Option<(i64, String)>, StoreError> {
        use diesel::RunQueryDsl as _;

        self.snapshot(true, |board| {
            let found: Vec<lenient::RawEvent> =
                statement::query::<lenient::EventColumns>(&board.texts.oldest, &[])
                    .load(&mut board.reader)
                    .map_err(|source| read_error(&board.path, source))?;
            Ok(found.first().map(|event| (event.id(), event.print())))
        })
    }

    /// The print of one event; `None` when it is not there.
    pub fn event_print(&mut self, id: i64) -> Result<Option<String>, StoreError> {
        self.snapshot(true, |board| {
            pass::event(&mut board.reader, &board.texts, id)
                .map(|found| found.map(|event| event.print()))
                .map_err(|source| read_error(&board.path, source))
        })
    }

    /// The highest event id ever given out; 0 for none.
    pub fn sequence(&mut self) -> Result<i64, StoreError> {
        self.snapshot(true, |board| {
            pass::sequence(&mut board.reader, &board.texts)
                .map_err(|source| read_error(&board.path, source))
        })
    }

    /// Changes rows, [`MAX_EDITS`] in a transaction, waiting up to `patience` for each lock.
    pub fn change(
        &mut self,
        edits: &[RowEdit],
        patience: Duration,
    ) -> Result<Vec<EditOutcome>, StoreError> {
        let mut outcomes = Vec::with_capacity(edits.len());
        for part in edits.chunks(MAX_EDITS) {
            let mut made = self.with_writer(|board, writer| {
                let path = board.path.clone();
                immediate::patiently(&path, writer, patience, |writer| board.apply(writer, part))
            })?;
            outcomes.append(&mut made);
        }
        Ok(outcomes)
    }

    /// Changes rows in one transaction without waiting; `None` when somebody else is writing.
    ///
    /// Meant for at most [`MAX_EDITS`] edits.
    pub fn try_change(&mut self, edits: &[RowEdit]) -> Result<Option<Committed>, StoreError> {
        self.with_writer(|board, writer| {
            let path = board.path.clone();
            let mut before = (0, 0);
            let done = immediate::attempt(&path, writer, |writer| {
                // Nobody else can commit from here on, so these two are exact.
                before = (data_version(&mut board.reader)?, data_version(writer)?);
                board.apply(writer, edits)
            })?;
            let Some(outcomes) = done else {
                return Ok(None);
            };
            let mut own_step = None;
            if let (Ok(seen), Ok(foreign)) = (data_version(&mut board.reader), data_version(writer))
            {
                // A writer's own commits do not move its own number. It is read last: if it stands
                // still, the reader's number moved by this commit alone.
                own_step = (foreign == before.1).then_some((before.0, seen));
            }
            Ok(Some(Committed { outcomes, own_step }))
        })
    }

    /// Size of the board's WAL in bytes.
    pub fn wal_bytes(&self) -> u64 {
        file::wal_size(&self.path)
    }

    /// Moves what it can from the WAL into the board, without making anybody wait (PASSIVE).
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.with_writer(|_, writer| {
            writer
                .batch_execute("PRAGMA wal_checkpoint(PASSIVE)")
                .map_err(|source| StoreError::CheckpointBoard { source })
        })
    }

    /// Runs a transaction of the `write` feature on the connection that changes rows.
    #[cfg(feature = "write")]
    pub(crate) fn write<T>(
        &mut self,
        patience: Duration,
        mut body: impl FnMut(&mut SqliteConnection, &Features) -> Result<T, immediate::Failed>,
    ) -> Result<T, StoreError> {
        self.with_writer(|board, writer| {
            let path = board.path.clone();
            immediate::patiently(&path, writer, patience, |writer| {
                board.refresh(writer)?;
                board.features.check_finished(&path).map_err(immediate::Failed::Refused)?;
                body(writer, &board.features)
            })
        })
    }

    fn apply(
        &mut self,
        writer: &mut SqliteConnection,
        edits: &[RowEdit],
    ) -> Result<Vec<EditOutcome>, immediate::Failed> {
        self.refresh(writer)?;
        edits.iter().map(|edit| self.edits.apply(writer, edit).map_err(Into::into)).collect()
    }

    /// Inside a transaction: looks whether the columns are still the same.
    fn refresh(&mut self, writer: &mut SqliteConnection) -> Result<(), immediate::Failed> {
        let news = features::changed(&self.path, self.schema, writer)
            .map_err(immediate::Failed::Refused)?;
        self.adopt(news);
        Ok(())
    }

    /// Goes on with the columns that somebody gave the file meanwhile.
    fn adopt(&mut self, news: Option<(i64, Features)>) {
        if let Some((schema, features)) = news {
            self.schema = schema;
            self.texts = Texts::new(&features);
            self.edits = EditTexts::new(&features);
            self.features = features;
        }
    }

    fn with_writer<T>(
        &mut self,
        run: impl FnOnce(&mut Self, &mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.check_file()?;
        if !self.is_writable() {
            return Err(StoreError::BoardReadOnly { path: self.path.clone() });
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => connection::open(&self.path, self.access, BUSY_BACKSTOP)?,
        };
        let result = run(self, &mut writer);
        self.writer = Some(writer);
        result
    }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board")
            .field("path", &self.path)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Whether SQLite found a lock in the way.
pub(crate) fn is_busy(error: &diesel::result::Error) -> bool {
    trouble(error) == Trouble::Busy
}

fn data_version(connection: &mut SqliteConnection) -> diesel::QueryResult<i64> {
    scalar(connection, "PRAGMA data_version", &[]).map(|cell| cell.as_int().unwrap_or_default())
}
