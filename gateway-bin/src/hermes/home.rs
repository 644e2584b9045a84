//! Where Hermes keeps its things: the home, the root that profiles share, and the profiles.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kanban_store::board::discovery::{Homes, real};

use super::variables::board_variables;
use crate::config::Env;

/// The name of the profile that lives in the root itself.
pub const DEFAULT_PROFILE: &str = "default";

/// The name of a home that is neither the root nor one of its profiles.
const CUSTOM_PROFILE: &str = "custom";

/// The folders of one Hermes installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HermesHome {
    /// The home that was named.
    pub home: PathBuf,
    /// The folder that all profiles share.
    pub root: PathBuf,
    /// The folder that holds boards and the dispatcher's lock.
    pub kanban_home: PathBuf,
    /// The profile that `home` belongs to.
    pub active: String,
}

/// One profile's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileHome {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
}

impl HermesHome {
    /// Finds root and kanban home for the named home; nothing need exist.
    pub fn resolve(home: &Path, env: &Env) -> Self {
        let homes = Homes::of(home, &board_variables(home, env));
        let active = profile_name(home, &homes.root);
        Self { active, home: homes.home, root: homes.root, kanban_home: homes.kanban }
    }

    /// Says so when there is no such folder: then nothing of a Hermes is found.
    pub fn missing(&self) -> Option<String> {
        let home = self.home.display();
        (!self.home.is_dir())
            .then(|| format!("there is no Hermes home at {home} (HERMES_HOME, or `hermes_home`)"))
    }

    /// The file that the gateway with the dispatcher keeps locked. Only ever to be looked up in
    /// `/proc/locks` (law O4).
    pub fn dispatcher_lock(&self) -> PathBuf {
        self.kanban_home.join("kanban").join(".dispatcher.lock")
    }

    /// The folder that holds the named profiles.
    pub fn profiles_dir(&self) -> PathBuf {
        self.root.join("profiles")
    }

    /// Every profile that exists: the root first, then by name, then a home apart from all of them.
    pub fn profiles(&self) -> Vec<ProfileHome> {
        let mut profiles =
            vec![ProfileHome { name: DEFAULT_PROFILE.to_owned(), path: self.root.clone() }];
        let entries = fs::read_dir(self.profiles_dir()).into_iter().flatten();
        let mut named: Vec<ProfileHome> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                let path = entry.path();
                let real = is_profile_name(&name) && name != DEFAULT_PROFILE && path.is_dir();
                real.then_some(ProfileHome { name, path })
            })
            .collect();
        named.sort_by(|a, b| a.name.cmp(&b.name));
        profiles.extend(named);
        if self.active == CUSTOM_PROFILE {
            profiles.push(ProfileHome { name: CUSTOM_PROFILE.to_owned(), path: self.home.clone() });
        }
        profiles
    }
}

/// Whether Hermes would accept this name for a profile: 1 to 64 of `a-z`, `0-9`, `_` and `-`, starting
/// with a letter or digit.
pub fn is_profile_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 64
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
}

fn profile_name(home: &Path, root: &Path) -> String {
    let (home, root) = (real(home), real(root));
    if home == root {
        return DEFAULT_PROFILE.to_owned();
    }
    home.strip_prefix(root.join("profiles"))
        .ok()
        .and_then(Path::to_str)
        .filter(|name| is_profile_name(name))
        .unwrap_or(CUSTOM_PROFILE)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(dir: &tempfile::TempDir) -> Env {
        Env::from_iter([("HOME", dir.path())])
    }

    #[test]
    fn the_native_home_is_the_root_of_all_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let native = dir.path().join(".hermes");
        for (home, active) in [
            ("", "default"),
            ("profiles/work", "work"),
            ("profiles/Bad Name", "custom"),
            ("elsewhere", "custom"),
        ] {
            let hermes = HermesHome::resolve(&native.join(home), &env(&dir));
            assert_eq!(hermes.root, native, "{home}");
            assert_eq!(hermes.active, active);
            assert_eq!(hermes.kanban_home, native);
        }
    }

    #[test]
    fn elsewhere_a_profile_knows_its_root_and_anything_else_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let hermes = HermesHome::resolve(&data, &env(&dir));
        assert_eq!((hermes.root.as_path(), hermes.active.as_str()), (data.as_path(), "default"));
        let hermes = HermesHome::resolve(&data.join("profiles/work"), &env(&dir));
        assert_eq!((hermes.root.as_path(), hermes.active.as_str()), (data.as_path(), "work"));
    }

    #[test]
    fn symlinks_lead_to_the_same_root() {
        let dir = tempfile::tempdir().unwrap();
        let native = dir.path().join(".hermes");
        fs::create_dir_all(native.join("profiles/work")).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(native.join("profiles/work"), &link).unwrap();
        let hermes = HermesHome::resolve(&link, &env(&dir));
        assert_eq!((hermes.root, hermes.active.as_str()), (native, "work"));
    }

    #[test]
    fn the_kanban_home_can_be_moved() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("h");
        fs::create_dir(&home).unwrap();
        fs::write(home.join(".env"), "HERMES_KANBAN_HOME=~/boards\n").unwrap();
        let hermes = HermesHome::resolve(&home, &env(&dir));
        assert_eq!(hermes.kanban_home, dir.path().join("boards"));
        // Hermes lets its file go before the environment, and so an empty line there counts too.
        let vars = [("HERMES_KANBAN_HOME", Path::new("/k")), ("HOME", dir.path())];
        let moved = Env::from_iter(vars);
        assert_eq!(HermesHome::resolve(&home, &moved).kanban_home, dir.path().join("boards"));
        fs::write(home.join(".env"), "HERMES_KANBAN_HOME=\n").unwrap();
        assert_eq!(HermesHome::resolve(&home, &moved).kanban_home, home);
        fs::remove_file(home.join(".env")).unwrap();
        let hermes = HermesHome::resolve(&home, &moved);
        assert_eq!(hermes.dispatcher_lock(), PathBuf::from("/k/kanban/.dispatcher.lock"));
    }

    #[test]
    fn profiles_are_listed_root_first_and_only_with_valid_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("h");
        for name in ["work", "a-1", "default", "Bad", ".hidden"] {
            fs::create_dir_all(root.join("profiles").join(name)).unwrap();
        }
        fs::write(root.join("profiles/file"), "").unwrap();
        let names = |home: &Path| -> Vec<String> {
            let hermes = HermesHome::resolve(home, &env(&dir));
            hermes.profiles().into_iter().map(|profile| profile.name).collect()
        };
        assert_eq!(names(&root), ["default", "a-1", "work"]);
        assert_eq!(names(&root.join("profiles/Bad")), ["default", "a-1", "work", "custom"]);
        assert_eq!(names(Path::new("/nowhere/at/all")), ["default"]);
    }

    #[test]
    fn names_are_hermes_names() {
        assert!(is_profile_name("a") && is_profile_name("0-_9"));
        for name in ["", "-a", "_a", "A", "a.b", "a b", &"a".repeat(65)] {
            assert!(!is_profile_name(name), "{name}");
        }
    }
}
