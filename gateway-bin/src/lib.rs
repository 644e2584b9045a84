//! kanban-gateway as a library: what `main.rs` runs and the integration tests start.
//!
//! [`Gateway::build`] checks everything and opens the ledger, [`Gateway::start`] begins to deliver,
//! [`Running::stop`] drains. Nothing here reads the process environment or ends the process.

pub mod cli;
pub mod clock;
pub mod config;
pub mod gateway;
pub mod hermes;
pub mod ops;
mod platforms;
pub mod shutdown;
mod supervisor;
pub mod telemetry;
pub mod watch;
mod wiring;

pub use gateway::{Gateway, Options, Running, StartError};
