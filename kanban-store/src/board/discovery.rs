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
    /// The file, without links on the way to it.
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
        let given = var(env, "HERMES_HOME").map(|text| expand(&text, user.as_deref()));
        let home = given.or_else(|| native_home(env, user.as_deref())).ok_or(StoreError::NoHome)?;
        Ok(Self::of(&home, env))
    }

    /// The folders that go with a home of a profile, whatever `HERMES_HOME` says.
    pub fn of(home: &Path, env: Env<'_>) -> Self {
        let user = user_home(env);
        // Links to the native home, and from inside it, are followed as Hermes follows them.
        let native =
            native_home(env, user.as_deref()).filter(|native| real(home).starts_with(real(native)));
        let root = native.or_else(|| profile_root(home)).unwrap_or_else(|| home.to_owned());
        let kanban = var(env, "HERMES_KANBAN_HOME")
            .map_or_else(|| root.clone(), |text| expand(&text, user.as_deref()));
        Self { home: home.to_owned(), root, kanban }
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
        slug == DEFAULT_SLUG || holds_board(&self.boards().join(slug))
    }
}

/// All boards: `default` first, then the others by name; each file once, whatever leads to it.
pub fn discover(env: Env<'_>) -> Result<Vec<BoardPath>, StoreError> {
    let homes = Homes::find(env)?;
    let mut slugs = vec![DEFAULT_SLUG.to_owned()];
    slugs.extend(named(&homes)?);
    let all: Vec<BoardPath> = slugs.into_iter().map(|slug| describe(env, &homes, slug)).collect();
    // Under a name that is archived a file does not count while it has another one that is not.
    let live = all.iter().filter(|board| !board.archived).map(|board| board.path.clone());
    let live: HashSet<PathBuf> = live.collect();
    let mut seen = HashSet::new();
    let mut once = all;
    once.retain(|board| {
        (!board.archived || !live.contains(&board.path)) && seen.insert(board.path.clone())
    });
    Ok(once)
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

/// The path without links, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if parent != path => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// The newest folder in the archive of the board whose file would be at `path`, if it was put away.
pub fn put_away(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let slug = folder.file_name()?.to_str()?;
    let entries = std::fs::read_dir(folder.parent()?.join("_archived")).ok()?;
    let put_away = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name();
        let when = name.to_str()?.strip_prefix(slug)?.strip_prefix('-')?;
        let (at, turn) = when.split_once('-').unwrap_or((when, "0"));
        Some((at.parse::<u64>().ok()?, turn.parse::<u64>().ok()?, entry.path()))
    });
    put_away.max().map(|(.., place)| place)
}

fn holds_board(folder: &Path) -> bool {
    folder.join("kanban.db").exists() || folder.join("board.json").exists()
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
        // What is no name, such as `_archived`, is no board. A name in capitals is the board in
        // small letters, which is another folder on most file systems and the same on some.
        .filter_map(|entry| {
            let slug = parse_slug(entry.file_name().to_str()?).ok()?;
            (slug != DEFAULT_SLUG && holds_board(&entry.path())).then_some(slug)
        })
        .collect();
    slugs.sort();
    slugs.dedup();
    Ok(slugs)
}

fn describe(env: Env<'_>, homes: &Homes, slug: String) -> BoardPath {
    let file = var(env, "HERMES_KANBAN_DB")
        .map_or_else(|| homes.database(&slug), |text| expand(&text, user_home(env).as_deref()));
    let about = read_small(&homes.boards().join(&slug).join("board.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let field = |name: &str| about.as_ref().and_then(|about| about.get(name));
    let name = field("name")
        .and_then(serde_json::Value::as_str)
        .filter(|name| !name.trim().is_empty())
        .map_or_else(|| title(&slug), str::to_owned);
    BoardPath {
        archived: field("archived").is_some_and(is_true),
        name,
        present: file.exists(),
        path: real(&file),
        slug,
    }
}

/// Whether Hermes takes a value for a yes, whatever its type: anything but nothing is.
fn is_true(value: &serde_json::Value) -> bool {
    use serde_json::Value;

    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
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
