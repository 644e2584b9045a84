//! Boards as somebody else writes them: real files, read and changed beside a foreign connection.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise, and make broken files on purpose"
)]

mod bounds;
mod details;
mod discovery;
mod edits;
mod guard;
mod hostile;
#[cfg(feature = "write")]
mod look_alikes;
mod opening;
mod overview;
mod pass;
#[cfg(feature = "notify-ports")]
mod ports;
mod support;
mod sweep;
mod tail;
#[cfg(feature = "write")]
mod write;
