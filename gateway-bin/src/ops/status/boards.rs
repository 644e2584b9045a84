//! Each board as it is at this moment, also those that are not there any more.

use std::path::{Path, PathBuf};

use kanban_notify::policy::{Policy, World};
use kanban_store::board::Board;

use super::{BoardHealth, accept, deliveries::Known};
use crate::{
    hermes::Generation,
    ops::subs::{self, SubLine},
};

/// The boards, their rows, and what generation of Hermes writes them.
pub(super) struct Looked {
    pub(super) boards: Vec<BoardHealth>,
    pub(super) subs: Vec<SubLine>,
    pub(super) generation: Generation,
}

/// Looks at the boards that were `found`, and for those that only the ledger knows.
pub(super) fn look(
    found: &[(String, PathBuf)],
    known: &Known,
    policy: &Policy,
    world: &World,
) -> Looked {
    let mut looked =
        Looked { boards: Vec::new(), subs: Vec::new(), generation: Generation::Unknown };
    for (slug, path) in found {
        let mut health = BoardHealth {
            id: known.board(path).map(|board| board.id),
            slug: slug.clone(),
            path: path.display().to_string(),
            state: "ok".to_owned(),
            subscriptions: 0,
            newest_event: 0,
        };
        if let Err(error) = look_at(path, &mut health, &mut looked, known, policy, world) {
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
            looked.boards.push(BoardHealth {
                id: Some(board.id),
                slug: board.slug.clone(),
                path: board.path.clone(),
                state: format!(
                    "its file is missing, and {} of it not settled; all goes on once it is back",
                    if open == 1 {
                        "1 delivery is".to_owned()
                    } else {
                        format!("{open} deliveries are")
                    }
                ),
                subscriptions: 0,
                newest_event: board.position,
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
    world: &World,
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
    health.newest_event = board.sequence()?;
    let rows = subs::rows(&mut board)?;
    health.subscriptions = rows.len();
    if health.state == "ok"
        && let Some(why) = accept::asked(&mut board, &rows, known, policy, world)?
    {
        health.state = why;
    }
    let slug = health.slug.clone();
    looked.subs.extend(subs::lines(&slug, &board, rows, &known.copies, policy, world));
    Ok(())
}
