//! SQLite's failures as far as they are treated differently, told apart by its words.

/// A kind of failure. Diesel hands on the text only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A lock is held by somebody else: redo the whole transaction.
    Busy,
    /// Writing is not possible here.
    ReadOnly,
    /// No room for what is to be written.
    Full,
    /// Not a database, or damaged.
    Unreadable,
    /// Anything else.
    Other,
}

impl Trouble {
    /// Which kind SQLite speaks of.
    pub(crate) fn of(text: &str) -> Self {
        let is = |fixed: &[&str]| fixed.iter().any(|words| text.starts_with(words));
        if is(&["database is locked", "database table is locked", "locking protocol"]) {
            Self::Busy
        } else if is(&["attempt to write a readonly database"]) {
            Self::ReadOnly
        } else if is(&["database or disk is full"]) {
            Self::Full
        } else if is(&[
            "file is not a database",
            "database disk image is malformed",
            "malformed database schema",
            "unsupported file format",
        ]) {
            Self::Unreadable
        } else {
            Self::Other
        }
    }
}
