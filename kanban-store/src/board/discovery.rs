//! Finding boards: Hermes' home, its boards by name, and the files behind them.
//!
//! The environment is asked through a closure, so that a configuration can stand in for it.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::file::read_small;
use crate::error::StoreError;

/// The board that is there without ever having been created by name.
pub const DEFAULT_SLUG: &str = "default";

/// The longest name of a board, in characters.
pub const MAX_SLUG_CHARS: usize = 64;

/// Looks up a variable of the environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A board that was found by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPath {
    /// Its name in commands and paths.
    pub slug: String,
    /// The file; canonical if it is there.
    pub path: PathBuf,
    /// Whether `board.json` calls it archived: such a board is not served.
    pub archived: bool,
    /// Its name for people.
    pub name: String,
    /// Whether the file is there. `default` is listed also without one.
    pub present: bool,
}

/// The folders that everything else is found from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    /// The home of this profile: `HERMES_HOME`, else `~/.hermes`.
    pub home: PathBuf,
    /// The home that all profiles share.
    pub root: PathBuf,
    /// Where the boards are: `HERMES_KANBAN_HOME`, else the root.
    pub kanban: PathBuf,
}

impl Homes {
    /// Finds the folders; they need not exist.
    pub fn find(env: Env<'_>) -> Result<Self, StoreError> {
        let user = user_home(env);
        let native = native_home(env, user.as_deref());
        let given = var(env, "HERMES_HOME").map(|text| expand(&text, user.as_deref()));
        let (home, root) = match (given, native) {
            (None, None) => return Err(StoreError::NoHome),
            (None, Some(native)) => (native.clone(), native),
            (Some(home), Some(native)) if home.starts_with(&native) => (home, native),
            (Some(home), _) => {
                let root = profile_root(&home).unwrap_or_else(|| home.clone());
                (home, root)
            }
        };
        let kanban = var(env, "HERMES_KANBAN_HOME")
            .map_or_else(|| root.clone(), |text| expand(&text, user.as_deref()));
        Ok(Self { home, root, kanban })
    }

    /// The folder of the named boards.
    pub fn boards(&self) -> PathBuf {
        self.kanban.join("kanban").join("boards")
    }

    /// The file that names the board which commands use when none is given.
    pub fn current_file(&self) -> PathBuf {
        self.kanban.join("kanban").join("current")
    }

    /// Where the file of a board is by rule, whether it is there or not.
    pub fn database(&self, slug: &str) -> PathBuf {
        if slug == DEFAULT_SLUG {
            self.kanban.join("kanban.db")
        } else {
            self.boards().join(slug).join("kanban.db")
        }
    }

    /// Whether there is a board of that name.
    pub fn exists(&self, slug: &str) -> bool {
        let folder = self.boards().join(slug);
        slug == DEFAULT_SLUG
            || folder.join("kanban.db").exists()
            || folder.join("board.json").exists()
    }
}

/// All boards: `default` first, then the others by name; each file once, whatever leads to it.
pub fn discover(env: Env<'_>) -> Result<Vec<BoardPath>, StoreError> {
    let homes = Homes::find(env)?;
    let mut slugs = vec![DEFAULT_SLUG.to_owned()];
    slugs.extend(named(&homes)?);
    let mut seen = HashSet::new();
    Ok(slugs
        .into_iter()
        .map(|slug| describe(env, &homes, slug))
        .filter(|board| seen.insert(board.path.clone()))
        .collect())
}

/// The folder that `board.json` names for the tasks of the board at `path`; none, if it names none.
#[cfg(feature = "write")]
pub(crate) fn default_workdir(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let named = folder.parent().and_then(Path::file_name) == Some("boards".as_ref());
    // The default board lies above its description.
    let about = if named {
        folder.join("board.json")
    } else {
        folder.join("kanban/boards").join(DEFAULT_SLUG).join("board.json")
    };
    let about: serde_json::Value = serde_json::from_str(&read_small(&about).ok()?).ok()?;
    let folder = about.get("default_workdir")?.as_str()?;
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// The board that a command means: the one given, else `HERMES_KANBAN_BOARD`, else the one in the
/// file `current`, else `default`. The last three are passed over when they name no board.
pub fn resolve(env: Env<'_>, given: Option<&str>) -> Result<BoardPath, StoreError> {
    let homes = Homes::find(env)?;
    let slug = match given {
        Some(text) => {
            let slug = parse_slug(text)?;
            // With a pinned file every name leads to it.
            if !homes.exists(&slug) && var(env, "HERMES_KANBAN_DB").is_none() {
                return Err(StoreError::UnknownBoard { slug });
            }
            slug
        }
        None => {
            let known = |text: String| parse_slug(&text).ok().filter(|slug| homes.exists(slug));
            var(env, "HERMES_KANBAN_BOARD")
                .and_then(known)
                .or_else(|| read_small(&homes.current_file()).ok().and_then(known))
                .unwrap_or_else(|| DEFAULT_SLUG.to_owned())
        }
    };
    Ok(describe(env, &homes, slug))
}

/// The name as it is used: trimmed and lower-cased.
pub fn parse_slug(text: &str) -> Result<String, StoreError> {
    let slug = text.trim().to_lowercase();
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let well_formed = slug.chars().next().is_some_and(letter)
        && slug.chars().all(|c| letter(c) || c == '-' || c == '_')
        && slug.len() <= MAX_SLUG_CHARS;
    if well_formed { Ok(slug) } else { Err(StoreError::BadSlug { slug: text.into() }) }
}

fn named(homes: &Homes) -> Result<Vec<String>, StoreError> {
    let folder = homes.boards();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(StoreError::ReadFile { path: folder, source });
        }
    };
    let mut slugs: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        // Names are compared as they are on disk: `_archived` and `Upper` are no boards.
        .filter(|name| name != DEFAULT_SLUG && parse_slug(name).is_ok_and(|slug| slug == *name))
        .filter(|name| homes.exists(name))
        .collect();
    slugs.sort();
    Ok(slugs)
}

fn describe(env: Env<'_>, homes: &Homes, slug: String) -> BoardPath {
    let file = var(env, "HERMES_KANBAN_DB")
        .map_or_else(|| homes.database(&slug), |text| expand(&text, user_home(env).as_deref()));
    let canonical = file.canonicalize();
    let present = canonical.is_ok();
    let about = read_small(&homes.boards().join(&slug).join("board.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let field = |name: &str| about.as_ref().and_then(|about| about.get(name));
    let name = field("name")
        .and_then(serde_json::Value::as_str)
        .filter(|name| !name.trim().is_empty())
        .map_or_else(|| title(&slug), str::to_owned);
    BoardPath {
        archived: field("archived").and_then(serde_json::Value::as_bool) == Some(true),
        name,
        path: canonical.unwrap_or(file),
        present,
        slug,
    }
}

/// `my-board` is `My Board` for people who gave it no other name.
pub(crate) fn title(slug: &str) -> String {
    let words = slug.split(['-', '_']).filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            first.into_iter().chain(chars).collect()
        })
        .collect();
    words.join(" ")
}

/// A variable that is set to something.
fn var(env: Env<'_>, name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

fn user_home(env: Env<'_>) -> Option<PathBuf> {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    var(env, name).map(PathBuf::from)
}

fn native_home(env: Env<'_>, user: Option<&Path>) -> Option<PathBuf> {
    if cfg!(windows) {
        return var(env, "LOCALAPPDATA").map(|folder| PathBuf::from(folder).join("hermes"));
    }
    user.map(|user| user.join(".hermes"))
}

/// The shared home, when `home` is that of a profile below it.
fn profile_root(home: &Path) -> Option<PathBuf> {
    let parent = home.parent()?;
    (parent.file_name()? == "profiles").then(|| parent.parent().map(Path::to_path_buf))?
}

fn expand(text: &str, user: Option<&Path>) -> PathBuf {
    let text = text.trim();
    match (text.strip_prefix('~'), user) {
        (Some(""), Some(user)) => user.into(),
        (Some(rest), Some(user)) if rest.starts_with('/') => {
            user.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    }
}
