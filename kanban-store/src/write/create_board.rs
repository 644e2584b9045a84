//! `init` and `boards create`: a new board, in the shape that Hermes 0.19.0 gives it (law B1).

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use diesel::{Connection, connection::SimpleConnection, sqlite::SqliteConnection};
use serde::Serialize;

use crate::{
    board::{
        connection::uri_with,
        discovery::{Homes, parse_slug},
    },
    error::StoreError,
};

/// Tables and indexes by the names, types and defaults that Hermes looks for.
const SHAPE: &str = include_str!("board.sql");

/// Makes a board at `path`, where nothing must be yet. Its folder is made if need be.
///
/// The file appears under its name only when it is complete.
pub fn create_board(path: &Path) -> Result<(), StoreError> {
    if path.symlink_metadata().is_ok() {
        return Err(StoreError::BoardExists { path: path.into() });
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| failed(path, error))?;
    }
    let draft = draft_of(path);
    let made = fill(path, &draft).and_then(|()| place(&draft, path));
    // Nobody else knows the draft's name; what is not there need not be removed.
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = draft.clone().into_os_string();
        name.push(suffix);
        drop(std::fs::remove_file(name));
    }
    made
}

/// Makes a board called `slug` among the others, with its `board.json`; answers with its path.
pub fn create_named_board(
    homes: &Homes,
    slug: &str,
    name: Option<&str>,
    now: i64,
) -> Result<PathBuf, StoreError> {
    let slug = parse_slug(slug)?;
    let path = homes.database(&slug);
    create_board(&path)?;
    if slug != crate::board::discovery::DEFAULT_SLUG {
        let about = About {
            slug: &slug,
            name: name.map_or_else(
                || crate::board::discovery::title(&slug),
                |name| name.trim().to_owned(),
            ),
            description: "",
            icon: "",
            color: "",
            default_workdir: None,
            created_at: now,
            archived: false,
        };
        let text = serde_json::to_string_pretty(&about).map_err(|error| failed(&path, error))?;
        describe(&path.with_file_name("board.json"), &text)?;
    }
    Ok(path)
}

#[derive(Serialize)]
struct About<'a> {
    slug: &'a str,
    name: String,
    description: &'a str,
    icon: &'a str,
    color: &'a str,
    default_workdir: Option<&'a str>,
    created_at: i64,
    archived: bool,
}

fn fill(path: &Path, draft: &Path) -> Result<(), StoreError> {
    let url = uri_with(draft, "rwc");
    let mut connection = SqliteConnection::establish(&url).map_err(|error| failed(path, error))?;
    connection
        .batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .and_then(|()| connection.batch_execute(&format!("BEGIN; {SHAPE} COMMIT;")))
        .map_err(|error| failed(path, error))
    // The only connection closes here, and SQLite folds the draft's WAL into it.
}

/// Gives the draft its name, unless somebody took the name meanwhile.
fn place(draft: &Path, path: &Path) -> Result<(), StoreError> {
    match std::fs::hard_link(draft, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(StoreError::BoardExists { path: path.into() })
        }
        // Some file systems have no hard links. The gap between the look and the move is ours.
        Err(_) if path.symlink_metadata().is_err() => {
            std::fs::rename(draft, path).map_err(|error| failed(path, error))
        }
        Err(error) => Err(failed(path, error)),
    }
}

fn draft_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new-{:016x}", fastrand::u64(..)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a description in JSON beside the board, not the board"
)]
fn describe(path: &Path, text: &str) -> Result<(), StoreError> {
    std::fs::write(path, text).map_err(|error| failed(path, error))
}

fn failed(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::CreateBoard { path: path.into(), source: source.into() }
}
