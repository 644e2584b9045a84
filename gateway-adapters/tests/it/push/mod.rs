//! What every push platform must do, by a table for each.

mod chats;
mod contract;
mod dingtalk;
mod discord;
mod documented;
mod email;
mod feishu;
mod files;
mod google_chat;
mod gotify;
mod homeassistant;
mod hooks;
mod matrix;
mod mattermost;
mod ntfy;
mod own_way;
mod pushover;
mod signed_webhook;
mod slack;
mod teams;
mod telegram;
mod wecom;
mod zulip;
