//! Each board as it is at this moment, also those that are not there any more.

use std::path::{Path, PathBuf};

use kanban_notify::{event::Kind, policy::Policy};
use kanban_store::board::{Board, SubscriptionRow};

use super::{
    BoardHealth, UnknownKind, accept,
    deliveries::Known,
    pending::{self, Pending, Rules},
};
use crate::{
    hermes::Generation,
    ops::subs::{self, Copies, SubLine},
    wiring::Outlook,
};

/// So many of a board's newest events are asked for their kinds.
const NEWEST: usize = 10_000;

/// The boards, their rows, and what generation of Hermes writes them.
pub(super) struct Looked {
    pub(super) boards: Vec<BoardHealth>,
    pub(super) subs: Vec<SubLine>,
    pub(super) generation: Generation,
    pub(super) unknown_kinds: Vec<UnknownKind>,
    /// By board.
    pub(super) pending: Vec<(String, Vec<Pending>)>,
}

/// Looks at the boards that were `found`, and for those that only the ledger knows.
pub(super) fn look(
    found: &[(String, PathBuf)],
    known: &Known,
    policy: &Policy,
    outlook: &Outlook,
) -> Looked {
    let mut looked = Looked {
        boards: Vec::new(),
        subs: Vec::new(),
        generation: Generation::Unknown,
        unknown_kinds: Vec::new(),
        pending: Vec::new(),
    };
    for (slug, path) in found {
        let board = known.board(path);
        let mut health = BoardHealth {
            id: board.map(|board| board.id),
            slug: slug.clone(),
            path: path.display().to_string(),
            state: "ok".to_owned(),
            incarnation: board.map(|board| board.incarnation),
            notes: Vec::new(),
            subscriptions: None,
            newest_event: None,
        };
        if let Err(error) = look_at(path, &mut health, &mut looked, known, policy, outlook) {
            health.state = format!("{error:#}");
        }
        looked.boards.push(health);
    }
    let gone = known.boards.iter().filter(|board| {
        let path = Path::new(&board.path);
        !found.iter().any(|(_, found)| found == path) && !path.exists()
    });
    for board in gone {
        let open = known.owed(board.id);
        if open > 0 {
            let on = match crate::ops::put_away(Path::new(&board.path)) {
                Some(back) => format!(
                    "it was put away: {back}, and all goes on; to be rid of it, take its rows off then with \
                     `kanban-gateway sub remove`"
                ),
                None => "all goes on once it is back".to_owned(),
            };
            looked.boards.push(BoardHealth {
                id: Some(board.id),
                slug: board.slug.clone(),
                path: board.path.clone(),
                state: format!(
                    "its file is missing, and {} of it not settled; {on}",
                    if open == 1 {
                        "1 delivery is".to_owned()
                    } else {
                        format!("{open} deliveries are")
                    }
                ),
                incarnation: Some(board.incarnation),
                notes: Vec::new(),
                subscriptions: None,
                newest_event: None,
            });
        }
    }
    looked
}

fn look_at(
    path: &Path,
    health: &mut BoardHealth,
    looked: &mut Looked,
    known: &Known,
    policy: &Policy,
    outlook: &Outlook,
) -> anyhow::Result<()> {
    let mut board = Board::open(path)?;
    let newer = board.features().delivery_mode;
    if newer {
        looked.generation = Generation::Newer;
    } else if looked.generation == Generation::Unknown {
        looked.generation = Generation::Old;
    }
    if !board.is_writable() {
        "it cannot be written, so nothing is delivered from it; make the file and its folder writable for this user"
            .clone_into(&mut health.state);
    }
    let newest = board.sequence()?;
    health.newest_event = Some(newest);
    let rows = subs::rows(&mut board)?;
    health.subscriptions = Some(rows.len());
    let position = known.board(path).map_or(0, |board| board.position);
    health.notes = notes(newest, position, &rows);
    let copies = Copies::of(&known.copies, board.path());
    if health.state == "ok" {
        let rules =
            Rules { has_mode: board.features().delivery_mode, policy, world: &outlook.world };
        let found = pending::pending(&mut board, &rows, &copies, position, &rules)?;
        // What was judged is not asked about any more.
        if !rows.is_empty()
            && position < newest
            && let Some(why) = accept::asked(&mut board, position, newest, &found, policy)?
        {
            health.state = why;
        }
        looked.pending.push((health.slug.clone(), found));
    }
    looked.unknown_kinds.extend(unknown_kinds(&mut board, &health.slug)?);
    looked.subs.extend(subs::lines(&health.slug, &board, rows, &copies, policy, outlook));
    Ok(())
}

/// What is odd about a board and keeps nothing from being delivered.
fn notes(newest: i64, position: i64, rows: &[SubscriptionRow]) -> Vec<String> {
    let mut notes = Vec::new();
    if newest < position {
        notes.push(format!(
            "event {position} was read and is not there any more: another file is in its place, or an older copy; \
             it is begun anew when a process delivers"
        ));
    }
    let above = rows.iter().filter(|row| row.cursor > newest).count();
    if above > 0 {
        notes.push(format!(
            "{} above the newest event: nothing is told there before events have passed it",
            if above == 1 { "1 cursor is".to_owned() } else { format!("{above} cursors are") }
        ));
    }
    notes
}

/// Kinds that a later Hermes, or another program, writes: nobody is told of them.
fn unknown_kinds(board: &mut Board, slug: &str) -> anyhow::Result<Vec<UnknownKind>> {
    let kinds = board.kinds(NEWEST)?.into_iter().filter(|count| !Kind::is_known(&count.kind));
    Ok(kinds
        .map(|count| UnknownKind {
            board: slug.to_owned(),
            kind: count.kind,
            events: count.events,
            newest_event: count.newest,
        })
        .collect())
}
