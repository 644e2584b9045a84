//! What a release says is on its board is what we read from the file.

use kanban_store::board::{Board, PassQuery, TaskFilter};
use serde_json::{Value, json};

use super::{Maker, Scene};

/// Lists and histories, as the release prints them and as we read them.
pub(super) async fn what_hermes_lists_is_what_we_read(maker: Maker) {
    let Some(scene) = Scene::of(maker).await else { return };
    let mut hermes = scene.hermes();
    let done = hermes.create("Bericht „über alles“");
    hermes.run(&["complete", &done, "--result", "gut", "--summary", "14 Seiten\nmehr"]).success();
    let blocked = hermes.create("Needs somebody");
    hermes.run(&["block", &blocked, "which colour?"]).success();
    let open = hermes.create("Goes on");
    hermes.run(&["comment", &open, "half way"]).success();
    scene.subscribe(&mut hermes, &done, "sess-abc");
    let thread = ["--platform", "telegram", "--chat-id", "-100", "--thread-id", "7"];
    hermes.run(&[&["notify-subscribe", &open, "--user-id", "u1"], &thread[..]].concat()).success();
    let listed = hermes.rows(&["list", "--json"]);
    let shown = [&done, &blocked, &open].map(|task| hermes.run(&["show", task, "--json"]).json());
    let rows = hermes.rows(&["notify-list", "--json"]);
    drop(hermes);

    let mut board = Board::open(scene.world.cards.path()).unwrap();
    let features = *board.features();
    assert!(features.run_id && features.notifier_profile && features.sequence, "{features:?}");
    assert!(board.is_writable() && features.max_runtime_seconds, "{features:?}");
    assert_eq!(features.session_id, scene.release.is_since((0, 15)));
    assert_eq!(features.block_kind, scene.release.is_since((0, 18)));
    for newer in [
        features.delivery_mode,
        features.chat_type,
        features.user_id_alt,
        features.delivery_metadata,
        features.last_ping_event_id,
    ] {
        assert_eq!(newer, scene.is_main(), "{features:?}");
    }

    let mut tasks: Vec<Value> = board
        .list_tasks(&TaskFilter { archived: true, ..TaskFilter::default() })
        .unwrap()
        .into_iter()
        .map(|task| json!([task.id, task.title, task.status, task.assignee, task.created_at]))
        .collect();
    let fields = ["id", "title", "status", "assignee", "created_at"];
    assert_same(&mut tasks, &mut picked(&listed, &fields));

    for (task, show) in [&done, &blocked, &open].into_iter().zip(&shown) {
        let events = board.events(Some(task), 0, usize::MAX).unwrap();
        let events: Vec<Value> = events
            .into_iter()
            .map(|event| {
                let payload = event.payload.map(|text| serde_json::from_str(&text).unwrap());
                json!([event.kind, payload.unwrap_or(Value::Null), event.run, event.created_at])
            })
            .collect();
        let theirs = show["events"].as_array().unwrap();
        assert_eq!(events, picked(theirs, &["kind", "payload", "run_id", "created_at"]));
    }

    let (ours, spoilt) = board.subscriptions(0, 100).unwrap();
    assert!(spoilt.is_empty(), "{spoilt:?}");
    let mut ours: Vec<Value> = ours
        .into_iter()
        .map(|row| {
            let key = row.key;
            json!([
                key.task,
                key.platform,
                key.chat,
                key.thread,
                row.user,
                row.owner,
                row.created_at,
                row.cursor
            ])
        })
        .collect();
    let fields = [
        "task_id",
        "platform",
        "chat_id",
        "thread_id",
        "user_id",
        "notifier_profile",
        "created_at",
        "last_event_id",
    ];
    assert_same(&mut ours, &mut picked(&rows, &fields));

    // What the daemon reads in a pass.
    let pass = board.read(&PassQuery { limit: 100, ..PassQuery::default() }).unwrap();
    assert!(pass.spoilt.is_empty() && !pass.more, "{:?}", pass.spoilt);
    let kinds: Vec<&str> = pass.events.iter().map(|event| event.kind.as_str()).collect();
    assert!(kinds.contains(&"completed") && kinds.contains(&"blocked"), "{kinds:?}");
    assert_eq!(pass.rows.len(), 2);
    let task = pass.tasks.iter().find(|task| task.id == done).unwrap();
    assert_eq!((task.status.as_str(), task.result.as_deref()), ("done", Some("gut")));
    drop(board);
    scene.assert_schema_unchanged();
}

fn picked(rows: &[Value], fields: &[&str]) -> Vec<Value> {
    rows.iter().map(|row| fields.iter().map(|field| row[field].clone()).collect()).collect()
}

/// The order of a list is everybody's own.
#[track_caller]
fn assert_same(ours: &mut [Value], theirs: &mut [Value]) {
    let text = |row: &Value| row.to_string();
    ours.sort_by_key(text);
    theirs.sort_by_key(text);
    assert_eq!(ours, theirs);
}
