//! Push platforms: the list of them, and what they share.
//!
//! A platform is one module and one feature. Configuration, the names in `.env`, wiring and the table in
//! docs/PLATFORMS.md follow from its entry in [`PLATFORMS`].

pub mod attach;
pub mod call;
#[cfg(feature = "dingtalk")]
mod dingtalk;
#[cfg(feature = "discord")]
mod discord;
#[cfg(feature = "email")]
mod email;
pub mod escape;
#[cfg(feature = "feishu")]
mod feishu;
#[cfg(feature = "google_chat")]
mod google_chat;
#[cfg(feature = "gotify")]
mod gotify;
#[cfg(feature = "homeassistant")]
mod homeassistant;
pub mod hooked;
pub mod hooks;
#[cfg(feature = "matrix")]
mod matrix;
#[cfg(feature = "mattermost")]
mod mattermost;
pub mod multipart;
#[cfg(feature = "ntfy")]
mod ntfy;
pub mod pace;
pub mod pin;
pub mod post;
#[cfg(feature = "pushover")]
mod pushover;
mod settings;
#[cfg(any(feature = "dingtalk", feature = "feishu", feature = "signed_webhook"))]
mod sign;
#[cfg(feature = "signed_webhook")]
mod signed_webhook;
#[cfg(feature = "slack")]
mod slack;
pub mod split;
#[cfg(feature = "teams")]
mod teams;
#[cfg(feature = "telegram")]
mod telegram;
#[cfg(feature = "wecom")]
mod wecom;
#[cfg(feature = "zulip")]
mod zulip;

use std::sync::Arc;

use kanban_notify::{ids::ChannelName, ports::Channel};

pub use settings::{DEDUPLICATES, Field, FieldKind, MAX_LENGTH, Settings, max_length, secret, url};

use crate::{AdapterError, http::HttpClient};

/// One platform as the rest of the program sees it.
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    /// Its name in subscriptions, in the configuration and as a channel.
    pub name: &'static str,
    /// What can be set for it.
    pub fields: &'static [Field],
    /// It is wanted when one of these fields is set.
    pub wanted_by: &'static [&'static str],
    /// Whether it usually needs all of these fields, and not just one.
    pub needs_all: bool,
    /// Whether its receiver drops a second message with the same key (law D7).
    pub deduplicates: bool,
    /// What is promised of a message there, for docs/PLATFORMS.md.
    pub guarantee: &'static str,
    /// Judges a chat by its form alone; [`any_chat`] where every name will do.
    pub check_chat: CheckChat,
    /// Makes its channel.
    pub make: Make,
}

/// How a platform's channel is made.
pub type Make = fn(HttpClient, &Settings) -> Result<Arc<dyn Channel>, AdapterError>;

/// Says what a chat must look like where no message can ever reach this one with these settings.
pub type CheckChat = fn(&Settings, chat: &str) -> Result<(), &'static str>;

/// Takes any chat that is not empty.
///
/// # Errors
///
/// What a chat must look like, where this is none.
pub fn any_chat(_: &Settings, chat: &str) -> Result<(), &'static str> {
    if chat.trim().is_empty() { Err("the chat is empty") } else { Ok(()) }
}

impl Platform {
    /// The name of its channel.
    pub fn channel(&self) -> ChannelName {
        ChannelName(self.name.to_owned())
    }

    /// Its channel with these settings.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Setting`] with the field at fault.
    pub fn build(
        &self,
        client: HttpClient,
        settings: &Settings,
    ) -> Result<Arc<dyn Channel>, AdapterError> {
        let is_secret = |field: &&Field| field.kind.is_secret();
        let secret = self.fields.iter().find(is_secret).map_or("token", |field| field.name);
        (self.make)(client, settings).map_err(|error| {
            // A module that says nothing more means its one address, or its one secret.
            let field = if matches!(error, AdapterError::Address { .. }) { "url" } else { secret };
            error.of_field(field)
        })
    }

    /// Whether these settings ask for it.
    pub fn is_wanted(&self, settings: &Settings) -> bool {
        self.wanted_by.iter().any(|field| settings.text(field).is_some())
    }

    /// The keys that ask for it, in words.
    pub fn wanted_keys(&self) -> String {
        let keys: Vec<String> =
            self.wanted_by.iter().map(|key| format!("`{}.{key}`", self.name)).collect();
        keys.join(if self.needs_all { " and " } else { " or " })
    }

    /// Whether the receivers of these settings drop a second message with the same key (law D7).
    pub fn deduplicates(&self, settings: &Settings) -> bool {
        self.deduplicates || settings.is_on(DEDUPLICATES)
    }
}

/// Every platform that this build has, by name.
pub const PLATFORMS: &[Platform] = &[
    #[cfg(feature = "dingtalk")]
    dingtalk::PLATFORM,
    #[cfg(feature = "discord")]
    discord::PLATFORM,
    #[cfg(feature = "discord")]
    discord::WEBHOOK,
    #[cfg(feature = "email")]
    email::PLATFORM,
    #[cfg(feature = "feishu")]
    feishu::PLATFORM,
    #[cfg(feature = "google_chat")]
    google_chat::PLATFORM,
    #[cfg(feature = "gotify")]
    gotify::PLATFORM,
    #[cfg(feature = "homeassistant")]
    homeassistant::PLATFORM,
    #[cfg(feature = "homeassistant")]
    homeassistant::NOTIFY,
    #[cfg(feature = "matrix")]
    matrix::PLATFORM,
    #[cfg(feature = "mattermost")]
    mattermost::PLATFORM,
    #[cfg(feature = "ntfy")]
    ntfy::PLATFORM,
    #[cfg(feature = "pushover")]
    pushover::PLATFORM,
    #[cfg(feature = "signed_webhook")]
    signed_webhook::PLATFORM,
    #[cfg(feature = "slack")]
    slack::PLATFORM,
    #[cfg(feature = "slack")]
    slack::WEBHOOK,
    #[cfg(feature = "teams")]
    teams::PLATFORM,
    #[cfg(feature = "telegram")]
    telegram::PLATFORM,
    #[cfg(feature = "wecom")]
    wecom::PLATFORM,
    #[cfg(feature = "zulip")]
    zulip::PLATFORM,
];

/// The platform called `name`.
pub fn platform(name: &str) -> Option<&'static Platform> {
    PLATFORMS.iter().find(|platform| platform.name == name)
}

/// The guarantee of a platform that remembers nothing.
pub const AT_LEAST_ONCE: &str = "at least once; a repeat, if there is one, says so";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order_and_fields_are_known() {
        let names: Vec<&str> = PLATFORMS.iter().map(|platform| platform.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for platform in PLATFORMS {
            assert!(!platform.wanted_by.is_empty(), "{}", platform.name);
            for wanted in platform.wanted_by {
                assert!(platform.fields.iter().any(|field| field.name == *wanted), "{wanted}");
            }
        }
    }
}
