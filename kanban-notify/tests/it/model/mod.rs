//! A small world that keeps the contracts of the ports exactly: a board, a ledger, a receiver.

pub mod board;
pub mod ledger;
pub mod receiver;
