//! Where values come from: defaults, then the file, then variables; each value knows its origin.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{
    env::Env,
    keys::{KEYS, Key, Shape, find, is_level, levels},
    lines::{line_of, lines, twice},
    problem::Problems,
    templates,
};

/// The start of every variable that sets a key; `__` separates levels.
pub(super) const PREFIX: &str = "KANBAN_GATEWAY_";

/// The variable, after [`PREFIX`], that names the file and so is no key.
pub(super) const FILE_VARIABLE: &str = "CONFIG";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File,
    /// This variable.
    Environment(String),
    /// The files of this Hermes profile.
    Hermes(String),
    /// Hermes' variable, with where it stands.
    HermesVariable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str("file"),
            Self::Environment(name) => write!(f, "environment ({name})"),
            Self::Hermes(profile) => write!(f, "Hermes (profile {profile})"),
            Self::HermesVariable(place) => write!(f, "Hermes ({place})"),
        }
    }
}

impl serde::Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One value as it was found.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// The same in words that help to find it.
    pub place: String,
    /// The text of a variable, for keys that want text though it reads as something else.
    pub raw: Option<String>,
}

/// The values in force, and the folder that relative paths of the file start from.
#[derive(Debug, Default)]
pub(super) struct Settings {
    values: BTreeMap<&'static str, Setting>,
    /// Where in the file the tables of lists and their keys stand, as `list[0].key`.
    items: BTreeMap<String, String>,
    /// The folder of the file.
    pub folder: Option<PathBuf>,
}

impl Settings {
    /// Gathers defaults, the file's values and variables, later ones in the place of earlier ones.
    pub(super) fn gather(file: Option<(&Path, &str)>, env: &Env, problems: &mut Problems) -> Self {
        let mut settings = Self::default();
        settings.add_defaults();
        if let Some((path, text)) = file {
            settings.folder = path.parent().map(Path::to_owned);
            settings.add_file(path, text, problems);
        }
        for (rest, value) in env.with_prefix(PREFIX) {
            if rest != FILE_VARIABLE {
                settings.add_variable(rest, value, problems);
            }
        }
        settings
    }

    /// The value of a key that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.values.get(name)
    }

    /// Where a key of a table of a list stands, or else that table, or else the list.
    pub(super) fn place_of_item(&self, list: &str, index: usize, key: &str) -> String {
        let setting = self.get(list);
        let table = format!("{list}[{index}]");
        let in_file = || {
            let place = self.items.get(&format!("{table}.{key}"));
            place.or_else(|| self.items.get(&table))
        };
        setting
            .filter(|setting| setting.origin == Origin::File)
            .and_then(|_| in_file().cloned())
            .or_else(|| setting.map(|setting| setting.place.clone()))
            .unwrap_or_default()
    }

    fn add_defaults(&mut self) {
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            let setting = Setting {
                value: parse_value(key.default).unwrap_or_else(|| Value::from(key.default)),
                origin: Origin::Default,
                place: "default".to_owned(),
                raw: None,
            };
            self.values.insert(key.name, setting);
        }
    }

    fn add_file(&mut self, path: &Path, text: &str, problems: &mut Problems) {
        let shown = path.display();
        let table: Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => {
                // The error's own text would quote the line, which may hold a secret.
                let at = error.span().map_or(0, |span| span.start);
                let twice = twice(text, at).filter(|_| error.message().contains("duplicate key"));
                let message = twice.unwrap_or_else(|| error.message().to_owned());
                problems.add(format!("{shown} line {}", line_of(text, at)), message);
                return;
            }
        };
        let lines = lines(text);
        let place = |name: &str| match lines.get(name) {
            Some(line) => format!("{shown} line {line}"),
            None => shown.to_string(),
        };
        let items = lines.keys().filter(|name| name.contains('['));
        self.items = items.map(|name| (name.clone(), place(name))).collect();
        self.flatten("", table, &place, &Origin::File, problems);
    }

    fn add_variable(&mut self, rest: &str, value: Option<&str>, problems: &mut Problems) {
        let variable = format!("{PREFIX}{rest}");
        let name = rest.to_ascii_lowercase().replace("__", ".");
        let Some(raw) = value else {
            problems.add(variable, "the value is not UTF-8");
            return;
        };
        let parsed = parse_value(raw);
        let key = find(&name);
        // A template may well begin so.
        let is_template = key.is_some_and(|key| key.shape == Shape::Template);
        if parsed.is_none() && !is_template && raw.trim_start().starts_with(['[', '{']) {
            problems.add(variable, "the value looks like TOML and is not");
            return;
        }
        let origin = Origin::Environment(variable.clone());
        if let Some(key) = key {
            self.values.insert(
                key.name,
                Setting {
                    value: parsed.unwrap_or_else(|| Value::from(raw)),
                    origin,
                    place: variable,
                    raw: Some(raw.to_owned()),
                },
            );
        } else {
            let value = parsed.unwrap_or_else(|| Value::from(raw));
            let table = Table::from_iter([(name, value)]);
            self.flatten("", table, &|_| variable.clone(), &origin, problems);
        }
    }

    /// Takes a table apart into keys, reporting what is none.
    fn flatten(
        &mut self,
        level: &str,
        table: Table,
        place: &dyn Fn(&str) -> String,
        origin: &Origin,
        problems: &mut Problems,
    ) {
        for (part, value) in table {
            let name = if level.is_empty() { part } else { format!("{level}.{part}") };
            match (find(&name), value) {
                (Some(Key { name, .. }), value) => {
                    let setting =
                        Setting { value, origin: origin.clone(), place: place(name), raw: None };
                    self.values.insert(name, setting);
                }
                (None, Value::Table(inner)) if is_level(&name) => {
                    self.flatten(&name, inner, place, origin, problems);
                }
                (None, _) if is_level(&name) => problems
                    .add(place(&name), format!("`{name}` holds keys; it has no value of its own")),
                (None, _) if name.starts_with(templates::LEVEL) => {
                    problems.add(place(&name), templates::unknown(&name));
                }
                (None, _) => {
                    let known = KEYS.iter().map(|key| key.name).chain(levels());
                    problems.unknown(&place(&name), &name, known);
                }
            }
        }
    }
}

/// A TOML value, if the text is exactly one.
fn parse_value(text: &str) -> Option<Value> {
    let mut table: Table = toml::from_str(&format!("v = {text}")).ok()?;
    // More than one key means that the text holds a line break and another assignment.
    (table.len() == 1).then(|| table.remove("v")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(text: &str, vars: &[(&str, &str)]) -> (Settings, String) {
        let mut problems = Problems::default();
        let env = vars.iter().copied().collect();
        let settings =
            Settings::gather(Some((Path::new("/c/config.toml"), text)), &env, &mut problems);
        let text = problems.unless_any(()).err().map(|error| error.to_string()).unwrap_or_default();
        (settings, text)
    }

    #[test]
    fn variables_go_before_the_file_and_the_file_before_defaults() {
        let (settings, problems) = gather(
            "owner = \"a\"\nexpire_without_asking = 5\n[wake]\nbusy_wait = \"1m\"\n",
            &[
                ("KANBAN_GATEWAY_WAKE__BUSY_WAIT", "5m"),
                ("KANBAN_GATEWAY_LOG", "{ level = \"debug\" }"),
                ("KANBAN_GATEWAY_CONFIG", "/c/config.toml"),
            ],
        );
        assert_eq!(problems, "");
        let shown = |name: &str| {
            let setting = settings.get(name).unwrap();
            (setting.value.to_string(), setting.origin.to_string())
        };
        assert_eq!(shown("owner"), ("\"a\"".into(), "file".into()));
        assert_eq!(
            shown("wake.busy_wait"),
            ("\"5m\"".into(), "environment (KANBAN_GATEWAY_WAKE__BUSY_WAIT)".into())
        );
        assert_eq!(shown("log.level").0, "\"debug\"");
        assert_eq!(shown("expire_without_asking"), ("5".into(), "file".into()));
        assert_eq!(shown("concurrency.total"), ("64".into(), "default".into()));
    }

    #[test]
    fn unknown_keys_name_their_line_or_variable_and_a_likely_key() {
        let (_, problems) = gather(
            "ownr = 1\n\n[wake]\nkind = []\n[wakes]\nx = 1\n[ntfi]\ntopic = \"x\"\n",
            &[("KANBAN_GATEWAY_BUSY_WAIT", "1m"), ("KANBAN_GATEWAY_NTFI__TOKEN", "x")],
        );
        for expected in [
            "/c/config.toml line 1: there is no key `ownr`; did you mean `owner`?",
            "/c/config.toml line 4: there is no key `wake.kind`; did you mean `wake.kinds`?",
            "/c/config.toml line 5: there is no key `wakes`; did you mean `wake`?",
            "/c/config.toml line 7: there is no key `ntfi`; did you mean `ntfy`?",
            "KANBAN_GATEWAY_NTFI__TOKEN: there is no key `ntfi.token`; did you mean `ntfy.token`?",
            "KANBAN_GATEWAY_BUSY_WAIT: there is no key `busy_wait`; did you mean `wake.busy_wait`?",
        ] {
            assert!(problems.contains(expected), "{problems}");
        }
    }

    #[test]
    fn a_broken_file_is_located_without_being_quoted() {
        let (_, problems) = gather("owner = \"a\"\nkey = \"s3cret\n", &[]);
        assert!(problems.contains("/c/config.toml line 2"), "{problems}");
        assert!(!problems.contains("s3cret"));
    }

    #[test]
    fn values_that_only_look_like_toml_are_refused_and_line_breaks_set_nothing_else() {
        let (settings, problems) = gather(
            "",
            &[("KANBAN_GATEWAY_BOARDS", "[\"a\""), ("KANBAN_GATEWAY_OWNER", "1\nw = 2")],
        );
        assert!(problems.contains("KANBAN_GATEWAY_BOARDS: the value looks like TOML"));
        assert_eq!(settings.get("owner").unwrap().value.as_str(), Some("1\nw = 2"));
    }

    #[test]
    fn a_table_or_key_that_stands_twice_is_named_with_both_its_lines() {
        for (text, told) in [
            (
                "[telegram]\ntoken = \"s3cret\"\n\n# mine\n[telegram]\ntoken = \"s3cret\"\n",
                "/c/config.toml line 5: `telegram` stands in line 1 already; put everything below",
            ),
            (
                "owner = \"a\"\n[wake]\nsettle = \"1s\"\n settle = \"2s\" # again\n",
                "/c/config.toml line 4: `wake.settle` stands in line 3 already; take one",
            ),
            ("poll = \"1s\"\npoll = \"2s\"\n", "line 2: `poll` stands in line 1 already"),
            ("wake.settle = \"1s\"\n[wake]\npoll = 1\n", "line 2: `wake` stands in line 1 already"),
            ("s3cret = 1\ns3cret = 2\n", "/c/config.toml line 2: duplicate key"),
        ] {
            let (_, problems) = gather(text, &[]);
            assert!(problems.contains(told) && !problems.contains("s3cret"), "{problems}");
        }
    }

    #[test]
    fn a_level_is_no_key() {
        let (_, problems) = gather("wake = 3\n", &[]);
        assert!(problems.contains("`wake` holds keys"), "{problems}");
    }
}
