//! The single steps that a delivery is made of, each by itself, with Criterion: `cargo xtask bench micro`.
//!
//! docs/PERFORMANCE.md says what each stands for in the whole.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong ends the measurement, at the line where it went wrong"
)]

mod board;
mod engine;
#[path = "../bench/fill.rs"]
mod fill;
mod ledger;
mod texts;
#[path = "../bench/told.rs"]
mod told;

use criterion::{criterion_group, criterion_main};

criterion_group!(all, board::benches, ledger::benches, engine::benches, texts::benches);
criterion_main!(all);
