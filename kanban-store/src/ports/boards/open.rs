//! Opening a board for its thread: the file, its identity, its weather (laws B6, B7).

use std::path::Path;

use kanban_notify::{
    error::{PortError, PortErrorKind},
    ids::EventId,
    record::{BoardStart, EventPrint},
};

use super::{convert::port_error, shared::Shared};
use crate::{
    board::{Board, FileId},
    error::StoreError,
    ports::{Evidence, Fingerprint},
};

/// What opening came to.
pub(super) enum Opened {
    /// The board can be served.
    Ready(Box<Board>, BoardStart),
    /// It was identified, and cannot be written.
    ReadOnly(BoardStart),
}

/// Opens the file behind `path` and has it identified.
pub(super) fn open(shared: &Shared, path: &Path, slug: &str) -> Result<Opened, PortError> {
    let mut board = open_claimed(shared, path)?;
    let start = identify(shared, &mut board, slug)?;
    shared
        .claim_id(path, start.id)
        .map_err(|other| taken("is in the ledger as the board at", &other))?;
    Ok(if board.is_writable() {
        Opened::Ready(Box::new(board), start)
    } else {
        Opened::ReadOnly(start)
    })
}

/// Opens the file once it is known that nobody else in this process has it open.
fn open_claimed(shared: &Shared, path: &Path) -> Result<Board, PortError> {
    let failed = |error| port_error("opening the board", error);
    // A file that is exchanged just now is opened again, without a word about it.
    for _ in 0..3 {
        let missing = || failed(StoreError::BoardMissing { path: path.into() });
        let file = FileId::of(path).ok_or_else(missing)?;
        // Before SQLite sees it: under a second name the same file would get a second WAL.
        shared.claim_file(path, file).map_err(|other| taken("is the same file as", &other))?;
        let board = Board::open(path).map_err(failed)?;
        if board.file() == file {
            return Ok(board);
        }
    }
    Err(failed(StoreError::FileReplaced { path: path.into() }))
}

fn identify(shared: &Shared, board: &mut Board, slug: &str) -> Result<BoardStart, PortError> {
    let path = board.path().to_path_buf();
    shared.registrar.register(&path, slug, board)
}

impl Evidence for Board {
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError> {
        let oldest = self.oldest_event().map_err(unidentified)?;
        Ok(Fingerprint {
            oldest: oldest.map(|(id, hash)| EventPrint { id: EventId(id), hash }),
            sequence: self.sequence().map_err(unidentified)?,
            has_delivery_mode: self.features().delivery_mode,
        })
    }

    fn print_of(&mut self, id: EventId) -> Result<Option<EventPrint>, PortError> {
        let found = self.event_print(id.0).map_err(unidentified)?;
        Ok(found.map(|hash| EventPrint { id, hash }))
    }
}

fn unidentified(error: StoreError) -> PortError {
    port_error("identifying the board", error)
}

fn taken(how: &str, other: &Path) -> PortError {
    PortError {
        operation: "opening the board",
        kind: PortErrorKind::Unusable,
        source: format!("it {how} {}", other.display()).into(),
    }
}
