//! The engine against a model of the world, and the driver against mocked ports.

#[cfg(test)]
mod driver;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod model;
#[cfg(test)]
mod outage;
mod pings;
#[cfg(test)]
mod simulation;
