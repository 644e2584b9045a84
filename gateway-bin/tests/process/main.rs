//! The program in processes of its own: its commands; killed, stopped, two at a time.
#![cfg(test)]

mod commands;
mod configuration;
mod crashes;
mod documented;
mod errors;
mod hostile;
mod instances;
mod listen;
mod memory;
mod process;
mod shutdown;
mod status;
mod tasks;
mod telling;
mod watch;

#[expect(dead_code, reason = "shared with the whole-flow tests, which use all of it")]
mod support;
