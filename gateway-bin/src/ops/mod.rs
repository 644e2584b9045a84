//! Use cases, one file each: plain arguments in, plain data out; no command line, no HTTP types.

pub mod boards;
pub mod cards;
pub mod check;
pub mod dead;
pub mod demo;
pub mod doctor;
pub mod events;
mod lacking;
pub mod ledger;
pub mod listen;
pub mod serve;
pub mod status;
pub mod subs;
pub mod tasks;
pub mod test_send;
pub mod time;
pub mod watch;
pub mod why;

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use kanban_store::{
    StoreError,
    board::{
        Board,
        discovery::{self, BoardPath, Homes},
    },
    ledger::operator::Operator,
};

use crate::{
    StartError,
    config::{Config, ConfigError, Env},
    hermes::board_variables,
};

/// How long a command waits for a board's write lock.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// What every use case is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// The checked configuration.
    pub config: Config,
    /// The environment as it was at the start.
    pub env: Env,
}

impl Context {
    /// The board that `slug` names, or the current one.
    pub(crate) fn board(&self, slug: Option<&str>) -> anyhow::Result<(BoardPath, Board)> {
        let found = match discovery::resolve(&self.variables(), slug) {
            Ok(found) => found,
            Err(error) => match slug.and_then(|slug| self.configured(slug)) {
                Some(found) => found,
                None => return Err(self.unresolved(error)),
            },
        };
        let board = Board::open(&found.path).map_err(|error| match error {
            StoreError::BoardMissing { .. } if slug.is_none() => {
                Missing(no_current_board(self, &found.slug)).into()
            }
            StoreError::BoardMissing { .. } => Missing(format!(
                "{error}; make it with `kanban-gateway board create {}`, or see `kanban-gateway board list`",
                found.slug
            ))
            .into(),
            error => anyhow::Error::from(error)
                .context(format!("board `{}` cannot be opened", found.slug)),
        })?;
        Ok((found, board))
    }

    /// The board of this name that nothing but `boards` in the configuration names.
    fn configured(&self, slug: &str) -> Option<BoardPath> {
        let found = crate::wiring::find_boards(&self.config, &self.env).ok()?;
        let board = found.into_iter().find(|board| board.slug == slug.trim())?;
        Some(BoardPath {
            archived: false,
            name: board.slug.clone(),
            present: board.path.exists(),
            path: board.path,
            slug: board.slug,
        })
    }

    /// A name that leads to no board, with where that may be.
    fn unresolved(&self, error: StoreError) -> anyhow::Error {
        let error = match usage(error) {
            Ok(unusable) => return unusable,
            Err(error) => error,
        };
        let StoreError::UnknownBoard { slug } = &error else { return error.into() };
        let homes = Homes::find(&self.variables()).ok();
        match homes.and_then(|homes| put_away(&homes.database(slug))) {
            Some(back) => Missing(format!("{error}: it was put away; {back}")).into(),
            None => unknown_board(&error),
        }
    }

    /// Every board that is there and not archived.
    pub(crate) fn boards(&self) -> anyhow::Result<Vec<(String, std::path::PathBuf)>> {
        let found = crate::wiring::find_boards(&self.config, &self.env)?;
        Ok(found.into_iter().map(|board| (board.slug, board.path)).collect())
    }

    /// The ledger, if there is one yet: looking must not make one.
    pub(crate) fn ledger(&self) -> anyhow::Result<Option<Operator>> {
        if !self.config.ledger.exists() {
            return Ok(None);
        }
        Operator::open(&self.config.ledger).map(Some).with_context(|| {
            format!("the ledger {} cannot be opened", self.config.ledger.display())
        })
    }

    /// The variables that boards are found by.
    pub(crate) fn variables(&self) -> impl Fn(&str) -> Option<String> {
        board_variables(&self.config.hermes_home, &self.env)
    }
}

/// Seconds since the Unix epoch, as boards keep time.
pub(crate) fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// A value on the command line that cannot be used, with what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// Something that was named and is not there, with where to look.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// Something that cannot be done as things stand, with what to do first.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// How a board comes back whose file would be at `path`, if it was put away.
pub(crate) fn put_away(path: &Path) -> Option<String> {
    let (place, folder) = (discovery::put_away(path)?, path.parent()?);
    Some(format!("`mv {} {}` brings it back", place.display(), folder.display()))
}

fn unknown_board(error: &StoreError) -> anyhow::Error {
    Missing(format!("{error}; see `kanban-gateway board list`")).into()
}

/// What kind of failure an error is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A value that cannot be used.
    Usage,
    /// A board, task or delivery that is not there.
    Missing,
    /// Not possible as things stand: another status, somebody else's claim, an open parent.
    Refused,
    /// The board cannot be had: locked, read-only, damaged.
    Unavailable,
    /// Anything else.
    Other,
}

/// Which kind of failure `error` is.
pub fn failure(error: &anyhow::Error) -> Failure {
    let of_start = error.downcast_ref::<StartError>();
    if error.is::<Unusable>()
        || error.is::<ConfigError>()
        || matches!(of_start, Some(StartError::Settings(_) | StartError::OwnerIsProfile(_)))
    {
        return Failure::Usage;
    }
    if error.is::<Missing>() {
        return Failure::Missing;
    }
    if error.is::<Refused>() {
        return Failure::Refused;
    }
    match error.downcast_ref::<StoreError>() {
        Some(error) if error.is_refusal() => Failure::Refused,
        Some(error) if error.is_unavailable() => Failure::Unavailable,
        _ => Failure::Other,
    }
}

/// The store's word on a value that was given, as such; other errors come back.
pub(crate) fn usage(error: StoreError) -> Result<anyhow::Error, StoreError> {
    match error {
        StoreError::BadSlug { .. }
        | StoreError::EmptyTitle
        | StoreError::Blank { .. }
        | StoreError::BadValue { .. } => Ok(Unusable(error.to_string()).into()),
        error => Err(error),
    }
}

/// What to do where the board that is meant is not there, and others may be.
fn no_current_board(ctx: &Context, slug: &str) -> String {
    let boards = boards::list(ctx).unwrap_or_default();
    let there: Vec<&str> =
        boards.iter().filter(|board| board.present).map(|board| board.slug.as_str()).collect();
    match there.as_slice() {
        [] => no_board(ctx),
        [first, ..] => format!(
            "the current board is `{slug}`, which has no file yet; there is {}: name it with --board {first}, \
             or make it the current one with `kanban-gateway board use {first}`",
            there.join(", ")
        ),
    }
}

/// What to do where there is no board at all.
pub(crate) fn no_board(ctx: &Context) -> String {
    format!(
        "there is no board below {}; make one with `kanban-gateway board create NAME`, name one with \
         `--board` or `boards`, or say where Hermes lives with HERMES_HOME",
        ctx.config.hermes_home.display()
    )
}

/// A store's error with the next step, where the board's name is part of it.
pub(crate) fn on_board(error: StoreError, slug: &str) -> anyhow::Error {
    match usage(error) {
        Ok(unusable) => unusable,
        Err(StoreError::UnknownTask { task }) => Missing(format!(
            "there is no task {task} on board `{slug}`; see `kanban-gateway task list --board {slug}`, or name \
             another board with --board"
        ))
        .into(),
        Err(error @ StoreError::UnknownBoard { .. }) => unknown_board(&error),
        Err(error) => error.into(),
    }
}

/// Characters that a terminal acts on, or that change the order of others.
pub(crate) fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `1 row`, `2 rows`.
pub(crate) fn counted<N>(count: N, noun: &str) -> String
where
    N: std::fmt::Display + PartialEq + From<u8>,
{
    let s = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{s}")
}
