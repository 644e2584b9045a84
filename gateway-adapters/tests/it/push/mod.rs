//! What every push platform must do, by a table for each.

#[cfg(any(feature = "discord", feature = "ntfy", feature = "slack", feature = "telegram"))]
mod contract;
#[cfg(feature = "discord")]
mod discord;
mod documented;
#[cfg(feature = "ntfy")]
mod ntfy;
#[cfg(feature = "slack")]
mod slack;
#[cfg(feature = "telegram")]
mod telegram;
