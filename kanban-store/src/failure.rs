//! Kinds of failures: what an error means for whoever asked.

use crate::error::StoreError;

/// What a new ledger in the place of one that is lost costs.
pub(crate) const ANEW: &str = "that repeats nothing that is settled, but what was under way or of unknown \
    outcome may be told again, and the dead letters and the history of outcomes are lost";

/// What to do about a ledger, or a file beside it, that cannot be had.
pub(crate) const ELSEWHERE: &str =
    "let this user read and write there, or set `ledger` to another place";

#[cfg(feature = "board")]
impl StoreError {
    /// Whether the operation is impossible as things stand on the board, and may be possible later.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::WrongStatus { .. }
                | Self::ParentsOpen { .. }
                | Self::Claimed { .. }
                | Self::BoardTooOld { .. }
                | Self::BoardExists { .. }
                | Self::UnknownParents { .. }
                | Self::ClaimLost { .. }
                | Self::RunOver { .. }
                | Self::Cycle { .. }
                | Self::NotLinked { .. }
                | Self::PhantomCards { .. }
                | Self::NoReview { .. }
        )
    }

    /// Whether the board itself cannot be had.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::NotADatabase { .. }
                | Self::LookAlike { .. }
                | Self::BoardEmpty { .. }
                | Self::OpenBoard { .. }
                | Self::ReadBoard { .. }
                | Self::ChangeBoard { .. }
                | Self::BoardReadOnly { .. }
        ) || self.is_busy()
    }

    /// Whether a lock of somebody else was in the way: the same again may work.
    pub fn is_busy(&self) -> bool {
        use crate::board::is_busy;

        match self {
            Self::BoardBusy { .. } => true,
            Self::ReadBoard { source }
            | Self::ChangeBoard { source }
            | Self::CheckpointBoard { source }
            | Self::PrepareBoard { source, .. } => is_busy(source),
            _ => false,
        }
    }
}

#[cfg(feature = "ledger")]
impl StoreError {
    /// The same, with the ledger's path and what to do where SQLite's words say what is wrong with it.
    pub(crate) fn of_ledger(self, path: &std::path::Path) -> Self {
        use crate::trouble::Trouble;

        // Said already, by whoever was nearer to it.
        if matches!(
            self,
            Self::LedgerDamaged { .. } | Self::LedgerReadOnly { .. } | Self::LedgerFull { .. }
        ) {
            return self;
        }
        let mut cause: Option<&dyn std::error::Error> = Some(&self);
        let mut found = Trouble::Other;
        while let Some(error) = cause {
            if found == Trouble::Other {
                found = Trouble::of(&error.to_string());
            }
            cause = error.source();
        }
        let (path, source) = (path.to_owned(), Box::new(self));
        match found {
            Trouble::Unreadable => Self::LedgerDamaged { path, source },
            Trouble::ReadOnly => Self::LedgerReadOnly { path, source },
            Trouble::Full => Self::LedgerFull { path, source },
            Trouble::Busy | Trouble::Other => *source,
        }
    }
}
