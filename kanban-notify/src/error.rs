//! The errors of the domain, and the one error that every port answers with.

use crate::leg::{LegState, LegStep};

/// What the domain itself can refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// A leg was asked to make a move that it must not make.
    #[error("a leg that is {from:?} cannot {step:?}")]
    IllegalStep {
        /// Where it was.
        from: LegState,
        /// What was asked.
        step: LegStep,
    },
}

/// Why a port could not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed")]
pub struct PortError {
    /// What was tried, in words that fit "… failed".
    pub operation: &'static str,
    /// Whether trying again later can help.
    pub kind: PortErrorKind,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// How a caller should take a [`PortError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortErrorKind {
    /// Locked, full, read-only, missing: may pass by itself.
    Weather,
    /// The thing is not what it must be (look-alike, corrupted, newer version).
    Unusable,
    /// The other side of the port has ended.
    Closed,
}
