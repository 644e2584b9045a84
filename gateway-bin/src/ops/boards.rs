//! Boards: which there are, a new one, one put away, the current one.

use std::collections::BTreeMap;

use anyhow::bail;
use kanban_store::{
    StoreError,
    board::{
        PollPace,
        discovery::{self, Homes},
    },
    write,
};
use serde::Serialize;

use super::{Context, Refused, Unusable, on_board, status, unix_now};

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

/// Every board of Hermes' home, and those that only the configuration names.
pub fn list(ctx: &Context) -> anyhow::Result<Vec<BoardLine>> {
    let env = ctx.variables();
    let boards = discovery::discover(&env)?;
    let current = discovery::resolve(&env, None).ok().map(|board| board.path);
    let mut lines: Vec<BoardLine> = boards
        .into_iter()
        .map(|board| BoardLine {
            current: current.as_ref() == Some(&board.path),
            slug: board.slug,
            name: board.name,
            path: board.path.display().to_string(),
            present: board.present,
            archived: board.archived,
        })
        .collect();
    for (slug, path) in ctx.boards()? {
        let (present, path) = (path.exists(), path.display().to_string());
        if lines.iter().all(|line| line.path != path) {
            let name = slug.clone();
            lines.push(BoardLine { slug, name, path, present, archived: false, current: false });
        }
    }
    Ok(lines)
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
    let path = write::create_named_board(&homes(ctx)?, slug, name, unix_now());
    let path = path.map_err(|error| match error {
        StoreError::BoardExists { .. } => Refused(format!(
            "{error}; take it as it is, see `kanban-gateway board list`, or give the new one another name"
        ))
        .into(),
        error => on_board(error, slug),
    })?;
    Ok(path.display().to_string())
}

/// Puts a board away with everything in its folder; answers with the folder's new place. Refused where
/// something is owed from it, unless that is to wait with `force`.
pub fn archive(ctx: &Context, slug: &str, force: bool) -> anyhow::Result<String> {
    let found = discovery::resolve(&ctx.variables(), Some(slug))
        .map_err(|error| not_in_hermes(ctx, error, slug, "take it out of `boards`"))?;
    let owed = status::owed(ctx, &found.slug, &found.path)?;
    if owed > 0 && !force {
        let what = if owed == 1 { "1 delivery".to_owned() } else { format!("{owed} deliveries") };
        bail!(Refused(format!(
            "{what} of board `{slug}` not settled: have `kanban-gateway run` or `once` finish, as `kanban-gateway \
             status` shows; or let it wait in the archive with --force, until the folder is moved back"
        )));
    }
    let place = write::archive_board(&homes(ctx)?, slug, unix_now())
        .map_err(|error| on_board(error, slug))?;
    Ok(place.display().to_string())
}

/// An error of what only boards of Hermes' home can have, with `advice` for one that it knows not.
fn not_in_hermes(ctx: &Context, error: StoreError, slug: &str, advice: &str) -> anyhow::Error {
    match ctx.configured(slug) {
        Some(_) => Unusable(format!(
            "only `boards` in the configuration names `{slug}`, and Hermes knows no such board: {advice}"
        ))
        .into(),
        None => ctx.unresolved(error),
    }
}

/// Makes a board the current one; answers with the one that the environment names instead, if any.
pub fn use_board(ctx: &Context, slug: &str) -> anyhow::Result<Option<String>> {
    let advice = format!("name it with --board {slug}");
    write::use_board(&homes(ctx)?, slug)
        .map_err(|error| not_in_hermes(ctx, error, slug, &advice))?;
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
