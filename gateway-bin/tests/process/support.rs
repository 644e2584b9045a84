//! The world of the whole-flow tests, for tests that need the program.

#[path = "../../../tests/it/support/cards.rs"]
pub mod cards;
#[path = "../../../tests/it/support/dice.rs"]
pub mod dice;
#[path = "../../../tests/it/support/tally.rs"]
pub mod tally;
#[path = "../../../tests/it/support/wait.rs"]
pub mod wait;
#[path = "../../../tests/it/support/world.rs"]
pub mod world;
