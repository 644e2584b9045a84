//! The ports of `kanban-notify` over boards and the ledger, and the seam between the two.

mod boards;
mod ledger;

use std::path::Path;

use kanban_notify::{
    error::PortError,
    ids::EventId,
    record::{BoardStart, EventPrint},
};

pub use boards::*;
pub use ledger::*;

/// Knows every board that was ever seen: the ledger, asked when a board's file is opened (law B6).
pub trait Registrar: Send + Sync {
    /// Says which board and incarnation the file behind `path` is, and where reading goes on.
    ///
    /// Called on the board's own thread, outside any transaction on the board; may block.
    /// `path` is canonical. `has_delivery_mode` of the answer is taken from the file's fingerprint.
    fn register(
        &self,
        path: &Path,
        slug: &str,
        file: &mut dyn Evidence,
    ) -> Result<BoardStart, PortError>;
}

/// A freshly opened file, asked for its identity (law B6).
///
/// It is asked after what is known of it was read: meanwhile another process may have read on, and what
/// that one saw must be in the answer.
pub trait Evidence {
    /// What it is like now.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    fn fingerprint(&mut self) -> Result<Fingerprint, PortError>;

    /// The print of one event; `None` when the event is not there.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    fn print_of(&mut self, id: EventId) -> Result<Option<EventPrint>, PortError>;
}

/// What a file tells of its identity at one moment (law B6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The oldest event that is still there.
    pub oldest: Option<EventPrint>,
    /// The highest event id ever given out (`sqlite_sequence`, else the newest id; 0 for none).
    pub sequence: i64,
    /// Whether the file has `delivery_mode` (law O2).
    pub has_delivery_mode: bool,
}
