//! What every push platform must do, by a table for each.

#[cfg(any(feature = "ntfy", feature = "signed_webhook", feature = "telegram"))]
mod contract;
mod documented;
#[cfg(feature = "email")]
mod email;
#[cfg(feature = "ntfy")]
mod ntfy;
#[cfg(feature = "signed_webhook")]
mod signed_webhook;
#[cfg(feature = "telegram")]
mod telegram;
