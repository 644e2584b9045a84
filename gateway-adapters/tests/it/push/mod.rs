//! What every push platform must do, by a table for each.

#[cfg(any(feature = "matrix", feature = "mattermost", feature = "ntfy", feature = "telegram"))]
mod contract;
mod documented;
#[cfg(feature = "matrix")]
mod matrix;
#[cfg(feature = "mattermost")]
mod mattermost;
#[cfg(feature = "ntfy")]
mod ntfy;
#[cfg(feature = "telegram")]
mod telegram;
