#![doc = include_str!("../README.md")]

#[cfg(any(feature = "board", feature = "ledger"))]
mod binds;
#[cfg(feature = "board")]
pub mod board;
pub mod error;
mod failure;
#[cfg(feature = "ledger")]
mod fixed;
#[cfg(feature = "ledger")]
pub mod ledger;
#[cfg(feature = "notify-ports")]
pub mod ports;
#[cfg(feature = "board")]
mod statement;
#[cfg(any(feature = "board", feature = "ledger"))]
mod trouble;
#[cfg(feature = "write")]
pub mod write;

pub use error::StoreError;
