//! A newer Hermes upgrades the file while we serve it: what comes then is told as before (law B2).

use kanban_store::board::RowKey;

use super::{Maker, Scene, process};
use crate::support::{hermes::Release, tally::assert_each_told_once, wait::eventually};

#[tokio::test(flavor = "multi_thread")]
async fn b2_a_file_that_a_newer_hermes_upgrades_while_we_run_is_served_on() {
    let Some(scene) = Scene::of(Maker::Release("0.13.0")).await else { return };
    let Some(newer) = Release::require("0.19.0") else { return };
    let world = &scene.world;
    let running = world.start();
    let mut told = Vec::new();
    let mut older = scene.hermes();
    let waiting = older.create("Begun before");
    scene.subscribe(&mut older, &waiting, "sess-waiting");
    let first = older.create("Done before");
    scene.subscribe(&mut older, &first, "sess-before");
    older.run(&["complete", &first, "--summary", "done once"]).success();
    world.next_wake().await;
    told.push(("sess-before".to_owned(), first));

    // Its first command gives the file what it lacks.
    let before = world.cards.schema();
    let mut newer = process(&newer, &world.hermes());
    let second = newer.create("Done after");
    assert_ne!(world.cards.schema(), before, "the file was upgraded");
    scene.subscribe(&mut newer, &second, "sess-after");
    newer.run(&["complete", &second, "--summary", "done once"]).success();
    told.push(("sess-after".to_owned(), second));
    newer.run(&["complete", &waiting, "--summary", "done once"]).success();
    told.push(("sess-waiting".to_owned(), waiting));

    // And the main branch after it, whose columns 0.19.0 does not mind.
    world.cards.sql(
        "BEGIN IMMEDIATE;
         ALTER TABLE kanban_notify_subs ADD COLUMN delivery_mode TEXT NOT NULL DEFAULT 'notify';
         UPDATE kanban_notify_subs SET delivery_mode = 'notify+wake' WHERE platform <> 'tui';
         ALTER TABLE kanban_notify_subs ADD COLUMN last_ping_event_id INTEGER NOT NULL DEFAULT 0;
         COMMIT",
    );
    let third = newer.create("Done at last");
    scene.subscribe(&mut newer, &third, "sess-last");
    newer.run(&["complete", &third, "--summary", "done once"]).success();
    told.push(("sess-last".to_owned(), third.clone()));
    for (session, task) in &told {
        let row = RowKey {
            task: task.clone(),
            platform: "api_server".to_owned(),
            chat: session.clone(),
            thread: String::new(),
        };
        eventually(session, || world.cards.is_caught_up(&row).then_some(())).await;
    }
    running.stop().await.unwrap();
    assert_each_told_once(&world.receiver, &told);
    assert_eq!(world.receiver.wakes().len(), told.len());
    // Where the column has come, it is raised too.
    let rows = newer.rows(&["notify-list", &third, "--json"]);
    assert_eq!(rows[0]["last_ping_event_id"], rows[0]["last_event_id"], "{rows:?}");
}
