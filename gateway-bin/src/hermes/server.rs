//! The API server of a profile: whether Hermes starts one, where it listens, and the key that opens it.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{
    files::{Files, Variables},
    home::{DEFAULT_PROFILE, ProfileHome},
    profile::{configured, platform_maps},
};

/// The platform that wakes stateless API sessions.
pub(super) const API_SERVER: &str = "api_server";

/// Hermes does not start its API server with a shorter key.
const SHORTEST_KEY: usize = 16;

const DEFAULT_PORT: u16 = 8642;

/// An API server that can be posted to.
#[derive(Clone, Debug)]
pub struct ApiServer {
    /// The profile whose sessions it holds.
    pub profile: String,
    /// Its base URL, without a slash at the end and without `/v1`.
    pub url: String,
    /// Its API key.
    pub key: SecretString,
    /// Where the key comes from, and when it is read.
    pub key_from: String,
    /// The model name it advertises.
    pub model: String,
}

impl PartialEq for ApiServer {
    fn eq(&self, other: &Self) -> bool {
        let shown = |server: &Self| {
            let Self { profile, url, key: _, key_from, model } = server.clone();
            (profile, url, key_from, model)
        };
        shown(self) == shown(other) && self.key.expose_secret() == other.key.expose_secret()
    }
}

/// Whether a profile has an API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Server {
    /// It has.
    Ready(ApiServer),
    /// It is not switched on.
    Off,
    /// It is switched on, but Hermes will not start it, or we cannot use it. Says why.
    Unusable(String),
}

/// The model a profile's API server advertises unless it is told otherwise.
pub fn default_model(profile: &str) -> String {
    match profile {
        DEFAULT_PROFILE | "custom" => "hermes-agent".to_owned(),
        name => name.to_owned(),
    }
}

/// The server of a profile, as Hermes would start it.
pub(super) fn server(home: &ProfileHome, files: &Files, variables: Variables<'_>) -> Server {
    let profile = home.name.as_str();
    let by_variable =
        variables.is_on("API_SERVER_ENABLED") || variables.get("API_SERVER_KEY").is_some();
    if !by_variable && !configured(files, API_SERVER).unwrap_or(false) {
        return Server::Off;
    }
    // Variables replace what the file says only where they switch the server on; else they fill gaps.
    let setting = |key: &str, variable: &str| {
        let from_file = extra(files, key).and_then(text);
        let from_variable = variables.get(variable).map(str::to_owned);
        if by_variable { from_variable.or(from_file) } else { from_file.or(from_variable) }
    };
    let key = setting("key", "API_SERVER_KEY").unwrap_or_default();
    if let Some(reason) = unusable(&key) {
        return Server::Unusable(format!(
            "the API server of profile {profile} does not start: {reason}"
        ));
    }
    let host = setting("host", "API_SERVER_HOST").unwrap_or_default();
    let port = setting("port", "API_SERVER_PORT").and_then(|port| port.trim().parse().ok());
    let model = setting("model_name", "API_SERVER_MODEL_NAME")
        .map(|model| model.trim().to_owned())
        .filter(|model| !model.is_empty());
    Server::Ready(ApiServer {
        profile: profile.to_owned(),
        url: format!("http://{}:{}", authority(&host), port.unwrap_or(DEFAULT_PORT)),
        key: SecretString::from(key.trim().to_owned()),
        key_from: key_from(home, by_variable, files, variables),
        model: model.unwrap_or_else(|| default_model(profile)),
    })
}

/// Where a profile's key comes from.
fn key_from(
    home: &ProfileHome,
    by_variable: bool,
    files: &Files,
    variables: Variables<'_>,
) -> String {
    let in_file = extra(files, "key").and_then(text).is_some();
    let read =
        |file: &str| format!("{}, read again when it changes", home.path.join(file).display());
    let from = match (in_file, variables.get("API_SERVER_KEY").is_some()) {
        (_, true) if by_variable && variables.is_in_file("API_SERVER_KEY") => read(".env"),
        (_, true) if by_variable => {
            "API_SERVER_KEY in the environment; restart `run` after changing it".to_owned()
        }
        _ => read("config.yaml"),
    };
    format!("`api_server` for profile {}, from {from}", home.name)
}

/// Why a key will not do.
fn unusable(key: &str) -> Option<&'static str> {
    // Words that stand in example files; shorter ones fall to the length anyway.
    const PLACEHOLDERS: [&str; 1] = ["your_api_key_here"];
    let key = key.trim();
    if key.is_empty() {
        Some("it has no key (API_SERVER_KEY)")
    } else if PLACEHOLDERS.contains(&key.to_lowercase().as_str()) {
        Some("its key is a placeholder")
    } else if key.chars().count() < SHORTEST_KEY {
        Some("its key is shorter than 16 characters")
    } else if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        Some("its key is not one word of visible ASCII characters")
    } else {
        None
    }
}

/// A host to connect to, from one to listen on.
fn authority(host: &str) -> String {
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    match host {
        "" | "0.0.0.0" | "::" | "*" => "127.0.0.1".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    }
}

fn extra<'f>(files: &'f Files, key: &str) -> Option<&'f Value> {
    platform_maps(files)
        .find_map(|map| map.get(API_SERVER)?.get("extra")?.get(key))
        .filter(|value| !value.is_null())
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hermes::profile::tests::profile;

    fn ready(profile: crate::hermes::Profile) -> (String, String, String) {
        match profile.server {
            Server::Ready(server) => {
                let key = server.key.expose_secret().to_owned();
                (server.url, key, server.model)
            }
            other => panic!("{other:?}"),
        }
    }

    const KEY: &str = "0123456789abcdef";

    #[test]
    fn a_key_in_dotenv_is_enough() {
        let dotenv =
            "# comment\nAPI_SERVER_KEY=\"0123456789abcdef\" # mine\nAPI_SERVER_PORT='9000'\n";
        let found = ready(profile("default", "", dotenv, &[]));
        assert_eq!(found, ("http://127.0.0.1:9000".into(), KEY.into(), "hermes-agent".into()));
    }

    #[test]
    fn a_named_profile_advertises_its_name() {
        let found = ready(profile("work", "", "API_SERVER_KEY=0123456789abcdef\n", &[]));
        assert_eq!(found.2, "work");
    }

    #[test]
    fn the_file_alone_is_enough() {
        let config = "platforms:\n  api_server:\n    enabled: true\n    extra:\n      key: 0123456789abcdef\n\
                      \n      host: \"::1\"\n      port: 9001\n      model_name: m\n";
        let found = ready(profile("default", config, "", &[("API_SERVER_PORT", "1")]));
        assert_eq!(found, ("http://[::1]:9001".into(), KEY.into(), "m".into()));
    }

    #[test]
    fn variables_replace_the_file_where_they_switch_the_server_on() {
        let config = "gateway:\n  platforms:\n    api_server:\n      enabled: false\n      extra: {key: fedcba9876543210, port: 1, host: a}\n";
        let dotenv = "API_SERVER_ENABLED=Yes\nAPI_SERVER_HOST=0.0.0.0\n";
        let started = [("API_SERVER_PORT", "2"), ("API_SERVER_HOST", "shadowed")];
        let found = ready(profile("default", config, dotenv, &started));
        assert_eq!(found.0, "http://127.0.0.1:2");
        assert_eq!(found.1, "fedcba9876543210");
    }

    #[test]
    fn a_bad_port_is_the_default_one() {
        let dotenv = "API_SERVER_KEY=0123456789abcdef\nAPI_SERVER_PORT=http\n";
        assert_eq!(ready(profile("default", "", dotenv, &[])).0, "http://127.0.0.1:8642");
    }

    #[test]
    fn off_is_off() {
        assert_eq!(profile("default", "", "", &[]).server, Server::Off);
        let config = "platforms: {api_server: {enabled: false, extra: {key: 0123456789abcdef}}}";
        assert_eq!(profile("default", config, "API_SERVER_ENABLED=no\n", &[]).server, Server::Off);
    }

    #[test]
    fn what_hermes_would_not_start_is_no_server_and_says_why() {
        for (dotenv, reason) in [
            ("API_SERVER_ENABLED=1\n", "it has no key"),
            ("API_SERVER_KEY=short\n", "shorter than 16"),
            ("API_SERVER_KEY=changeme\n", "shorter than 16"),
            ("API_SERVER_KEY=Your_API_key_here\n", "a placeholder"),
            ("API_SERVER_KEY=0123456789 abcdef\n", "not one word"),
        ] {
            match profile("work", "", dotenv, &[]).server {
                Server::Unusable(why) => {
                    assert!(why.contains(reason) && why.contains("profile work"), "{why}");
                }
                other => panic!("{dotenv}: {other:?}"),
            }
        }
    }

    #[test]
    fn keys_are_never_shown() {
        let profile = profile("default", "", "API_SERVER_KEY=0123456789abcdef\n", &[]);
        assert!(!format!("{profile:?}").contains(KEY));
    }

    #[test]
    fn listening_addresses_become_ones_to_connect_to() {
        for (host, connect) in [
            ("", "127.0.0.1"),
            ("0.0.0.0", "127.0.0.1"),
            ("::", "127.0.0.1"),
            ("[::]", "127.0.0.1"),
            ("*", "127.0.0.1"),
            ("::1", "[::1]"),
            ("[fd00::1]", "[fd00::1]"),
            ("box.local", "box.local"),
        ] {
            assert_eq!(authority(host), connect);
        }
    }
}
