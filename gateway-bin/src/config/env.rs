//! The process environment as a value: read once in `main`, passed to whoever needs it.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// A snapshot of environment variables. Holds secrets, so it shows only names.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(vars: I) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

impl Env {
    /// The value of a variable that is set, not empty and UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.os(name).and_then(OsStr::to_str)
    }

    /// The value of a variable that is set and not empty.
    pub fn os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Every variable whose name starts with `prefix` and whose value is not empty: the rest of the
    /// name, and the value unless it is not UTF-8.
    pub fn with_prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        self.vars.iter().filter_map(move |(name, value)| {
            let rest = name.to_str()?.strip_prefix(prefix)?;
            (!value.is_empty()).then(|| (rest, value.to_str()))
        })
    }

    /// `HOME`, when it is an absolute path.
    pub fn home(&self) -> Option<PathBuf> {
        self.absolute("HOME")
    }

    /// `$XDG_CONFIG_HOME/kanban-gateway`, or the same under `~/.config`.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// `$XDG_STATE_HOME/kanban-gateway`, or the same under `~/.local/state`.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// A path with a leading `~` replaced by the home folder, where there is one.
    pub fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home,
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    fn xdg(&self, name: &str, fallback: &str) -> Option<PathBuf> {
        // The base-directory specification has relative values ignored.
        self.absolute(name)
            .or_else(|| self.home().map(|home| home.join(fallback)))
            .map(|dir| dir.join("kanban-gateway"))
    }

    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_xdg_and_fall_back_to_home() {
        let env = Env::from_iter([("HOME", "/home/u"), ("XDG_STATE_HOME", "/state")]);
        assert_eq!(env.state_dir(), Some("/state/kanban-gateway".into()));
        assert_eq!(env.config_dir(), Some("/home/u/.config/kanban-gateway".into()));
        let env = Env::from_iter([("HOME", "/home/u"), ("XDG_STATE_HOME", "relative")]);
        assert_eq!(env.state_dir(), Some("/home/u/.local/state/kanban-gateway".into()));
        assert_eq!(Env::default().state_dir(), None);
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let env = Env::from_iter([("HOME", "/home/u")]);
        assert_eq!(env.expand(Path::new("~/x")), PathBuf::from("/home/u/x"));
        assert_eq!(env.expand(Path::new("~")), PathBuf::from("/home/u"));
        assert_eq!(env.expand(Path::new("/a/~")), PathBuf::from("/a/~"));
        assert_eq!(env.expand(Path::new("~other/x")), PathBuf::from("~other/x"));
    }

    #[test]
    fn empty_is_unset_and_values_are_never_shown() {
        let env = Env::from_iter([("A_X", "secret"), ("A_Y", "")]);
        assert_eq!(env.get("A_Y"), None);
        assert_eq!(env.with_prefix("A_").collect::<Vec<_>>(), [("X", Some("secret"))]);
        assert!(!format!("{env:?}").contains("secret"));
    }
}
