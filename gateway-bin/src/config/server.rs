//! API servers that the operator names: where they listen and the key that opens them.

use std::{collections::BTreeSet, path::PathBuf};

use secrecy::SecretString;
use toml::{Table, Value};

use super::{
    keys::SERVER_KEYS,
    read::Reader,
    secret::{ONE_WORD, read_secret},
    source::Setting,
};
use crate::{hermes::is_profile_name, platforms::FieldKind};

/// One `[[api_server]]` of the configuration.
#[derive(Clone, Debug)]
pub struct ApiServerConfig {
    /// The Hermes profile whose sessions it holds.
    pub profile: String,
    /// Its base URL, without a slash at the end and without `/v1`.
    pub url: String,
    /// Its API key.
    pub key: SecretString,
    /// Where the key was read, once, at the start.
    pub key_from: String,
    /// The model name to send; `None` leaves it to the profile.
    pub model: Option<String>,
}

/// Reads all of them; faults go to the reader's problems.
pub(super) fn servers(reader: &mut Reader<'_>) -> Vec<ApiServerConfig> {
    let Some(setting) = reader.settings.get("api_server") else {
        return Vec::new();
    };
    let tables: Option<Vec<&Table>> = match &setting.value {
        Value::Array(items) => items.iter().map(Value::as_table).collect(),
        _ => None,
    };
    let Some(tables) = tables else {
        reader.wrong("api_server", "must be a list of tables");
        return Vec::new();
    };
    let mut profiles = BTreeSet::new();
    let mut servers = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let mut one = One { index, table, setting, reader };
        if let Some(server) = one.read() {
            if !profiles.insert(server.profile.clone()) {
                let message = format!("there is already a server for profile `{}`", server.profile);
                one.wrong("profile", &message);
            }
            servers.push(server);
        }
    }
    servers
}

/// Whether the file holds a key itself, so that it should be readable by its owner only.
pub(super) fn holds_key(setting: &Setting) -> bool {
    setting.value.as_array().is_some_and(|items| items.iter().any(|item| item.get("key").is_some()))
}

/// The files that hold keys.
pub(super) fn key_files(reader: &Reader<'_>) -> Vec<PathBuf> {
    let Some(setting) = reader.settings.get("api_server") else {
        return Vec::new();
    };
    let items = setting.value.as_array().map(Vec::as_slice);
    items
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.get("key_file")?.as_str())
        .map(|text| reader.locate(text, &setting.origin))
        .collect()
}

struct One<'r, 'a> {
    index: usize,
    table: &'r Table,
    setting: &'r Setting,
    reader: &'r mut Reader<'a>,
}

impl One<'_, '_> {
    fn read(&mut self) -> Option<ApiServerConfig> {
        for name in self.table.keys() {
            let known = || SERVER_KEYS.iter().map(|(name, _)| *name);
            if !known().any(|key| key == name) {
                let place = self.place(name);
                self.reader.problems.unknown(&place, name, known());
            }
        }
        let profile = self.text("profile").unwrap_or_else(|| "default".to_owned());
        if !is_profile_name(&profile) {
            self.wrong("profile", "`profile` is no name of a Hermes profile");
        }
        let url = self.url();
        let model = self.text("model");
        let key = self.key();
        let (key, key_from) = key?;
        Some(ApiServerConfig { profile, url: url?, key, key_from, model })
    }

    fn url(&mut self) -> Option<String> {
        let Some(url) = self.text("url") else {
            self.wrong("url", "`url` is missing");
            return None;
        };
        match base_url(&url, "its `key`, `key_file` or `key_env` is the only one") {
            Ok(url) => Some(url),
            Err(message) => {
                self.wrong("url", &message);
                None
            }
        }
    }

    fn key(&mut self) -> Option<(SecretString, String)> {
        let sources = (self.text("key"), self.text("key_file"), self.text("key_env"));
        let (key, from) = match sources {
            (Some(key), None, None) => (key, format!("`key` in {}", self.line("key"))),
            (None, Some(file), None) => {
                let path = self.reader.locate(&file, &self.setting.origin);
                match read_secret(&path, FieldKind::Secret) {
                    Ok(key) => (key, format!("`key_file` {}", path.display())),
                    Err(fault) => {
                        self.wrong("key_file", &format!("`key_file` {fault}"));
                        return None;
                    }
                }
            }
            (None, None, Some(name)) => match self.reader.env.get(&name) {
                Some(value) => {
                    (value.trim().to_owned(), format!("the environment variable {name}"))
                }
                None => {
                    self.wrong("key_env", &format!("`key_env`: the variable {name} is not set"));
                    return None;
                }
            },
            _ => {
                self.wrong("", "give exactly one of `key`, `key_file` and `key_env`");
                return None;
            }
        };
        let mut written = ["key", "key_file", "key_env"].into_iter();
        let written = written.find(|name| self.table.contains_key(*name)).unwrap_or_default();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong(written, &format!("the key {ONE_WORD}"));
            return None;
        }
        Some((SecretString::from(key), from))
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.table.get(name)?;
        let text = value.as_str().map(|text| text.trim().to_owned());
        if text.is_none() {
            self.wrong(name, &format!("`{name}` must be text"));
        }
        text
    }

    /// Where a key stands, or else the table.
    fn line(&self, key: &str) -> String {
        self.reader.settings.place_of_item("api_server", self.index, key)
    }

    fn place(&self, key: &str) -> String {
        format!("{}, api_server number {}", self.line(key), self.index.saturating_add(1))
    }

    fn wrong(&mut self, key: &str, message: &str) {
        let place = self.place(key);
        self.reader.problems.add(place, message);
    }
}

/// The base of an HTTP URL, or what is wrong with it; `instead` says where credentials belong.
pub(super) fn base_url(url: &str, instead: &str) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))
        .ok_or("`url` must start with http:// or https://")?;
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("`url` must be visible ASCII characters".to_owned());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(format!("`url` must not hold credentials; {instead}"));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Err("`url` names no host".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err("`url` must be a base: without `?` and `#`".to_owned());
    }
    let base = url.trim_end_matches('/');
    Ok(base.strip_suffix("/v1").unwrap_or(base).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::Place;

    #[test]
    fn bases_are_cut_to_what_routes_are_added_to() {
        for (url, base) in [
            ("http://127.0.0.1:8642", "http://127.0.0.1:8642"),
            ("http://127.0.0.1:8642/", "http://127.0.0.1:8642"),
            ("https://h/p/work/v1/", "https://h/p/work"),
            ("http://[::1]:8642/v1", "http://[::1]:8642"),
        ] {
            assert_eq!(base_url(url, "").unwrap(), base);
        }
    }

    #[test]
    fn what_is_no_base_is_refused() {
        for url in [
            "",
            "127.0.0.1:8642",
            "ftp://h",
            "http://",
            "http://:80",
            "http://h x",
            "http://u:p@h",
            "http://h/?token=x",
        ] {
            assert!(base_url(url, "").is_err(), "{url}");
        }
    }

    #[test]
    fn faulty_servers_are_told_without_their_secrets() {
        let faults = Place::new()
            .with_file(
                "[[api_server]]\nurll = \"http://a\"\nkey = \"secret one\"\n\
                 [[api_server]]\nprofile = \"Bad Name\"\nurl = \"http://u:secret@h\"\n\
                 key = \"a\"\nkey_env = \"b\"\n\
                 [[api_server]]\nprofile = \"x\"\nurl = \"http://h\"\nkey_env = \"UNSET\"\n\
                 [[api_server]]\nprofile = \"x\"\nurl = \"http://h\"\nkey_file = \"/none\"\n\
                 [[api_server]]\nprofile = \"y\"\nurl = \"http://h\"\nkey = \"k\"\n\
                 [[api_server]]\nprofile = \"y\"\nurl = \"http://h\"\nkey = \"k\"\n",
            )
            .faults();
        for expected in [
            "api_server number 1: there is no key `urll`; did you mean `url`?",
            "api_server number 1: `url` is missing",
            "api_server number 1: the key must be one word",
            "api_server number 2: `profile` is no name of a Hermes profile",
            "api_server number 2: `url` must not hold credentials",
            "api_server number 2: give exactly one of",
            "api_server number 3: `key_env`: the variable UNSET is not set",
            "api_server number 4: `key_file` /none",
            "api_server number 6: there is already a server for profile `y`",
        ] {
            assert!(faults.contains(expected), "missing {expected} in {faults}");
        }
        for line in [
            "line 2, api_server number 1: there is no key",
            "line 1, api_server number 1: `url` is missing",
            "line 5, api_server number 2: `profile`",
            "line 6, api_server number 2: `url`",
            "line 4, api_server number 2: give exactly one",
            "line 12, api_server number 3: `key_env`",
            "line 22, api_server number 6: there is already",
        ] {
            assert!(faults.contains(line), "missing {line} in {faults}");
        }
        assert!(!faults.contains("secret"), "{faults}");
    }
}
