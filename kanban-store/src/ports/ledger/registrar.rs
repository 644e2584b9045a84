//! Which board a freshly opened file is (law B6).

use std::path::Path;

use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::{BoardId, EventId, Incarnation},
    record::BoardStart,
};

use super::{LedgerPort, convert};
use crate::{
    error::StoreError,
    ledger::{
        boards::{self, Marks, Sighting},
        during, now,
        rows::BoardRow,
    },
    ports::{Evidence, Fingerprint, Registrar},
};

/// Looks at a board again when another process registers the same file at the same time.
const TRIES: u32 = 8;

impl Registrar for LedgerPort {
    fn register(
        &self,
        path: &Path,
        slug: &str,
        file: &mut dyn Evidence,
    ) -> Result<BoardStart, PortError> {
        let Some(path) = path.to_str() else {
            return Err(refused(StoreError::LedgerRefused {
                path: path.to_owned(),
                reason: "the path of a board has to be UTF-8".to_owned(),
            }));
        };
        for _ in 0..TRIES {
            let known = self.ask("reading the boards", false, |desk| {
                boards::all(desk.conn).map_err(during("reading the boards"))
            })?;
            // Now, and not before: else what another process has read since looks like a loss.
            let Fingerprint { oldest, sequence, has_delivery_mode } = file.fingerprint()?;
            let marks = Marks { oldest: oldest.map(|print| (print.id.0, print.hash)), sequence };
            let sighting = recognise(&known, path, &marks, file)?;
            let (place, name) = (path.to_owned(), slug.to_owned());
            let row = self.ask("registering a board", true, move |desk| {
                boards::record(desk.conn, &place, &name, &marks, &sighting, now())
                    .map_err(during("registering a board"))
            })?;
            if let Some(row) = row {
                return Ok(BoardStart {
                    id: BoardId(row.id),
                    slug: row.slug.clone(),
                    incarnation: Incarnation(row.incarnation),
                    position: convert::position(row.position()),
                    has_delivery_mode,
                });
            }
        }
        Err(PortError {
            operation: "registering a board",
            kind: PortErrorKind::Weather,
            source: "other processes register it all the time".into(),
        })
    }
}

fn recognise(
    known: &[BoardRow],
    path: &str,
    marks: &Marks,
    file: &mut dyn Evidence,
) -> Result<Sighting, PortError> {
    if let Some(row) = known.iter().find(|row| row.path == path) {
        let (id, incarnation) = (row.id, row.incarnation);
        let same = row.admits(marks) && last_read(row, file)? != Some(false);
        return Ok(if same {
            Sighting::Same { id, incarnation }
        } else {
            tracing::warn!(
                board.id = id,
                board.incarnation = incarnation,
                "another file has taken the board's place: it is read from its beginning"
            );
            Sighting::Replaced { id, incarnation }
        });
    }
    // A file that was moved; a copy beside the original is another board.
    for row in known {
        if !row.admits(marks) || Path::new(&row.path).exists() {
            continue;
        }
        let read = last_read(row, file)?;
        if read == Some(true) || (read.is_none() && row.is_marked_by(marks)) {
            tracing::info!(board.id = row.id, "the board has moved");
            return Ok(Sighting::Same { id: row.id, incarnation: row.incarnation });
        }
    }
    Ok(Sighting::New)
}

/// Whether the event that was read last is still the same one. `None` when it is not there: that proves
/// nothing, because events go with their tasks.
fn last_read(row: &BoardRow, file: &mut dyn Evidence) -> Result<Option<bool>, PortError> {
    let Some(before) = &row.position_hash else {
        return Ok(None);
    };
    let now = file.print_of(EventId(row.position_event))?;
    Ok(now.map(|print| print.hash == *before))
}

fn refused(error: StoreError) -> PortError {
    PortError {
        operation: "registering a board",
        kind: PortErrorKind::Unusable,
        source: Box::new(error),
    }
}
