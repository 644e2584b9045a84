//! Typed reading of settings: each reader notes what is wrong and goes on, so that all faults are found.

use std::{
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use toml::Value;

use super::{
    env::Env,
    keys::find,
    problem::Problems,
    source::{Origin, Setting, Settings},
};

/// Reads settings by key. What it returns after a fault is a stand-in that nobody gets to see.
pub(super) struct Reader<'a> {
    pub settings: &'a Settings,
    pub env: &'a Env,
    pub problems: &'a mut Problems,
}

impl Reader<'_> {
    /// Text, trimmed.
    pub(super) fn text(&mut self, name: &str) -> String {
        self.read(name, |setting| text_of(setting).map(|text| text.trim().to_owned()))
            .unwrap_or_default()
    }

    /// One of a few words.
    pub(super) fn choice<T: Clone>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name);
        let found =
            choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| choice.clone());
        if found.is_none() {
            let words: Vec<String> =
                choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong(name, format!("must be {}, not \"{text}\"", words.join(" or ")));
        }
        found
    }

    /// A whole number within a range.
    pub(super) fn count<T>(&mut self, name: &str, range: RangeInclusive<T>) -> T
    where
        T: TryFrom<i64> + PartialOrd + Display + Default,
    {
        let Some(number) = self.read(name, |setting| setting.value.as_integer()) else {
            return T::default();
        };
        match T::try_from(number).ok().filter(|count| range.contains(count)) {
            Some(count) => count,
            None => {
                let (low, high) = (range.start(), range.end());
                self.wrong(name, format!("must be {low} to {high}, not {number}"));
                T::default()
            }
        }
    }

    /// A span of time within a range that is given as it is documented.
    pub(super) fn span(&mut self, name: &str, low: &str, high: &str) -> Duration {
        let parsed =
            self.read(name, |setting| humantime::parse_duration(text_of(setting)?.trim()).ok());
        let Some(span) = parsed else {
            return Duration::ZERO;
        };
        let within = |bound: &str, holds: fn(&Duration, &Duration) -> bool| {
            humantime::parse_duration(bound).is_ok_and(|bound| holds(&span, &bound))
        };
        if !(within(low, Duration::ge) && within(high, Duration::le)) {
            let shown = humantime::format_duration(span);
            self.wrong(name, format!("must be {low} to {high}, not {shown}"));
        }
        span
    }

    /// `true` or `false`.
    pub(super) fn switch(&mut self, name: &str) -> bool {
        self.read(name, |setting| setting.value.as_bool()).unwrap_or_default()
    }

    /// A path, if the key is set.
    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.settings.get(name)?;
        let text = self.read(name, |setting| text_of(setting).filter(|text| !text.is_empty()))?;
        let origin = &self.settings.get(name)?.origin;
        Some(self.locate(&text, origin))
    }

    /// A list of paths; a variable may separate them by commas.
    pub(super) fn paths(&mut self, name: &str) -> Vec<PathBuf> {
        let texts = self.names(name);
        let Some(setting) = self.settings.get(name) else {
            return Vec::new();
        };
        texts.iter().map(|text| self.locate(text, &setting.origin)).collect()
    }

    /// A list of names; a variable may separate them by commas.
    pub(super) fn names(&mut self, name: &str) -> Vec<String> {
        let names = self.read(name, list_of).unwrap_or_default();
        if names.iter().any(String::is_empty) {
            self.wrong(name, "must not contain empty names");
        }
        names
    }

    /// Text or a list of names.
    pub(super) fn text_or_names(&mut self, name: &str) -> Result<String, Vec<String>> {
        match self.settings.get(name) {
            Some(setting) if setting.value.is_array() => Err(self.names(name)),
            _ => Ok(self.text(name)),
        }
    }

    /// Notes a fault of a key.
    pub(super) fn wrong(&mut self, name: &str, message: impl Display) {
        let place = match self.settings.get(name) {
            Some(setting) => setting.place.clone(),
            None => "default".to_owned(),
        };
        self.problems.add(place, format!("`{name}` {message}"));
    }

    /// A path as its origin means it.
    pub(super) fn locate(&self, text: &str, origin: &Origin) -> PathBuf {
        let path = self.env.expand(Path::new(text));
        match (&self.settings.folder, origin) {
            (Some(folder), Origin::File) => folder.join(path),
            _ => path,
        }
    }

    fn read<T>(&mut self, name: &str, take: impl FnOnce(&Setting) -> Option<T>) -> Option<T> {
        let taken = self.settings.get(name).and_then(take);
        if taken.is_none() {
            let words = find(name).map_or("set", |key| key.shape.words());
            self.wrong(name, format!("must be {words}"));
        }
        taken
    }
}

/// Text, also where a variable's text happens to read as another kind of value.
pub(super) fn text_of(setting: &Setting) -> Option<String> {
    match (&setting.value, &setting.raw) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Some(raw)) => Some(raw.clone()),
        _ => None,
    }
}

pub(super) fn list_of(setting: &Setting) -> Option<Vec<String>> {
    let trimmed = |text: &str| text.trim().to_owned();
    match (&setting.value, &setting.raw) {
        (Value::Array(items), _) => items.iter().map(|item| item.as_str().map(trimmed)).collect(),
        (_, Some(raw)) => Some(raw.split(',').map(trimmed).collect()),
        _ => None,
    }
}
