//! Whole flows over the real gateway.
#![cfg(test)]

mod interop;
mod support;
