//! What the tests stand on.

pub mod cards;
pub mod certificates;
pub mod counterpart;
pub mod dice;
pub mod front;
pub mod hermes;
pub mod push;
pub mod tally;
pub mod wait;
pub mod world;
