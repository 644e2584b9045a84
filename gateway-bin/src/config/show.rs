//! The configuration for people: the values in force with their origins, and the default file.

use std::fmt::Write as _;

use toml::Value;

use super::{
    Config,
    keys::{KEYS, SERVER_KEYS},
    source::{Origin, Settings},
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
    for key in KEYS {
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
                shown.extend(
                    servers
                        .iter()
                        .enumerate()
                        .flat_map(|(index, server)| server_values(index, server, &origin)),
                );
            }
            (_, Some(value)) => {
                shown.push(Shown { key: key.name.to_owned(), value: value.to_string(), origin })
            }
            (_, None) => {}
        }
    }
    shown
}

fn server_values(index: usize, server: &Value, origin: &Origin) -> Vec<Shown> {
    SERVER_KEYS
        .iter()
        .filter_map(|(name, _)| {
            let text = server.get(name)?.as_str()?;
            let value = match *name {
                "key" => MASK.to_owned(),
                "url" => mask_url(text),
                _ => text.to_owned(),
            };
            Some(Shown {
                key: format!("api_server[{index}].{name}"),
                value: Value::from(value).to_string(),
                origin: origin.clone(),
            })
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
    for key in KEYS {
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
}
