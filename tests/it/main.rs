//! Whole flows over the real gateway.
#![cfg(test)]

mod all_channels;
mod artifacts;
mod behaviours;
mod boards;
mod counterparts;
mod discord;
mod endings;
mod faults;
mod gathering;
mod group_webhooks;
mod interop;
mod live;
mod matrix;
mod mattermost;
mod neighbours;
mod ntfy;
mod ownership;
mod pings;
mod platform_reports;
mod proxies;
mod push_platforms;
mod signed_webhook;
mod slack;
mod support;
mod telegram;
mod templates;
mod unknown;
mod verdicts;
