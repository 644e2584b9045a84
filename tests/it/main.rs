//! Whole flows over the real gateway.
#![cfg(test)]

mod behaviours;
mod interop;
mod support;
