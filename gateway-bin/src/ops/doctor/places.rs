//! What lies on this machine: clock, ledger, boards, and whether their changes are heard.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use kanban_store::board::{Board, PollPace};

use super::{Check, Level};
use crate::{
    ops::{Context, counted, ledger, no_board, status::Status, time::Moment},
    watch::{FolderWatch, Hearing},
};

/// A file may be so much younger than now: clocks of file systems are coarse.
const SLACK: Duration = Duration::from_secs(300);

/// Whether the clock is behind what was written already.
pub(super) fn clock(ctx: &Context, status: &Status) -> Check {
    let now = SystemTime::now();
    let files = status.boards.iter().map(|board| PathBuf::from(&board.path));
    let ahead = files.chain([ctx.config.ledger.clone()]).find(|file| {
        let written = fs::metadata(file).and_then(|meta| meta.modified());
        written.is_ok_and(|at| at.duration_since(now).is_ok_and(|ahead| ahead > SLACK))
    });
    let shown = Moment::from_micros(kanban_store::ledger::now());
    match ahead {
        None => Check::new("clock", "", format!("it is {shown}")),
        Some(file) => {
            let said = format!("it is {shown}, and {} was written after that", file.display());
            Check::new("clock", "", said).needs(Level::Warn, "set the clock of this machine")
        }
    }
}

/// Whether there is a ledger, or can be one.
pub(super) fn ledger(ctx: &Context) -> Vec<Check> {
    let path = &ctx.config.ledger;
    let check = |said: String| Check::new("ledger", path.display().to_string(), said);
    if let Some((said, next)) = ledger::misplaced(ctx) {
        return vec![check(said).needs(Level::Fail, next)];
    }
    if !path.exists() {
        return vec![check("not there yet; `run` makes it".to_owned())];
    }
    let read = ledger::status(ctx).and_then(|status| ctx.ledger().map(|_| status));
    vec![match read {
        Ok(status) if status.pending.is_empty() => {
            check(format!("can be used, with {}", counted(status.applied.len(), "migration")))
        }
        Ok(status) => check(format!("{} not run yet", counted(status.pending.len(), "migration")))
            .needs(Level::Warn, "`run` does it at its start, or `kanban-gateway ledger migrate`"),
        Err(error) => check(format!("{error:#}"))
            .needs(Level::Fail, "see the reason; nothing is delivered until it is mended"),
    }]
}

/// Each board as `status` found it, and what its file is like.
pub(super) fn boards(status: &Status) -> Vec<Check> {
    let boards = status.boards.iter().map(|board| {
        let check = |said: String| Check::new("board", board.slug.clone(), said);
        if board.state != "ok" {
            return check(board.state.clone()).needs(Level::Fail, mend(&board.state, &board.slug));
        }
        let mut said = "can be read and written".to_owned();
        if let Some(count) = board.subscriptions {
            said.push_str(&format!(", {}", counted(count, "subscription")));
        }
        let Ok(file) = Board::open(Path::new(&board.path)) else { return check(said) };
        said.push_str(match file.features().delivery_mode {
            true => ", as releases of Hermes after 0.19 have it",
            false => ", as Hermes 0.19 and earlier have it",
        });
        match (file.pace(), board.notes.as_slice()) {
            (PollPace::Slow(why), _) => {
                check(format!("{said}; it is looked at only once a second: {why}"))
                    .needs(Level::Warn, "put the board on a local disk")
            }
            (_, []) => check(said),
            (_, notes) => check(format!("{said}; {}", notes.join("; ")))
                .needs(Level::Warn, "see `kanban-gateway status`"),
        }
    });
    boards.collect()
}

/// What to do about a board that nothing is delivered from. A state may end with the step.
fn mend(state: &str, slug: &str) -> String {
    match state.contains("; ") {
        true => "do as it says; nothing is delivered from it until then".to_owned(),
        false => format!(
            "put a good file in its place, or put it away with `kanban-gateway board archive {slug}`; nothing is \
             delivered from it until then"
        ),
    }
}

/// Whether the kernel tells of changes in the folders of boards.
pub(super) fn watching(ctx: &Context, status: &Status) -> Check {
    let check = |said: String| Check::new("watching", "", said);
    if status.boards.is_empty() {
        let make = "kanban-gateway board create NAME";
        return check(no_board(ctx)).needs(Level::Warn, format!("make a board: `{make}`"));
    }
    let mut watch = FolderWatch::new(|_| {});
    let folders = status.boards.iter().filter_map(|board| Path::new(&board.path).parent());
    let deaf = folders.clone().filter(|folder| folder.is_dir()).find_map(|folder| {
        match watch.add(folder) {
            Hearing::Events => None,
            Hearing::Deaf(why) => Some((folder, why)),
        }
    });
    match deaf {
        None => {
            check(format!("changes of {} are heard at once", counted(folders.count(), "folder")))
        }
        Some((folder, why)) => {
            let said = format!(
                "changes in {} are only looked for, which costs processor time: {why}",
                folder.display()
            );
            check(said).needs(Level::Warn, limits())
        }
    }
}

/// What the kernel allows of watches.
fn limits() -> String {
    let limit = |name: &str| {
        let value = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).unwrap_or_default();
        format!("fs.inotify.{name} (now {})", value.trim())
    };
    format!("raise {} or {} with sysctl", limit("max_user_watches"), limit("max_user_instances"))
}
