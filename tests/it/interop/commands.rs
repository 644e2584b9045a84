//! A board and its tasks made by our commands, worked on by Hermes' commands, and the reverse.

use gateway_bin::ops::{
    boards, cards,
    events::{Events, Wanted},
    subs::{self, Target},
    tasks::{self, Said, Wish},
};

use super::*;
use serde_json::json;

fn wish(title: &str) -> Wish {
    let mut wish = Wish::default();
    wish.new.title = title.to_owned();
    wish.new.assignee = Some("stub-worker".to_owned());
    wish
}

fn target(task: &str, platform: &str, chat: &str) -> Target {
    let [task, platform, chat] = [task, platform, chat].map(str::to_owned);
    Target { task, platform, chat, thread: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn hermes_commands_work_on_what_ours_made() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let ours = Ours::new(&home);
    let ctx = ours.context();
    boards::create(&ctx, "ops", Some("Operations")).expect("a board");
    let ops = home.board_called("ops");
    let on = Some("ops");
    let first = tasks::create(&ctx, on, wish("Plan the report")).expect("a task").task;
    let mut second = wish("Write the report");
    second.options.parents = vec![first.clone()];
    let second = tasks::create(&ctx, on, second).expect("a task").task;
    subs::add(&ctx, on, &target(&first, "telegram", "42")).expect("a subscription");

    let listed: Vec<String> = ops.list().await.iter().map(|task| text(task, "id")).collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    let shown = ops.show(&second).await;
    assert_eq!(text(&shown["task"], "status"), "todo");
    assert!(shown.to_string().contains(&first), "it waits for the first: {shown}");
    let rows = ops.subscriptions(Some(&first)).await;
    assert_eq!((rows.len(), text(&rows[0], "chat_id")), (1, "42".to_owned()));

    // Half of the way by us, half by Hermes.
    let card = ctx.card(on, &first).expect("the task");
    card.claim(Some("desk:1".to_owned()), Duration::from_secs(600), false).expect("a claim");
    ops.comment(&first, "looks good").await;
    ops.complete(&first, "done once").await;
    let runs = ops.kanban(&["runs", &first, "--json"]).await.json();
    assert!(runs.to_string().contains("done once"), "{runs}");
    assert_eq!(text(&ops.show(&second).await["task"], "status"), "ready");
    ops.kanban(&["gc"]).await.success();
    ops.archive(&second).await;
    let boards = home.hermes(&["kanban", "boards", "list", "--json"]).await.json();
    assert!(boards.to_string().contains("Operations"), "{boards}");
    boards::use_board(&ctx, "ops").expect("the current board");
    let current = home.hermes(&["kanban", "list", "--json"]).await.json();
    assert!(current.to_string().contains(&first), "`ops` is current for Hermes too: {current}");
    boards::archive(&ctx, "ops", false).expect("put away");
    let boards = home.hermes(&["kanban", "boards", "list", "--json"]).await.json();
    assert!(!boards.to_string().contains("Operations"), "{boards}");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_commands_work_on_what_hermes_made() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let ours = Ours::new(&home);
    let ctx = ours.context();
    let board = home.create_board("ops").await;
    let on = Some("ops");
    let first = board.create("Plan the report", "stub-worker").await;
    let second = board.create("Write the report", "stub-worker").await;
    board.kanban(&["link", &first, &second]).await.success();
    board.subscribe(&first, "telegram", "42").await;
    board.comment(&first, "mind the font").await;

    let filter = cards::filter(None, Some("stub-worker".to_owned()), false, None);
    let listed = cards::list(&ctx, on, &filter).expect("a list");
    assert_eq!(listed.len(), 2, "{listed:?}");
    let rows = subs::list(&ctx, on).expect("rows").subs;
    assert_eq!((rows.len(), rows[0].chat.as_str()), (1, "42"));
    let shown = cards::show(ctx.card(on, &first).expect("the task")).expect("all of it");
    assert_eq!((&shown.children, shown.comments.len()), (&vec![second.clone()], 1));

    board.kanban(&["claim", &first]).await.success();
    let said = Said { summary: Some("done once".to_owned()), ..Said::default() };
    let card = ctx.card(on, &first).expect("the task");
    card.complete(None, said, Vec::new(), None).expect("completed");
    let shown = cards::show(ctx.card(on, &first).expect("the task")).expect("all of it");
    assert_eq!(shown.runs.last().expect("the attempt")["outcome"], json!("completed"));
    assert_eq!(text(&board.show(&second).await["task"], "status"), "ready");
    let wanted = Wanted { task: Some(first), after: Some(0), limit: 100 };
    let mut events = Events::open(&ctx, on, &wanted).expect("events");
    let mut kinds = Vec::new();
    while let Some(event) = events.take().expect("an event") {
        kinds.push(event.kind);
    }
    for kind in ["created", "linked", "commented", "claimed", "completed"] {
        let on_child = kind == "linked";
        assert!(on_child || kinds.iter().any(|seen| seen == kind), "{kind}: {kinds:?}");
    }
}
