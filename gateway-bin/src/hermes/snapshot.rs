//! Hermes as it is at one moment, and what that means for us: the domain's world, and words for people.

use std::collections::{BTreeMap, BTreeSet};

use kanban_notify::{
    ids::ChannelName,
    policy::{Ability, Adopt, Policy, World},
    time::Timestamp,
};

use super::{
    home::{DEFAULT_PROFILE, HermesHome},
    live::{Generation, Live, Notifier},
    profile::Profile,
    server::{API_SERVER, ApiServer, Server, default_model},
};
use crate::{config::ApiServerConfig, platforms::Settings};

/// Hermes at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Hermes {
    /// Its folders.
    pub home: HermesHome,
    /// Its profiles, the root's first.
    pub profiles: Vec<Profile>,
    /// Its gateways that are alive.
    pub lives: Vec<Live>,
    /// Whether somebody holds the dispatcher's lock; `None` where that cannot be seen.
    pub dispatcher: Option<bool>,
}

impl Hermes {
    /// Every API server that can be posted to, at most one for each profile: those the operator names,
    /// then those of the profiles, then the root's for profiles that it multiplexes (law O6).
    pub fn api_servers(&self, named: &[ApiServerConfig]) -> Vec<ApiServer> {
        let mut servers: BTreeMap<String, ApiServer> = BTreeMap::new();
        for server in named {
            let model = server.model.clone();
            servers.insert(
                server.profile.clone(),
                ApiServer {
                    profile: server.profile.clone(),
                    url: server.url.clone(),
                    key: server.key.clone(),
                    key_from: format!(
                        "`api_server` for profile {}, from {}; restart `run` after changing it",
                        server.profile, server.key_from
                    ),
                    model: model.unwrap_or_else(|| default_model(&server.profile)),
                },
            );
        }
        for profile in &self.profiles {
            if let Server::Ready(server) = &profile.server {
                servers.entry(profile.name.clone()).or_insert_with(|| server.clone());
            }
        }
        let host = self.profiles.iter().find(|profile| profile.multiplex);
        if let Some(Server::Ready(server)) = host.map(|profile| &profile.server) {
            for Profile { name, .. } in &self.profiles {
                servers.entry(name.clone()).or_insert_with(|| ApiServer {
                    profile: name.clone(),
                    url: format!("{}/p/{name}", server.url),
                    key: server.key.clone(),
                    key_from: server.key_from.clone(),
                    model: server.model.clone(),
                });
            }
        }
        servers.into_values().collect()
    }

    /// What the root profile has for a push platform: its bot is the one that unstamped rows were made for.
    pub fn push(&self, platform: &str) -> Option<&Settings> {
        self.profiles.iter().find(|one| one.name == DEFAULT_PROFILE)?.push.get(platform)
    }

    /// What people should know: files that cannot be read, servers that will not start.
    pub fn problems(&self) -> Vec<String> {
        let profiles = self.profiles.iter().flat_map(|profile| {
            let server = match &profile.server {
                Server::Unusable(reason) => Some(reason.clone()),
                Server::Ready(_) | Server::Off => None,
            };
            profile.problems.iter().cloned().chain(server)
        });
        self.home.missing().into_iter().chain(profiles).collect()
    }

    /// The domain's view. What a notifier may serve counts as served until it is known not to be.
    pub fn world(
        &self,
        generation: Generation,
        channels: BTreeMap<ChannelName, Ability>,
        alongside: BTreeSet<String>,
    ) -> World {
        let mut hermes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for live in &self.lives {
            if live.notifier(generation) == Notifier::Off {
                continue;
            }
            for platform in &live.platforms {
                let profiles = hermes.entry(platform.clone()).or_default();
                profiles.extend(live.takes(generation));
            }
        }
        World { channels, hermes, alongside, up_since: BTreeMap::new() }
    }

    /// Since when the API servers of the profiles have been running. Those that the operator names may
    /// be anywhere, so nothing is known of them.
    pub fn up_since(&self, named: &[ApiServerConfig]) -> BTreeMap<ChannelName, Timestamp> {
        let mut since = BTreeMap::new();
        for live in self.lives.iter().filter(|live| live.hosts_api_server()) {
            let Some(second) = live.started_at.and_then(|second| i64::try_from(second).ok()) else {
                continue;
            };
            for profile in &live.serves {
                // A profile's own gateway goes before one that serves it besides.
                if *profile == live.profile || !self.lives.iter().any(|l| l.profile == *profile) {
                    since.insert(ChannelName::api_server(profile), Timestamp::from_secs(second));
                }
            }
        }
        for server in named {
            since.remove(&ChannelName::api_server(&server.profile));
        }
        since
    }

    /// How Hermes and we share the work.
    pub fn setup(&self, owner: &str, generation: Generation) -> Setup {
        let serving = |live: &&Live| live.notifier(generation) != Notifier::Off;
        let hosts = || self.lives.iter().filter(|live| live.hosts_api_server());
        if self.lives.is_empty() {
            return Setup::Alone;
        }
        if !self.lives.iter().any(|live| serving(&live)) {
            return Setup::HandedOver;
        }
        if hosts().next().is_some() && hosts().all(|live| stamps_ours(live, owner)) {
            return Setup::BornOurs;
        }
        if hosts().next().is_some() && !hosts().any(|live| serving(&live)) {
            return Setup::Split;
        }
        Setup::Beside
    }

    /// The set-up in one line, with what it leaves exposed and the gateways it was read from.
    pub fn setup_line(&self, owner: &str, generation: Generation) -> String {
        let setup = self.setup(owner, generation);
        let mut line = format!("{}: {}", setup.name(), setup.about());
        if !self.lives.is_empty() {
            let lives: Vec<String> =
                self.lives.iter().map(|live| shown(live, generation)).collect();
            line.push_str("; alive: ");
            line.push_str(&lives.join(", "));
        }
        match (self.lives.is_empty(), self.dispatcher) {
            (false, Some(false)) => line.push_str("; nobody dispatches tasks"),
            (false, None) => line.push_str("; /proc/locks cannot be read"),
            _ => {}
        }
        line
    }

    /// One line for each platform that anybody here has to do with: whose its rows are (law O1).
    pub fn ownership(&self, policy: &Policy, world: &World) -> Vec<Ownership> {
        let mut platforms: BTreeSet<String> = world.hermes.keys().cloned().collect();
        platforms.extend(world.channels.keys().map(|name| platform_of(name).to_owned()));
        platforms.extend(world.alongside.iter().cloned());
        if let Adopt::Platforms(adopted) = &policy.adopt {
            platforms.extend(adopted.iter().cloned());
        }
        platforms.insert(API_SERVER.to_owned());
        platforms.into_iter().map(|platform| ownership(platform, policy, world)).collect()
    }

    /// Whether our name is one of Hermes' own: then its notifier would take our rows.
    pub fn is_profile(&self, owner: &str) -> bool {
        self.profiles.iter().any(|profile| profile.name == owner)
            || self.lives.iter().any(|live| live.serves.contains(owner))
    }
}

/// How Hermes and we share the work (law O5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// No gateway of Hermes is alive.
    Alone,
    /// Hermes runs unchanged.
    Beside,
    /// The gateway with the API server stamps new rows with our name.
    BornOurs,
    /// Another gateway than the one with the API server runs the notifier.
    Split,
    /// Gateways are alive, and none of them runs its notifier.
    HandedOver,
}

impl Setup {
    /// Its name in `status` and in the documentation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Beside => "beside",
            Self::BornOurs => "born ours",
            Self::Split => "split",
            Self::HandedOver => "handed over",
        }
    }

    /// What it means.
    pub fn about(self) -> &'static str {
        match self {
            Self::Alone => "no Hermes gateway is alive; every row is ours",
            Self::Beside => {
                "Hermes is unchanged; api_server rows are stamped as they appear, and only those that \
                 appear and end while we are down are exposed"
            }
            Self::BornOurs => {
                "the gateway with the API server stamps its rows with our name; no row is exposed"
            }
            Self::Split => {
                "the gateway with the API server runs no notifier, another one dispatches; no API row is exposed"
            }
            Self::HandedOver => "no Hermes notifier runs; every row is ours",
        }
    }
}

/// Whose the rows of one platform are.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ownership {
    /// The platform.
    pub platform: String,
    /// Profiles whose rows a live Hermes notifier takes.
    pub hermes: BTreeSet<String>,
    /// Our channels for it.
    pub channels: Vec<String>,
    /// Whether we would answer for rows of others that a live Hermes notifier serves too, without
    /// having been told to: `run` refuses that (law O4).
    pub contested: bool,
    /// All of it in one line.
    pub line: String,
}

/// The platform of a channel: the part before the slash.
pub fn platform_of(channel: &ChannelName) -> &str {
    let name = channel.as_str();
    name.split_once('/').map_or(name, |(platform, _)| platform)
}

fn ownership(platform: String, policy: &Policy, world: &World) -> Ownership {
    let hermes = world.hermes.get(&platform).cloned().unwrap_or_default();
    let channels: Vec<String> = world
        .channels
        .keys()
        .filter(|name| platform_of(name) == platform)
        .map(ToString::to_string)
        .collect();
    let alongside = world.alongside.contains(&platform);
    let adopted = match &policy.adopt {
        Adopt::Auto => platform == API_SERVER,
        Adopt::Platforms(platforms) => platform == API_SERVER || platforms.contains(&platform),
        Adopt::Off => false,
    };
    let explicit = matches!(&policy.adopt, Adopt::Platforms(names) if names.contains(&platform));
    let owner = &policy.owner;
    let names = hermes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let whose = if hermes.is_empty() {
        "every row is ours".to_owned()
    } else if alongside {
        format!("every row is ours, beside Hermes (profiles {names}), as `alongside` says")
    } else if explicit {
        format!("every row is ours by adoption, in the place of Hermes (profiles {names})")
    } else if adopted {
        format!(
            "rows on boards without delivery_mode are ours by adoption, on others those of `{owner}`; \
             Hermes (profiles {names}) has the rest"
        )
    } else {
        format!("rows of `{owner}` are ours; Hermes (profiles {names}) has the rest")
    };
    let line = match (channels.as_slice(), hermes.is_empty()) {
        ([], true) if platform == API_SERVER => "nobody's: no API server is known".to_owned(),
        ([], true) => "nobody's: no channel is configured".to_owned(),
        ([], false) => format!("Hermes (profiles {names}) has its rows; ours wait for a channel"),
        (channels, _) => format!("{whose}; sent by {}", channels.join(", ")),
    };
    Ownership {
        contested: platform != API_SERVER
            && !(hermes.is_empty() || channels.is_empty() || alongside || explicit),
        line: format!("{platform}: {line}"),
        platform,
        hermes,
        channels,
    }
}

fn stamps_ours(live: &Live, owner: &str) -> bool {
    let rest = live.stamps.as_deref().and_then(|stamp| stamp.strip_prefix(owner));
    !live.changed_since && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn shown(live: &Live, generation: Generation) -> String {
    let process =
        live.pid.map_or_else(|| "seen by its lock".to_owned(), |pid| format!("pid {pid}"));
    let notifier = match live.notifier(generation) {
        Notifier::On => "notifier on".to_owned(),
        Notifier::Off => "notifier off".to_owned(),
        Notifier::Unknown(reason) => format!("notifier taken for on, {reason}"),
    };
    let dispatcher = if live.dispatcher { ", dispatcher" } else { "" };
    let profile = match live.profile.as_str() {
        DEFAULT_PROFILE => "default profile".to_owned(),
        name => format!("profile {name}"),
    };
    format!("{profile} ({process}, {}, {notifier}{dispatcher})", live.state)
}
