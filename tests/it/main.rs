//! Whole flows over the real gateway.
#![cfg(test)]

mod behaviours;
mod boards;
mod counterparts;
mod endings;
mod faults;
mod gathering;
mod interop;
mod neighbours;
mod ntfy;
mod ownership;
mod pings;
mod signed_webhook;
mod support;
mod telegram;
mod unknown;
mod verdicts;
