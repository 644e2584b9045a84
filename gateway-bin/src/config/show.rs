//! The configuration for people: the values in force with their origins, and the default file.

use std::fmt::Write as _;

use toml::Value;

use super::{
    ApiServerConfig, Config,
    keys::{KEYS, SERVER_KEYS, Shape},
    read::{list_of, text_of},
    source::{Origin, Setting, Settings},
};
use crate::{
    hermes::{Hermes, default_model},
    platforms::{FieldKind, PLATFORMS},
};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// One value in force.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Shown {
    /// The key, levels separated by dots.
    pub key: String,
    /// The value as TOML, secrets masked.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Every value in force, in the order of the default file.
pub(super) fn effective(config: &Config, settings: &Settings, home_origin: &Origin) -> Vec<Shown> {
    let mut shown = Vec::new();
    for key in KEYS.iter() {
        let setting = settings.get(key.name);
        let origin = setting.map_or(Origin::Default, |setting| setting.origin.clone());
        let path = |path: &std::path::Path| Value::from(path.display().to_string()).to_string();
        match (key.name, setting.map(|setting| &setting.value)) {
            ("hermes_home", _) => shown.push(Shown {
                key: key.name.to_owned(),
                value: path(&config.hermes_home),
                origin: home_origin.clone(),
            }),
            ("ledger", _) => {
                shown.push(Shown { key: key.name.to_owned(), value: path(&config.ledger), origin })
            }
            ("api_server", Some(Value::Array(servers))) if !servers.is_empty() => {
                shown.extend(servers.iter().enumerate().zip(&config.api_servers).flat_map(
                    |((index, table), server)| server_values(index, table, server, &origin),
                ));
            }
            (_, Some(_)) => shown.extend(setting.map(|setting| Shown {
                key: key.name.to_owned(),
                value: match key.shape {
                    Shape::Secret => Value::from(MASK).to_string(),
                    shape => masked(as_meant(shape, setting)).to_string(),
                },
                origin,
            })),
            (_, None) => {}
        }
    }
    shown
}

/// A variable's text as its key reads it: a list may be written with commas, text may look like a number.
fn as_meant(shape: Shape, setting: &Setting) -> Value {
    let read = match shape {
        Shape::Names | Shape::Paths => list_of(setting).map(Value::from),
        Shape::Text | Shape::Path | Shape::Span | Shape::Template => {
            text_of(setting).map(Value::from)
        }
        Shape::TextOrNames if !setting.value.is_array() => text_of(setting).map(Value::from),
        _ => None,
    };
    read.unwrap_or_else(|| setting.value.clone())
}

/// An address as it may be shown.
fn masked(value: Value) -> Value {
    match value.as_str().filter(|text| text.contains("://")) {
        Some(url) => Value::from(mask_url(url)),
        None => value,
    }
}

fn server_values(
    index: usize,
    table: &Value,
    server: &ApiServerConfig,
    origin: &Origin,
) -> Vec<Shown> {
    SERVER_KEYS
        .iter()
        .filter_map(|(name, _)| {
            let written = table.get(name).and_then(Value::as_str);
            let value = match (*name, written) {
                ("key", Some(_)) => MASK.to_owned(),
                ("url", Some(url)) => mask_url(url),
                (_, Some(text)) => text.to_owned(),
                ("profile", None) => server.profile.clone(),
                ("model", None) => default_model(&server.profile),
                _ => return None,
            };
            let origin = if written.is_some() { origin.clone() } else { Origin::Default };
            Some(server_value(index, name, value, origin))
        })
        .collect()
}

fn server_value(index: usize, name: &str, value: String, origin: Origin) -> Shown {
    let key = format!("api_server[{index}].{name}");
    Shown { key, value: Value::from(value).to_string(), origin }
}

/// The same values with what Hermes' files add to them, in the order of the default file.
pub fn with_found(mut shown: Vec<Shown>, config: &Config, hermes: &Hermes) -> Vec<Shown> {
    let servers = found_servers(config, hermes);
    if !servers.is_empty() {
        // An empty list of configured ones says less than the servers that are there.
        shown.retain(|setting| setting.key != "api_server");
    }
    let platforms = found_platforms(config, hermes);
    shown.retain(|setting| platforms.iter().all(|found| found.key != setting.key));
    shown.extend(platforms);
    shown.extend(servers);
    let position = |shown: &Shown| KEYS.iter().position(|key| key.name == shown.key);
    shown.sort_by_key(|shown| position(shown).unwrap_or(usize::MAX));
    shown
}

/// What Hermes has for push platforms and the configuration leaves open.
fn found_platforms(config: &Config, hermes: &Hermes) -> Vec<Shown> {
    let fields = PLATFORMS.iter().flat_map(|of| of.fields.iter().map(move |field| (of, field)));
    let shown = fields.filter_map(|(platform, field)| {
        let own = config.push.get(platform.name).and_then(|own| own.text(field.name));
        let found = hermes.push(platform.name).filter(|_| own.is_none())?;
        let text = found.text(field.name)?;
        let value = match field.kind {
            FieldKind::Secret | FieldKind::Secrets => Value::from(MASK),
            FieldKind::Text => masked(Value::from(text)),
            FieldKind::Switch => Value::from(found.is_on(field.name)),
            FieldKind::Count => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
        };
        let place = found.place(field.name).unwrap_or_default().to_owned();
        Some(Shown {
            key: format!("{}.{}", platform.name, field.name),
            value: value.to_string(),
            origin: Origin::HermesVariable(place),
        })
    });
    shown.collect()
}

/// The servers that Hermes' profiles have and that the configuration does not name, as further ones.
fn found_servers(config: &Config, hermes: &Hermes) -> Vec<Shown> {
    let named = |profile: &str| config.api_servers.iter().any(|named| named.profile == profile);
    let found = hermes.api_servers(&config.api_servers);
    let found = found.into_iter().filter(|server| !named(&server.profile));
    (config.api_servers.len()..)
        .zip(found)
        .flat_map(|(index, server)| {
            let origin = Origin::Hermes(server.profile.clone());
            [
                ("profile", server.profile),
                ("url", mask_url(&server.url)),
                ("key", MASK.to_owned()),
                ("model", server.model),
            ]
            .map(|(name, value)| server_value(index, name, value, origin.clone()))
        })
        .collect()
}

/// A URL that may be shown: user, password, query and fragment masked.
pub fn mask_url(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let path_at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(path_at);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let path = match path.find(['?', '#']).map(|at| path.split_at(at)) {
        Some((path, query)) => {
            let mark = query.get(..1).unwrap_or_default();
            format!("{path}{mark}{MASK}")
        }
        None => path.to_owned(),
    };
    format!("{scheme}{authority}{path}")
}

/// The default file: every key with its words, commented out, so that later defaults still apply.
pub fn default_text() -> String {
    let mut text = String::from(
        "# kanban-gateway\n\
         #\n\
         # Every key is optional. A line that starts with `#` and no space shows a default; to change\n\
         # one, remove the `#`. Spans of time are written like 500ms, 5s, 10m, 72h, 7d.\n\
         # A variable goes before this file: KANBAN_GATEWAY_WAKE__BUSY_WAIT=5m sets busy_wait in [wake].\n",
    );
    let mut level = "";
    for key in KEYS.iter().filter(|key| !key.about.is_empty()) {
        let (section, name) = key.name.split_once('.').unwrap_or(("", key.name));
        text.push('\n');
        if section != level && !section.is_empty() {
            let _ = writeln!(text, "[{section}]");
            level = section;
        }
        for line in key.about.lines() {
            let _ = writeln!(text, "# {line}");
        }
        match key.name {
            "api_server" => server_example(&mut text),
            "hermes_home" => text.push_str("#hermes_home = \"~/.hermes\"\n"),
            "ledger" => {
                text.push_str("#ledger = \"~/.local/state/kanban-gateway/ledger.db\"\n");
            }
            _ if key.default.is_empty() => {
                // No default that could be shown: an example, with the space that tells it from one.
                let example = match key.shape {
                    Shape::Text | Shape::Secret if name == "url" => r#""https://example.org""#,
                    Shape::Count => "5",
                    Shape::Switch => "true",
                    Shape::Span => r#""10m""#,
                    Shape::Names | Shape::Paths => r#"["..."]"#,
                    Shape::Path => r#""/run/secrets/token""#,
                    Shape::Template => r#""{{ title }} {{ line }}""#,
                    Shape::Text | Shape::Secret | Shape::TextOrNames | Shape::Tables => r#""...""#,
                };
                let _ = writeln!(text, "# {name} = {example}");
            }
            _ => {
                let _ = writeln!(text, "#{name} = {}", key.default);
            }
        }
    }
    text
}

/// One server as a file would name it: complete once the marks at the start of its lines are gone.
fn server_example(text: &mut String) {
    text.push_str("#\n#     [[api_server]]\n");
    let examples = [
        ("profile", "default"),
        ("url", "http://127.0.0.1:8642"),
        ("key", "listen-key-0123456789"),
        ("model", "hermes-agent"),
    ];
    for (name, value) in examples {
        let _ = writeln!(text, "#     {name} = \"{value}\"");
    }
    text.push_str(
        "#\n# This one is `kanban-gateway listen`. A real key is better kept elsewhere than here:\n\
         # key_file = \"/run/secrets/api-server-key\", or key_env = \"API_SERVER_KEY\".\n#\n",
    );
    for (name, about) in SERVER_KEYS {
        let _ = writeln!(text, "# {name}: {about}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::Place;

    #[test]
    fn urls_are_masked_wherever_secrets_may_be() {
        for (url, masked) in [
            ("http://127.0.0.1:8642", "http://127.0.0.1:8642"),
            ("http://u:p@h:1/a", "http://***@h:1/a"),
            ("http://u:p@q@h", "http://***@h"),
            ("http://h?token=1", "http://h?***"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h/a#frag", "http://h/a#***"),
            ("u:p@h", "***@h"),
        ] {
            assert_eq!(mask_url(url), masked);
        }
    }

    #[test]
    fn the_examples_of_the_default_file_have_the_form_of_their_values() {
        let example = |line: &str| {
            let line = line.strip_prefix("# ")?;
            toml::from_str::<toml::Table>(line)
                .is_ok_and(|table| !table.is_empty())
                .then(|| line.to_owned())
        };
        let text: Vec<String> = default_text()
            .lines()
            .filter_map(
                |line| if line.starts_with('[') { Some(line.to_owned()) } else { example(line) },
            )
            .collect();
        assert!(text.iter().any(|line| line == "priority = 5"), "{text:?}");
        let faults = Place::new().with_file(&text.join("\n")).faults();
        // A secret and its file are both shown, and both files are not there.
        assert!(faults.contains("are both set") && !faults.contains("must "), "{faults}");
    }
}
