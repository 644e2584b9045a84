//! What every push platform must do, by a table for each.

#[cfg(feature = "telegram")]
mod contract;
#[cfg(feature = "telegram")]
mod telegram;
