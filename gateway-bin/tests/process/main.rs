//! The program in processes of its own: its commands; killed, stopped, two at a time.
#![cfg(test)]

mod behind;
mod board_weather;
mod campaign;
mod commands;
mod configuration;
mod crashes;
mod doctor;
mod documented;
mod errors;
mod hostile;
mod instances;
mod ledger_weather;
mod listen;
mod memory;
mod parts;
mod process;
mod reports;
mod shutdown;
mod small_disk;
mod status;
mod synapse;
mod tasks;
mod telling;
mod test_send;
mod watch;

#[expect(dead_code, reason = "shared with the whole-flow tests, which use all of it")]
mod support;
