//! The engine against a model of the world, and the driver against mocked ports.

mod driver;
mod model;
mod simulation;
