//! The program in processes of its own: killed, stopped, two at a time.
#![cfg(test)]

mod crashes;
mod instances;
mod process;
mod shutdown;

#[expect(dead_code, reason = "shared with the whole-flow tests, which use all of it")]
mod support;
