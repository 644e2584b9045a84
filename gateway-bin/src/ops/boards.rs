//! Boards: which there are, a new one, one put away, the current one.

use std::collections::BTreeMap;

use kanban_store::{
    board::{
        PollPace,
        discovery::{self, Homes},
    },
    write,
};
use serde::Serialize;

use super::{Context, on_board, unix_now};

/// A board in a list.
#[derive(Clone, Debug, Serialize)]
pub struct BoardLine {
    /// Its name in commands.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// Its file.
    pub path: String,
    /// Whether the file is there.
    pub present: bool,
    /// Whether it is archived, and so not served.
    pub archived: bool,
    /// Whether commands mean it when none is named.
    pub current: bool,
}

/// Everything about a board.
#[derive(Clone, Debug, Serialize)]
pub struct BoardShown {
    /// What a list says of it.
    #[serde(flatten)]
    pub line: BoardLine,
    /// Tasks by status; archived ones are not counted.
    pub tasks: BTreeMap<String, i64>,
    /// The id of its newest event.
    pub newest_event: i64,
    /// Whether it can be written.
    pub writable: bool,
    /// Why it is looked at only once a second, if so.
    pub slow: Option<String>,
    /// Columns that not every board has, and this one has.
    pub columns: Vec<&'static str>,
}

/// Every board of Hermes' home.
pub fn list(ctx: &Context) -> anyhow::Result<Vec<BoardLine>> {
    let env = ctx.variables();
    let boards = discovery::discover(&env)?;
    let current = discovery::resolve(&env, None).ok().map(|board| board.path);
    Ok(boards
        .into_iter()
        .map(|board| BoardLine {
            current: current.as_ref() == Some(&board.path),
            slug: board.slug,
            name: board.name,
            path: board.path.display().to_string(),
            present: board.present,
            archived: board.archived,
        })
        .collect())
}

/// Everything about the board that `slug` names, or the current one.
pub fn show(ctx: &Context, slug: Option<&str>) -> anyhow::Result<BoardShown> {
    let (found, mut board) = ctx.board(slug)?;
    let overview = board.overview(0)?;
    let current = discovery::resolve(&ctx.variables(), None)?;
    let features = board.features();
    let columns = [
        ("tasks.session_id", features.session_id),
        ("tasks.block_kind", features.block_kind),
        ("kanban_notify_subs.notifier_profile", features.notifier_profile),
        ("kanban_notify_subs.delivery_mode", features.delivery_mode),
        ("kanban_notify_subs.last_ping_event_id", features.last_ping_event_id),
    ];
    let columns = columns.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect();
    let slow = match board.pace() {
        PollPace::Normal => None,
        PollPace::Slow(why) => Some(why.clone()),
    };
    Ok(BoardShown {
        line: BoardLine {
            current: current.path == found.path,
            slug: found.slug,
            name: found.name,
            path: found.path.display().to_string(),
            present: true,
            archived: found.archived,
        },
        tasks: overview.columns.into_iter().map(|column| (column.status, column.count)).collect(),
        newest_event: board.sequence()?,
        writable: board.is_writable(),
        slow,
        columns,
    })
}

/// Makes a board that Hermes can open; answers with its file.
pub fn create(ctx: &Context, slug: &str, name: Option<&str>) -> anyhow::Result<String> {
    let path = write::create_named_board(&homes(ctx)?, slug, name, unix_now())
        .map_err(|error| on_board(error, slug))?;
    Ok(path.display().to_string())
}

/// Puts a board away with everything in its folder; answers with the folder's new place.
pub fn archive(ctx: &Context, slug: &str) -> anyhow::Result<String> {
    let place = write::archive_board(&homes(ctx)?, slug, unix_now())
        .map_err(|error| on_board(error, slug))?;
    Ok(place.display().to_string())
}

/// Makes a board the current one; answers with the one that the environment names instead, if any.
pub fn use_board(ctx: &Context, slug: &str) -> anyhow::Result<Option<String>> {
    write::use_board(&homes(ctx)?, slug).map_err(|error| on_board(error, slug))?;
    let env = ctx.variables();
    let meant = discovery::resolve(&env, None)?;
    let wanted = discovery::resolve(&env, Some(slug))?;
    // HERMES_KANBAN_DB leads every name to one file.
    let pinned = env("HERMES_KANBAN_DB").filter(|path| !path.trim().is_empty());
    Ok(match pinned {
        Some(path) => Some(path),
        None => (meant.path != wanted.path).then_some(meant.slug),
    })
}

/// What HERMES_KANBAN_BOARD names, if there is no such board: it is passed over then, as in Hermes.
pub fn passed_over(ctx: &Context) -> Option<String> {
    let env = ctx.variables();
    let named = env("HERMES_KANBAN_BOARD").filter(|name| !name.trim().is_empty())?;
    let known = discovery::parse_slug(&named)
        .is_ok_and(|slug| Homes::find(&env).is_ok_and(|homes| homes.exists(&slug)));
    (!known).then_some(named)
}

fn homes(ctx: &Context) -> anyhow::Result<Homes> {
    Ok(Homes::find(&ctx.variables())?)
}
