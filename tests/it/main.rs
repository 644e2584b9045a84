//! Whole flows over the real gateway.
#![cfg(test)]

mod behaviours;
mod boards;
mod endings;
mod faults;
mod gathering;
mod interop;
mod neighbours;
mod ownership;
mod pings;
mod support;
mod unknown;
mod verdicts;
