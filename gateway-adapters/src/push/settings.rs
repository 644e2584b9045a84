//! What is set for a platform: texts by field, secrets among them.

use std::collections::BTreeMap;

use kanban_notify::ids::ChannelName;
use secrecy::{ExposeSecret as _, SecretString};

use super::Platform;
use crate::{AdapterError, error::NOT_SET, http::base::base};

/// One thing that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its key in the platform's table of the configuration.
    pub name: &'static str,
    /// What it must look like.
    pub kind: FieldKind,
    /// Hermes' variable for it, in the environment or in `.env`; empty for none. A secret's may also have
    /// `_FILE` at its end and name a file.
    pub variable: &'static str,
    /// What holds where it is not set; empty for nothing.
    pub default: &'static str,
    /// What it is, in words for the default file of the configuration.
    pub about: &'static str,
}

/// What a field must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Text.
    Text,
    /// Text that is never shown; `<name>_file` names a file that holds it.
    Secret,
    /// Several secrets, with commas between them.
    Secrets,
    /// `true` or `false`.
    Switch,
    /// A whole number above 0.
    Count,
}

impl FieldKind {
    /// Whether its value is never shown.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Secrets)
    }
}

/// The fields that are set for one platform.
#[derive(Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, SecretString>,
    secret_from: String,
    /// Where each value stands, for whoever is to mend it.
    places: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Sets a field; an empty value sets nothing.
    pub fn set(&mut self, field: &Field, value: &str) {
        let value = match field.kind {
            FieldKind::Secrets => listed(value).collect::<Vec<_>>().join(","),
            _ => value.trim().to_owned(),
        };
        if !value.is_empty() {
            self.values.insert(field.name, SecretString::from(value));
        }
    }

    /// Notes where the value of a field stands: a line of a file, or a variable.
    pub fn stands_at(&mut self, field: &Field, place: String) {
        if self.values.contains_key(field.name) {
            self.places.insert(field.name, place);
        }
    }

    /// Where the value of a field stands, or for one that is not set the first that is.
    pub fn place(&self, name: &str) -> Option<&str> {
        let place = self.places.get(name).or_else(|| self.places.values().next());
        place.map(String::as_str)
    }

    /// These settings, and `below` for what they leave open.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        let mut all = below.clone();
        all.values.extend(self.values.clone());
        all.places.extend(self.places.clone());
        if !self.secret_from.is_empty() {
            all.secret_from.clone_from(&self.secret_from);
        }
        all
    }

    /// Says where a secret comes from and what to do after changing it, for whoever reads that it is refused.
    pub fn secret_from(&mut self, from: &str) {
        if !self.secret_from.is_empty() {
            self.secret_from.push_str(" and ");
        }
        self.secret_from.push_str(from);
    }

    /// Where the secrets come from; empty where nobody said.
    pub fn origin(&self) -> &str {
        &self.secret_from
    }

    /// The same, or which field a secret that is not set would stand in.
    pub fn origin_or(&self, platform: &Platform, name: &str) -> String {
        if !self.secret_from.is_empty() {
            return self.secret_from.clone();
        }
        let variable = platform.fields.iter().find(|field| field.name == name);
        let variable = variable.map(|field| field.variable).unwrap_or_default();
        format!("`{}.{name}` ({variable}), which is not set", platform.name)
    }

    /// The value of a field, if it is set.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(self.values.get(name)?.expose_secret())
    }

    /// Where a platform is that has no usual address.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Address`] where it is not set or none.
    pub fn base(&self, channel: &ChannelName) -> Result<String, AdapterError> {
        let missing = || AdapterError::Address { channel: channel.to_string(), reason: NOT_SET };
        base(channel.as_str(), self.text("url").ok_or_else(missing)?)
    }

    /// Where a platform is, or else its usual address.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Address`] where it is none.
    pub fn base_or(&self, channel: &ChannelName, usual: &str) -> Result<String, AdapterError> {
        base(channel.as_str(), self.text("url").unwrap_or(usual))
    }

    /// The value of a secret field.
    ///
    /// # Errors
    ///
    /// [`AdapterError::Setting`] where it is not set or not one word of visible ASCII characters.
    pub fn secret(&self, channel: &ChannelName, name: &str) -> Result<SecretString, AdapterError> {
        let refuse =
            |reason| AdapterError::Key { channel: channel.to_string(), reason }.of_field(name);
        let secret = self.values.get(name).ok_or_else(|| refuse(NOT_SET))?;
        if !secret.expose_secret().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refuse("it is not one word of visible ASCII characters"));
        }
        Ok(secret.clone())
    }

    /// The values of a field that holds several secrets; at least one.
    ///
    /// # Errors
    ///
    /// As [`Settings::secret`].
    pub fn secrets(
        &self,
        channel: &ChannelName,
        name: &str,
    ) -> Result<Vec<SecretString>, AdapterError> {
        let all = self.secret(channel, name)?;
        Ok(listed(all.expose_secret()).map(SecretString::from).collect())
    }

    /// Whether a switch is on, in one of Hermes' words or ours.
    pub fn is_on(&self, name: &str) -> bool {
        let text = self.text(name).unwrap_or_default();
        ["true", "1", "yes", "on"].contains(&text.to_ascii_lowercase().as_str())
    }

    /// The length of a part: what is set, and no more than the platform's limit.
    pub fn max_length(&self, limit: usize) -> usize {
        self.count(MAX_LENGTH, limit)
    }

    /// A number, and no more than `most`.
    pub fn count(&self, name: &str, most: usize) -> usize {
        let count = self.text(name).and_then(|text| text.parse().ok());
        count.filter(|count| (1..=most).contains(count)).unwrap_or(most)
    }
}

fn listed(values: &str) -> impl Iterator<Item = &str> {
    values.split(',').map(str::trim).filter(|value| !value.is_empty())
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&str, &str)| self.text(a) == other.text(b) && a == b;
        self.values.len() == other.values.len()
            && self.secret_from == other.secret_from
            && self.values.keys().copied().zip(other.values.keys().copied()).all(same)
    }
}

impl Eq for Settings {}

/// The name of the switch for platforms where only the operator knows whether receivers remember keys.
pub const DEDUPLICATES: &str = "deduplicates";

/// The name of the field that bounds the length of a part.
pub const MAX_LENGTH: &str = "max_length";

/// The field that bounds the length of a part, for servers with another limit than the usual one.
pub const fn max_length(default: &'static str) -> Field {
    Field {
        name: MAX_LENGTH,
        kind: FieldKind::Count,
        variable: "",
        default,
        about: "The longest message; what is longer goes in parts. No more than the default.",
    }
}

/// The field for where a platform is.
pub const fn url(variable: &'static str, default: &'static str, about: &'static str) -> Field {
    Field { name: "url", kind: FieldKind::Text, variable, default, about }
}

/// A field for a secret.
pub const fn secret(name: &'static str, variable: &'static str, about: &'static str) -> Field {
    Field { name, kind: FieldKind::Secret, variable, default: "", about }
}
