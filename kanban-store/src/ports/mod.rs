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
    /// `path` is canonical. `has_delivery_mode` of the answer is taken from `fingerprint`.
    fn register(
        &self,
        path: &Path,
        slug: &str,
        fingerprint: Fingerprint<'_>,
    ) -> Result<BoardStart, PortError>;
}

/// What a freshly opened file tells of its identity (law B6).
pub struct Fingerprint<'a> {
    /// The oldest event that is still there.
    pub oldest: Option<EventPrint>,
    /// The highest event id ever given out (`sqlite_sequence`, else the newest id; 0 for none).
    pub sequence: i64,
    /// Whether the file has `delivery_mode` (law O2).
    pub has_delivery_mode: bool,
    /// Reads the print of one event; `None` when the event is not there.
    pub print_of: &'a mut dyn FnMut(EventId) -> Result<Option<EventPrint>, PortError>,
}
