//! A profile's `config.yaml` and `.env`, read leniently: what cannot be read is reported, never fatal.

use std::{collections::BTreeMap, fmt, io, path::Path};

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::dotenv;
use crate::{config::Env, platforms::read_whole};

/// What a profile's files say.
#[derive(Clone, Default)]
pub(super) struct Files {
    config: Value,
    dotenv: BTreeMap<String, String>,
    /// What could not be read, for people.
    pub problems: Vec<String>,
    /// Lines that Hermes passes over, and so we do.
    pub skipped: Vec<String>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both files hold secrets.
        f.debug_struct("Files").field("problems", &self.problems).finish_non_exhaustive()
    }
}

impl Files {
    /// Reads both files of a profile's home; a missing one is an empty one.
    pub(super) fn read(home: &Path) -> Self {
        let mut files = Self::default();
        let path = home.join("config.yaml");
        match found(read_whole(&path)) {
            Ok(bytes) => match yaml(&String::from_utf8_lossy(&bytes.unwrap_or_default())) {
                Ok(config) => files.config = config,
                Err(line) => {
                    let path = path.display();
                    files
                        .problems
                        .push(format!("{path}{line} is not valid YAML; its settings are unknown"));
                }
            },
            Err(error) => files.problems.push(format!("{}: {error}", path.display())),
        }
        let path = home.join(".env");
        match found(dotenv::read(&path)) {
            Ok(read) => {
                let read = read.unwrap_or_default();
                files.dotenv = read.values;
                files.skipped.extend(read.broken.iter().map(|line| {
                    let path = path.display();
                    format!("{path} line {line} is no assignment; Hermes skips it, and so do we")
                }));
            }
            Err(error) => files.problems.push(format!("{}: {error}", path.display())),
        }
        files
    }

    /// A value of `config.yaml` by its path of keys.
    pub(super) fn config(&self, path: &[&str]) -> Option<&Value> {
        path.iter()
            .try_fold(&self.config, |value, key| value.get(key))
            .filter(|value| !value.is_null())
    }

    /// The variables as the profile's gateway sees them: `.env` goes before what it was started with.
    pub(super) fn variables<'a>(&'a self, started_with: &'a Env) -> Variables<'a> {
        Variables { dotenv: &self.dotenv, started_with }
    }
}

/// Variables in two layers.
#[derive(Clone, Copy)]
pub(super) struct Variables<'a> {
    dotenv: &'a BTreeMap<String, String>,
    started_with: &'a Env,
}

impl<'a> Variables<'a> {
    /// The value of a variable that is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        match self.dotenv.get(name) {
            // An empty assignment still hides the other layer.
            Some(value) => Some(value.as_str()).filter(|value| !value.is_empty()),
            None => self.started_with.get(name),
        }
    }

    /// Whether `.env` says something about a variable.
    pub(super) fn is_in_file(&self, name: &str) -> bool {
        self.dotenv.contains_key(name)
    }

    /// Whether a variable holds one of Hermes' words for "yes".
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_on)
    }

    /// Whether a variable holds one of Hermes' words for "no".
    pub(super) fn is_off(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_off)
    }
}

/// Hermes' words for "yes".
fn is_on(text: &str) -> bool {
    ["1", "true", "yes", "on"].contains(&text.trim().to_lowercase().as_str())
}

/// Hermes' words for "no".
fn is_off(text: &str) -> bool {
    ["0", "false", "no", "off"].contains(&text.trim().to_lowercase().as_str())
}

/// A YAML value as a switch. Hermes' YAML is version 1.1, where a bare `off` or `no` is false.
pub(super) fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(on) => Some(*on),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(text) if is_on(text) => Some(true),
        Value::String(text) if is_off(text) => Some(false),
        _ => None,
    }
}

/// The document, or the line that breaks it. The parser's own words may quote secrets.
fn yaml(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        error.location().map(|location| format!(" line {}", location.line())).unwrap_or_default()
    })
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn home(config: &str, env: &str) -> (tempfile::TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.yaml"), config).unwrap();
        fs::write(dir.path().join(".env"), env).unwrap();
        let files = Files::read(dir.path());
        (dir, files)
    }

    #[test]
    fn missing_files_are_empty_ones() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::read(dir.path());
        assert!(files.problems.is_empty() && files.config(&["kanban"]).is_none());
    }

    #[test]
    fn what_hermes_writes_is_read() {
        let (_dir, files) = home(
            "model:\n  default: m\nkanban: &k\n  dispatch_in_gateway: off\n  dispatch_in_gateway: no\n\
             other:\n  <<: *k\n1: one\nlist: [a, b]\nempty:\nwhen: 2026-01-01\n",
            "A=file\nEMPTY=\n",
        );
        assert!(files.problems.is_empty(), "{files:?}");
        let gate = files.config(&["kanban", "dispatch_in_gateway"]).unwrap();
        assert_eq!(switch(gate), Some(false));
        assert!(files.config(&["other", "dispatch_in_gateway"]).is_some());
        assert!(files.config(&["empty"]).is_none());
        let started = Env::from_iter([("A", "process"), ("B", "process"), ("EMPTY", "x")]);
        let variables = files.variables(&started);
        assert_eq!(variables.get("A"), Some("file"));
        assert_eq!(variables.get("B"), Some("process"));
        assert_eq!(variables.get("EMPTY"), None);
    }

    #[test]
    fn a_broken_file_is_reported_by_line_and_never_quoted() {
        let (dir, files) = home("a: 1\nkey: [s3cret\nb: }\n", "A=1");
        assert_eq!(files.problems.len(), 1);
        assert!(files.problems[0].contains("config.yaml line "), "{files:?}");
        assert!(!files.problems[0].contains("s3cret"));
        assert_eq!(files.variables(&Env::default()).get("A"), Some("1"));
        fs::remove_file(dir.path().join(".env")).unwrap();
        fs::create_dir(dir.path().join(".env")).unwrap();
        assert_eq!(Files::read(dir.path()).problems.len(), 2);
    }

    #[test]
    fn a_line_that_hermes_skips_is_told_and_never_quoted() {
        let (_dir, files) = home("", "A=1\n\nDISCORD_BOT_TOKEN=\"s3cret\nB=2\n");
        assert!(files.problems.is_empty(), "{files:?}");
        assert!(files.skipped[0].contains(".env line 3 is no assignment"), "{:?}", files.skipped);
        assert!(files.skipped.len() == 1 && !files.skipped[0].contains("s3cret"));
        assert_eq!(files.variables(&Env::default()).get("B"), Some("2"));
    }

    #[test]
    fn switches_know_both_yaml_versions() {
        for (text, on) in
            [("true", true), ("yes", true), ("on", true), ("off", false), ("0", false)]
        {
            let (_dir, files) = home(&format!("x: {text}\n"), "");
            assert_eq!(switch(files.config(&["x"]).unwrap()), Some(on), "{text}");
        }
        assert_eq!(switch(&Value::from("maybe")), None);
    }
}
