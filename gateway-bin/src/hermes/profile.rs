//! One Hermes profile: its API server, its gates, and the platforms it is set up for.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::Value;

use super::{
    files::{Files, Variables, switch},
    home::ProfileHome,
    push::push,
    server::{API_SERVER, Server, server},
};
use crate::{config::Env, platforms::Settings};

/// The switches of Hermes' notifier, as files and environment set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `dispatch_in_gateway`: dispatcher and, up to 0.19, notifier.
    pub dispatch: bool,
    /// `notify_in_gateway`: the notifier, from the releases after 0.19 on.
    pub notify: bool,
}

/// A profile and what its files say.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub home: PathBuf,
    /// Its API server.
    pub server: Server,
    /// Its gates.
    pub gates: Gates,
    /// Whether its gateway serves all other profiles too.
    pub multiplex: bool,
    /// Platforms it is set up for.
    pub platforms: BTreeSet<String>,
    /// `HERMES_PROFILE`: the name it stamps on new subscriptions, if it is not its own.
    pub stamps: Option<String>,
    /// What it has for push platforms, by platform.
    pub push: BTreeMap<&'static str, Settings>,
    /// What could not be read, or is skipped.
    pub problems: Vec<String>,
}

impl Profile {
    /// Puts together what the files say with what the gateway was started with.
    pub(super) fn new(home: &ProfileHome, files: &Files, started_with: &Env) -> Self {
        let variables = files.variables(started_with);
        let gate = |key, variable| {
            let configured = files.config(&["kanban", key]).and_then(switch);
            configured.unwrap_or(true) && !variables.is_off(variable)
        };
        let (push, unread) = push(home, variables);
        let problems = [&files.problems, &files.skipped]
            .into_iter()
            .flatten()
            .cloned()
            .chain(unread)
            .collect();
        Self {
            push,
            name: home.name.clone(),
            home: home.path.clone(),
            server: server(home, files, variables),
            gates: Gates {
                dispatch: gate("dispatch_in_gateway", "HERMES_KANBAN_DISPATCH_IN_GATEWAY"),
                notify: gate("notify_in_gateway", "HERMES_KANBAN_NOTIFY_IN_GATEWAY"),
            },
            multiplex: multiplex(files, variables),
            platforms: platforms(files, variables),
            stamps: variables.get("HERMES_PROFILE").map(str::to_owned),
            problems,
        }
    }
}

/// The maps that hold platforms, the one that counts most first.
pub(super) fn platform_maps(files: &Files) -> impl Iterator<Item = &Value> {
    [&["platforms"][..], &["gateway", "platforms"]]
        .into_iter()
        .filter_map(|path| files.config(path))
}

/// A platform's `enabled`, if the file says anything about it.
pub(super) fn configured(files: &Files, platform: &str) -> Option<bool> {
    let own = files.config(&[platform, "enabled"]);
    own.or_else(|| platform_maps(files).find_map(|map| map.get(platform)?.get("enabled")))
        .and_then(switch)
}

fn multiplex(files: &Files, variables: Variables<'_>) -> bool {
    const VARIABLE: &str = "GATEWAY_MULTIPLEX_PROFILES";
    if variables.is_on(VARIABLE) || variables.is_off(VARIABLE) {
        return variables.is_on(VARIABLE);
    }
    files
        .config(&["multiplex_profiles"])
        .or_else(|| files.config(&["gateway", "multiplex_profiles"]))
        .and_then(switch)
        .unwrap_or(false)
}

/// Platforms by the variables that hold their credentials.
#[rustfmt::skip]
const CREDENTIALS: [(&str, &str); 18] = [
    ("telegram", "TELEGRAM_BOT_TOKEN"), ("discord", "DISCORD_BOT_TOKEN"), ("slack", "SLACK_BOT_TOKEN"),
    ("whatsapp_cloud", "WHATSAPP_CLOUD_ACCESS_TOKEN"), ("signal", "SIGNAL_HTTP_URL"),
    ("mattermost", "MATTERMOST_TOKEN"), ("matrix", "MATRIX_ACCESS_TOKEN"), ("matrix", "MATRIX_PASSWORD"),
    ("homeassistant", "HASS_TOKEN"), ("email", "EMAIL_ADDRESS"), ("sms", "TWILIO_ACCOUNT_SID"),
    ("dingtalk", "DINGTALK_CLIENT_ID"), ("feishu", "FEISHU_APP_ID"), ("wecom", "WECOM_BOT_ID"),
    ("ntfy", "NTFY_TOPIC"), ("line", "LINE_CHANNEL_ACCESS_TOKEN"), ("teams", "TEAMS_CLIENT_ID"),
    (API_SERVER, "API_SERVER_KEY"),
];

/// The names of platforms that Hermes is known to have.
pub fn platform_names() -> impl Iterator<Item = &'static str> {
    CREDENTIALS.into_iter().map(|(name, _)| name)
}

/// Platforms that are switched on in the file, or by the variables that hold their credentials.
fn platforms(files: &Files, variables: Variables<'_>) -> BTreeSet<String> {
    let in_file = platform_maps(files)
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
        .filter(|name| configured(files, name) == Some(true))
        .cloned();
    let by_credential = CREDENTIALS
        .into_iter()
        .filter(|(name, variable)| {
            variables.get(variable).is_some() && configured(files, name) != Some(false)
        })
        .map(|(name, _)| name.to_owned());
    in_file.chain(by_credential).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    /// A profile made of two files and the variables its gateway was started with.
    pub(in crate::hermes) fn profile(
        name: &str,
        config: &str,
        dotenv: &str,
        started: &[(&str, &str)],
    ) -> Profile {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.yaml"), config).unwrap();
        fs::write(dir.path().join(".env"), dotenv).unwrap();
        let home = ProfileHome { name: name.to_owned(), path: dir.path().to_owned() };
        Profile::new(&home, &Files::read(dir.path()), &started.iter().copied().collect())
    }

    #[test]
    fn gates_close_by_file_or_variable() {
        let gates = |config: &str, dotenv: &str| profile("default", config, dotenv, &[]).gates;
        let open = Gates { dispatch: true, notify: true };
        assert_eq!(gates("", ""), open);
        assert_eq!(
            gates("kanban: {dispatch_in_gateway: true}", "HERMES_KANBAN_NOTIFY_IN_GATEWAY=1"),
            open
        );
        assert!(!gates("kanban: {dispatch_in_gateway: off}", "").dispatch);
        assert!(!gates("", "HERMES_KANBAN_DISPATCH_IN_GATEWAY=\" No \"").dispatch);
        assert!(!gates("kanban: {notify_in_gateway: false}", "").notify);
        assert!(!gates("", "HERMES_KANBAN_NOTIFY_IN_GATEWAY=off").notify);
    }

    #[test]
    fn the_rest_is_read_too() {
        let config = "gateway: {multiplex_profiles: true}\nplatforms:\n  slack: {enabled: true}\n\
                      \n  discord: {enabled: false}\n";
        let dotenv = "TELEGRAM_BOT_TOKEN=x\nDISCORD_BOT_TOKEN=x\nHERMES_PROFILE=kanban-gateway\n";
        let found = profile("default", config, dotenv, &[]);
        assert!(found.multiplex);
        assert_eq!(found.platforms, ["slack", "telegram"].map(String::from).into());
        assert_eq!(found.stamps.as_deref(), Some("kanban-gateway"));
        let off = profile("default", config, "GATEWAY_MULTIPLEX_PROFILES=0", &[]);
        assert!(!off.multiplex);
    }
}
