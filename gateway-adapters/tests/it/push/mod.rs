//! What every push platform must do, by a table for each.

mod contract;
mod discord;
mod documented;
mod email;
mod files;
mod gotify;
mod homeassistant;
mod matrix;
mod mattermost;
mod ntfy;
mod pushover;
mod signed_webhook;
mod slack;
mod telegram;
