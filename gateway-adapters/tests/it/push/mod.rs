//! What every push platform must do, by a table for each.

#[cfg(any(
    feature = "discord",
    feature = "matrix",
    feature = "mattermost",
    feature = "ntfy",
    feature = "signed_webhook",
    feature = "slack",
    feature = "telegram"
))]
mod contract;
#[cfg(feature = "discord")]
mod discord;
mod documented;
#[cfg(feature = "email")]
mod email;
#[cfg(any(
    feature = "discord",
    feature = "email",
    feature = "matrix",
    feature = "mattermost",
    feature = "ntfy",
    feature = "slack",
    feature = "telegram"
))]
mod files;
#[cfg(feature = "matrix")]
mod matrix;
#[cfg(feature = "mattermost")]
mod mattermost;
#[cfg(feature = "ntfy")]
mod ntfy;
#[cfg(feature = "signed_webhook")]
mod signed_webhook;
#[cfg(feature = "slack")]
mod slack;
#[cfg(feature = "telegram")]
mod telegram;
