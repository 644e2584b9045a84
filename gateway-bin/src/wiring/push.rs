//! Channels of push platforms: what the configuration sets goes before what Hermes' `.env` holds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use gateway_adapters::{
    AdapterError,
    http::{HttpClient, Proxies},
    push::{PLATFORMS, Platform, Settings},
};
use kanban_notify::{policy::Ability, ports::Channel};

use crate::{
    config::{Env, Problem, PushSettings},
    hermes::Hermes,
};

/// A platform with what it can do and its channel.
pub(super) type Made = (&'static Platform, Ability, Arc<dyn Channel>);

/// A platform that something is set for and that cannot be served with it.
#[derive(Clone, Debug)]
pub(crate) struct Unusable {
    /// Its name.
    pub(crate) platform: &'static str,
    /// What is wrong, and where to mend it.
    pub(crate) problem: Problem,
    /// Whether we were told to serve it, so that `run` does not start without it.
    pub(crate) is_wanted: bool,
}

/// Makes the channels, and keeps each as long as its settings are the same: it knows which chats rest.
pub(super) struct PushMaker {
    client: HttpClient,
    env: Env,
    kept: Mutex<BTreeMap<&'static str, Kept>>,
}

struct Kept {
    settings: Settings,
    channel: Result<Arc<dyn Channel>, Unusable>,
}

impl PushMaker {
    /// Platforms are called by clients like this one, through the proxies of the environment.
    pub(super) fn new(client: HttpClient, env: Env) -> Self {
        Self { client, env, kept: Mutex::default() }
    }

    /// A client with connections of its own; where nobody needs one, no proxy is looked for.
    fn client(&self) -> Result<HttpClient, AdapterError> {
        let proxies = Proxies::new(|name| self.env.get(name))?;
        Ok(self.client.through(proxies))
    }

    /// The channels that are configured, or that Hermes' root profile has credentials for, and what
    /// cannot be used.
    pub(super) fn make(
        &self,
        configured: &PushSettings,
        hermes: &Hermes,
    ) -> (Vec<Made>, Vec<Unusable>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut made, mut unusable) = (Vec::new(), Vec::new());
        for platform in PLATFORMS {
            let own = configured.get(platform.name);
            let settings = settings(platform, configured, hermes);
            if !platform.is_wanted(&settings) {
                kept.remove(platform.name);
                unusable.extend(own.map(|own| unwanted(platform, own)));
                continue;
            }
            let known = kept.get(platform.name).filter(|kept| kept.settings == settings);
            let channel = match known {
                Some(known) => known.channel.clone(),
                None => self.client().and_then(|client| platform.build(client, &settings)).map_err(
                    |error| Unusable {
                        platform: platform.name,
                        problem: problem(platform, &settings, &error),
                        // Without its proxy nothing is to leave this machine.
                        is_wanted: own.is_some() || matches!(error, AdapterError::Proxy { .. }),
                    },
                ),
            };
            let deduplicates = platform.deduplicates(&settings);
            let ability = Ability { deduplicates, readable: false };
            match &channel {
                Ok(channel) => made.push((platform, ability, Arc::clone(channel))),
                Err(error) => unusable.push(error.clone()),
            }
            kept.insert(platform.name, Kept { settings, channel });
        }
        (made, unusable)
    }
}

/// What is set for a platform, by us or else in Hermes' files.
pub(super) fn settings(
    platform: &Platform,
    configured: &PushSettings,
    hermes: &Hermes,
) -> Settings {
    let found = hermes.push(platform.name).cloned().unwrap_or_default();
    configured.get(platform.name).map_or_else(|| found.clone(), |own| own.over(&found))
}

/// Something is set, and none of what would ask for the platform.
fn unwanted(platform: &'static Platform, settings: &Settings) -> Unusable {
    let are = if platform.needs_all { "are" } else { "is" };
    let message = format!(
        "what is set for `{}` has no effect: it is not served until {} {are} set",
        platform.name,
        platform.wanted_keys()
    );
    let place = settings.place("").unwrap_or(platform.name).to_owned();
    Unusable { platform: platform.name, problem: Problem { place, message }, is_wanted: false }
}

fn problem(platform: &Platform, settings: &Settings, error: &AdapterError) -> Problem {
    let field = match error {
        AdapterError::Setting { field, .. } => field.as_str(),
        _ => "",
    };
    let mut message = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        message.push_str(&format!(": {source}"));
    }
    if let AdapterError::Proxy { variable, .. } = error {
        return Problem { place: (*variable).to_string(), message };
    }
    // A value that nobody set is named where the rest of its platform stands.
    let place = settings.place(field).unwrap_or(platform.name).to_owned();
    Problem { place, message }
}
