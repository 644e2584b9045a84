//! Channels of push platforms: what the configuration sets goes before what Hermes' `.env` holds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_adapters::{
    http::{HttpClient, Proxies},
    push::{PLATFORMS, Platform, Settings},
};
use kanban_notify::{policy::Ability, ports::Channel};

use super::no_channel;
use crate::{
    config::{Env, PushSettings},
    gateway::StartError,
    hermes::Hermes,
};

/// A platform with what it can do and its channel.
pub(super) type Made = (&'static Platform, Ability, Arc<dyn Channel>);

/// Makes the channels, and keeps each as long as its settings are the same: it knows which chats rest.
pub(super) struct PushMaker {
    client: HttpClient,
    env: Env,
    kept: Mutex<BTreeMap<&'static str, Kept>>,
}

struct Kept {
    settings: Settings,
    /// `None` where none could be made, which was told.
    channel: Option<Arc<dyn Channel>>,
}

impl PushMaker {
    /// Platforms are called by clients like this one, through the proxies of the environment.
    pub(super) fn new(client: HttpClient, env: Env) -> Self {
        Self { client, env, kept: Mutex::default() }
    }

    /// A client with connections of its own; where nobody needs one, no proxy is looked for.
    fn client(&self) -> Result<HttpClient, StartError> {
        let proxies = Proxies::new(|name| self.env.get(name)).map_err(no_channel)?;
        Ok(self.client.through(proxies))
    }

    /// The channels that are configured, or that Hermes' root profile has credentials for.
    ///
    /// What we were told to use must work; what was only found is told and left out.
    pub(super) fn make(
        &self,
        configured: &PushSettings,
        hermes: &Hermes,
    ) -> Result<Vec<Made>, StartError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut made = Vec::new();
        for platform in PLATFORMS {
            let found = hermes.push(platform.name).cloned().unwrap_or_default();
            let own = configured.get(platform.name);
            let settings = own.map_or_else(|| found.clone(), |own| own.over(&found));
            if !platform.is_wanted(&settings) {
                kept.remove(platform.name);
                continue;
            }
            let known = kept.get(platform.name).filter(|kept| kept.settings == settings);
            let channel = match known {
                Some(known) => known.channel.clone(),
                None => match (platform.make)(self.client()?, &settings) {
                    Ok(channel) => Some(channel),
                    Err(error) if own.is_some() => return Err(no_channel(error)),
                    Err(error) => {
                        let error = error.to_string();
                        tracing::warn!(
                            platform = platform.name,
                            error,
                            "what Hermes has for a platform cannot be used; it is not served"
                        );
                        None
                    }
                },
            };
            let deduplicates = platform.deduplicates(&settings);
            let ability = Ability { deduplicates, readable: false };
            made.extend(channel.clone().map(|channel| (platform, ability, channel)));
            kept.insert(platform.name, Kept { settings, channel });
        }
        Ok(made)
    }
}
