//! A session that asked for work on a file of some generation is woken, once.

use kanban_store::board::RowKey;
use serde_json::Value;

use super::{Maker, Scene, event};
use crate::support::tally::assert_each_told_once;
use crate::support::wait::eventually;

const SESSION: &str = "sess-abc";

/// Adopted where the file has no `delivery_mode`, served as it is elsewhere (law O2).
pub(super) async fn a_session_is_woken_once(maker: Maker) {
    let Some(scene) = Scene::of(maker).await else { return };
    let world = &scene.world;
    let mut hermes = scene.hermes();
    let task = hermes.create("Build the report");
    scene.subscribe(&mut hermes, &task, SESSION);
    let key = RowKey {
        task: task.clone(),
        platform: "api_server".to_owned(),
        chat: SESSION.to_owned(),
        thread: String::new(),
    };
    let owner = world.cards.row(&key).unwrap().owner;
    let stamped = Some("kanban-gateway.default".to_owned());

    let running = world.start();
    if !scene.is_main() {
        eventually("the row is adopted", || {
            (world.cards.row(&key)?.owner == stamped).then_some(())
        })
        .await;
    }
    hermes.run(&["complete", &task, "--summary", "14 pages"]).success();
    let wake = world.next_wake().await;
    assert_eq!(wake.session(), Some(SESSION));
    let events = world.cards.open().events(Some(&task), 0, usize::MAX).unwrap();
    let done = events.iter().find(|event| event.kind == "completed").unwrap().id;
    world.settled(&key, done).await;
    running.stop().await.unwrap();

    // Nothing is owed any more: a second life tells nothing, and what comes then is told.
    let running = world.start();
    let next = hermes.create("Build the next report");
    scene.subscribe(&mut hermes, &next, "sess-next");
    hermes.run(&["block", &next, "which colour?"]).success();
    assert_eq!(world.next_wake().await.session(), Some("sess-next"));
    let next_key = RowKey { task: next.clone(), chat: "sess-next".to_owned(), ..key.clone() };
    eventually("it is settled", || world.cards.is_caught_up(&next_key).then_some(())).await;
    running.stop().await.unwrap();
    let expected = [(SESSION.to_owned(), task.clone()), ("sess-next".to_owned(), next)];
    assert_each_told_once(&world.receiver, &expected);

    // The release finds its row, its history and its schema.
    drop(hermes);
    let mut hermes = scene.hermes();
    let rows = hermes.rows(&["notify-list", &task, "--json"]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["last_event_id"], done);
    let expected = if scene.is_main() { owner } else { stamped };
    assert_eq!(rows[0]["notifier_profile"], Value::from(expected));
    if scene.is_main() {
        assert_eq!(rows[0]["last_ping_event_id"], done);
        assert_eq!(rows[0]["delivery_mode"], "notify+wake");
    }
    let show = hermes.run(&["show", &task, "--json"]).json();
    assert_eq!(event(&show, "completed")["payload"]["summary"], "14 pages");
    drop(hermes);
    scene.assert_schema_unchanged();
}
