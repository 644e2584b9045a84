//! Whole flows over the real gateway.
#![cfg(test)]

mod behaviours;
mod boards;
mod endings;
mod interop;
mod ownership;
mod support;
