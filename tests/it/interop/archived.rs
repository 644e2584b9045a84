//! Hermes makes, archives and makes boards again while we run (law B6).

use std::path::{Path, PathBuf};

use crate::support::cards::{Cards, assert_sound};
use crate::support::hermes::{Commands, Release};
use crate::support::tally::assert_each_told_once;
use crate::support::wait::eventually;
use crate::support::world::World;

/// Hermes asks for a task in a session and completes it; answers once the session was told.
async fn told(hermes: &mut Commands, world: &World, board: &str, session: &str) -> String {
    let task = ["--board", board, "create", "Build the report", "--json"];
    let task = hermes.run(&task).json()["id"].as_str().unwrap().to_owned();
    let subscribe = ["--board", board, "notify-subscribe", &task, "--platform", "api_server"];
    hermes.run(&[&subscribe[..], &["--chat-id", session]].concat()).success();
    let cards = Cards::at(&folder(world, board).join("kanban.db"));
    eventually("the row is ours", || {
        let owner = cards.rows().into_iter().find(|row| row.key.task == task)?.owner;
        (owner.as_deref() == Some("kanban-gateway.default")).then_some(())
    })
    .await;
    hermes.run(&["--board", board, "complete", &task, "--summary", "done once"]).success();
    eventually("it is told", || {
        let row = cards.rows().into_iter().find(|row| row.key.task == task)?;
        cards.is_caught_up(&row.key).then_some(())
    })
    .await;
    task
}

fn folder(world: &World, board: &str) -> PathBuf {
    world.hermes().join("kanban/boards").join(board)
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap();
    let entry = entries.next().expect("one entry").unwrap().path();
    assert!(entries.next().is_none(), "one entry");
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_a_board_that_hermes_archives_and_makes_again() {
    let Some(release) = Release::require("0.19.0") else { return };
    let world = World::new().await;
    let home = world.hermes();
    let mut hermes = release.process(&[("HERMES_HOME", &home), ("HOME", world.folder())]);
    let running = world.start();
    let mut expected = Vec::new();
    for session in ["sess-first", "sess-second"] {
        hermes.run(&["boards", "create", "side"]).success();
        expected.push((session.to_owned(), told(&mut hermes, &world, "side", session).await));
        if session == "sess-first" {
            hermes.run(&["boards", "rm", "side"]).success();
            assert!(!folder(&world, "side").exists(), "we made it again");
        }
    }
    // The first comes back under another name: what was told stays told, and it goes on.
    let archived = only_entry(&folder(&world, "_archived"));
    assert_sound(&archived.join("kanban.db"));
    std::fs::rename(&archived, folder(&world, "back")).unwrap();
    let session = "sess-back";
    expected.push((session.to_owned(), told(&mut hermes, &world, "back", session).await));
    running.stop().await.unwrap();
    assert_each_told_once(&world.receiver, &expected);
    for board in ["side", "back"] {
        assert_sound(&folder(&world, board).join("kanban.db"));
    }
}
