//! What every push platform must do, by a table for each.

mod chats;
mod contract;
mod discord;
mod documented;
mod email;
mod gotify;
mod homeassistant;
mod matrix;
mod mattermost;
mod ntfy;
mod pushover;
mod signed_webhook;
mod slack;
mod telegram;
