//! Reading from one snapshot, as short as it can be (law B3).

use std::{
    thread,
    time::{Duration, Instant},
};

use diesel::connection::SimpleConnection;

use super::{
    Board, PollPace,
    connection::{BUSY_BACKSTOP, Trouble, read_error, trouble},
    features::changed,
    immediate,
};
use crate::error::StoreError;

/// How long a read waits for a moment in which nobody writes, before it goes on beside a writer.
const PATIENCE: Duration = Duration::from_millis(20);

impl Board {
    /// Runs `read` in one transaction that is over afterwards, whatever happened.
    ///
    /// `undisturbed`: nobody commits meanwhile, if such a moment is found soon. Hermes 0.15 to 0.19
    /// compares the length of the file with the page count in its header after each commit. A
    /// checkpoint that a reader of an older snapshot holds up copies the header before the last pages,
    /// and then the writer's caller is told of a damage that there is not. Who reads while nobody
    /// commits never has an older snapshot.
    pub(crate) fn snapshot<T>(
        &mut self,
        undisturbed: bool,
        read: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin(undisturbed).map_err(|source| read_error(&self.path, source))?;
        let result = changed(&self.path, self.schema, &mut self.reader).and_then(|news| {
            self.adopt(news);
            read(self)
        });
        // It only read: nothing is lost by rolling back, and this cannot fail halfway.
        let ended = self.reader.batch_execute("ROLLBACK");
        let answer = result?;
        ended.map_err(|source| read_error(&self.path, source))?;
        Ok(answer)
    }

    fn begin(&mut self, undisturbed: bool) -> diesel::QueryResult<()> {
        if !undisturbed || !self.is_writable() || self.pace != PollPace::Normal {
            return self.reader.batch_execute("BEGIN DEFERRED");
        }
        self.reader.batch_execute("PRAGMA busy_timeout = 0")?;
        let locked = self.lock();
        let backstop = BUSY_BACKSTOP.as_millis();
        self.reader.batch_execute(&format!("PRAGMA busy_timeout = {backstop}"))?;
        if locked { Ok(()) } else { self.reader.batch_execute("BEGIN DEFERRED") }
    }

    /// Begins with the writers' lock; false when it was not to be had, and nothing is begun.
    fn lock(&mut self) -> bool {
        let start = Instant::now();
        loop {
            match self.reader.batch_execute("BEGIN IMMEDIATE") {
                Ok(()) => return true,
                Err(error) if trouble(&error) != Trouble::Busy => return false,
                Err(_) if start.elapsed() >= PATIENCE => return false,
                Err(_) => thread::sleep(immediate::step(start.elapsed())),
            }
        }
    }
}
