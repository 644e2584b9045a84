//! Faults: every way a request can end, at the adapter and through a whole gateway.

mod adapter;
mod case;
mod cases;
mod certificate;
pub mod child;
mod gateway;
mod list;
mod operator;
mod read_only;
mod registry;
mod reports;
mod state;
mod station;
