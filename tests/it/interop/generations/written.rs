//! What our commands write is what the release's own commands write, and it goes on from there.

use gateway_bin::ops::subs;
use gateway_bin::ops::tasks::{self, NewTask, Said, Wish};
use serde_json::{Value, json};

use super::{Maker, Scene};

const REASON: &str = "which „colour“?";

/// The same work done by both, seen through the eyes of the release; then the release goes on with ours.
pub(super) async fn our_writes_are_its_own(maker: Maker) {
    let Some(scene) = Scene::of(maker).await else { return };
    let ctx = scene.world.context();
    let create = |title: &str| {
        let assignee = Some("Stub-Worker".to_owned());
        let new = NewTask { title: title.to_owned(), assignee, ..NewTask::default() };
        tasks::create(&ctx, None, Wish { new, ..Wish::default() }).unwrap().task
    };

    // Theirs first: a file that a release has not filled yet has no row to go by.
    let mut hermes = scene.hermes();
    let theirs = ["Open", "Done", "Blocked"].map(|title| hermes.create(title));
    hermes.run(&["complete", &theirs[1], "--result", "gut", "--summary", "14 Seiten"]).success();
    hermes.run(&["block", &theirs[2], REASON]).success();
    drop(hermes);

    let ours = ["Open", "Done", "Blocked"].map(create);
    let card = |task: &str| ctx.card(None, task).unwrap();
    let said = Said { summary: Some("14 Seiten".to_owned()), ..Said::default() };
    card(&ours[1]).complete(Some("gut".to_owned()), said, Vec::new(), None).unwrap();
    card(&ours[2]).block(Some(REASON.to_owned()), None, false, None).unwrap();
    let target = |chat: &str| subs::Target {
        task: ours[0].clone(),
        platform: "api_server".to_owned(),
        chat: chat.to_owned(),
        thread: None,
    };
    for chat in ["sess-kept", "sess-gone"] {
        assert!(subs::add(&ctx, None, &target(chat)).unwrap().new);
    }
    assert!(subs::remove(&ctx, None, &target("sess-gone")).unwrap());
    assert!(subs::remove(&ctx, None, &target("sess-gone")).is_err(), "it is gone");
    scene.assert_schema_unchanged();

    let mut hermes = scene.hermes();
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let [theirs, ours] = [theirs, ours].map(|task| {
            // On a file of the main branch our events are those of that, which say more than 0.19.0's.
            masked(hermes.run(&["show", task, "--json"]).json(), !scene.is_main())
        });
        assert_eq!(ours, theirs);
    }
    assert_eq!(hermes.rows(&["list", "--json"]).len(), 6);
    let rows = hermes.rows(&["notify-list", &ours[0], "--json"]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["chat_id"], "sess-kept");
    assert_eq!(rows[0]["notifier_profile"], "kanban-gateway");
    assert_ne!(rows[0]["last_event_id"], 0, "it starts caught up");

    // And the release goes on.
    hermes.run(&["complete", &ours[0], "--summary", "by Hermes"]).success();
    hermes.run(&["unblock", &ours[2]]).success();
    hermes.run(&["comment", &ours[1], "well done"]).success();
    let status = |show: Value| show["task"]["status"].clone();
    let seen = ours.each_ref().map(|task| status(hermes.run(&["show", task, "--json"]).json()));
    assert_eq!(seen, ["done", "done", "ready"]);
    let unsubscribe = ["--platform", "api_server", "--chat-id", "sess-kept"];
    hermes.run(&[&["notify-unsubscribe", &ours[0]], &unsubscribe[..]].concat()).success();
    drop(hermes);

    let mut board = scene.world.cards.open();
    let seen = ours.each_ref().map(|task| board.task(task).unwrap().unwrap().status);
    assert_eq!(seen, ["done", "done", "ready"]);
    assert_eq!(board.subscriptions(0, 10).unwrap().0.len(), 0);
    drop(board);
    scene.assert_schema_unchanged();
}

/// Without what differs from task to task and from writer to writer; that it is there stays seen.
///
/// Hermes' command `block` comments on the task too, unlike its function that workers call.
fn masked(value: Value, payloads: bool) -> Value {
    const OWN: [&str; 7] =
        ["id", "run_id", "created_by", "created_at", "started_at", "completed_at", "ended_at"];
    match value {
        Value::Array(items) => items
            .into_iter()
            .filter(|item| item["kind"] != "commented")
            .map(|item| masked(item, payloads))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| name != "comments" && (payloads || name != "payload"))
            .map(|(name, value)| {
                let own = OWN.contains(&name.as_str()) && !value.is_null();
                (name, if own { json!("its own") } else { masked(value, payloads) })
            })
            .collect(),
        other => other,
    }
}
