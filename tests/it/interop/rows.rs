//! Boards, subscriptions and completions by Hermes' commands, and what its commands show afterwards.

use std::collections::BTreeMap;

use super::*;
use crate::support::hermes::eventually;

/// The rows of a board as `notify-list` shows them: owner and cursor by task, platform and chat.
async fn rows(board: &Board) -> BTreeMap<(String, String, String), (Option<String>, i64)> {
    let rows = board.subscriptions(None).await;
    let row = |row: &Value| {
        let key = (text(row, "task_id"), text(row, "platform"), text(row, "chat_id"));
        let owner = row["notifier_profile"].as_str().map(str::to_owned);
        (key, (owner, row["last_event_id"].as_i64().expect("a cursor")))
    };
    rows.iter().map(row).collect()
}

/// The event kinds of a task, as `show` lists them.
async fn kinds(board: &Board, task: &str) -> Vec<String> {
    let shown = board.show(task).await;
    let events = shown["events"].as_array().cloned().unwrap_or_default();
    events.iter().map(|event| text(event, "kind")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_made_and_read_by_hermes_commands() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().start().await;
    let client = gateway.client();
    // A board that is made while we run, beside the one that was there.
    let (default, ops) = (home.board(), home.create_board("ops").await);
    ours.logged("board.slug=\"ops\" board.id").await;

    for board in [&default, &ops] {
        let slug = board.slug();
        let name = |what: &str| format!("{what} on {slug}");
        let done = board.create("to be done", "stub-worker").await;
        let stuck = board.create("to be blocked", "stub-worker").await;
        let left = board.create("to be left alone", "stub-worker").await;
        board.subscribe(&done, "api_server", &name("done")).await;
        board.subscribe(&done, "telegram", "42").await;
        board.subscribe_with(&done, "console", "room", &["--thread-id", "7"]).await;
        board.subscribe(&stuck, "api_server", &name("stuck")).await;
        board.subscribe(&left, "api_server", &name("left")).await;
        board.subscribe(&done, "api_server", &name("gone")).await;
        board.unsubscribe(&done, "api_server", &name("gone")).await;
        let before = ours.legs("delivered");
        board.complete(&done, "done once").await;
        board.block(&stuck, "which colour?").await;
        board.comment(&left, "nothing to tell").await;
        ours.delivered(before + 3, SOON).await;
        board.unblock(&stuck).await;
        board.complete(&stuck, "blue it was").await;
        ours.delivered(before + 4, SOON).await;

        for (session, said) in
            [("done", &["done once"][..]), ("stuck", &["which colour?", "blue it was"])]
        {
            let turns = wakes(&client, &name(session)).await;
            assert_eq!(turns.len(), said.len(), "{session}: {turns:?}");
            for (turn, said) in turns.iter().zip(said) {
                assert!(turn.user.contains(said) && turn.answer.is_some(), "{turn:?}");
                assert!(turn.user.contains(&format!("Board: {slug}")), "{turn:?}");
            }
        }
        assert_eq!(wakes(&client, &name("left")).await.len(), 0);
        assert_eq!(wakes(&client, &name("gone")).await.len(), 0);

        assert_eq!(kinds(board, &done).await, ["created", "completed"]);
        let kinds = kinds(board, &stuck).await;
        assert_eq!(kinds.last().map(String::as_str), Some("completed"), "{kinds:?}");
        let rows = rows(board).await;
        let row = |task: &str, platform: &str, chat: &str| {
            rows[&(task.to_owned(), platform.to_owned(), chat.to_owned())].clone()
        };
        let ours_by_adoption = Some("kanban-gateway.default".to_owned());
        let hermes = Some("default".to_owned());
        assert_eq!(rows.len(), 5, "{rows:?}");
        for (task, chat) in [(&done, "done"), (&stuck, "stuck"), (&left, "left")] {
            assert_eq!(row(task, "api_server", &name(chat)).0, ours_by_adoption, "{rows:?}");
        }
        // Nobody serves this one, and nobody touched it.
        assert_eq!(row(&done, "telegram", "42"), (hermes.clone(), 0));
        assert_eq!(row(&done, "console", "room").0, hermes);
        assert_eq!(row(&left, "api_server", &name("left")).1, 0);
        let unseen = unseen(board).await;
        assert_eq!(unseen, [(done.clone(), "telegram".to_owned())], "cursors");
    }
    let console = ours.console();
    assert_eq!(console.len(), 2, "{console:?}");
    assert!(console.iter().all(|line| line["thread"] == "7"), "{console:?}");

    // The row of an archived task goes when there is nothing left to tell (law S3).
    let (task, ..) = rows(&ops).await.into_keys().next().expect("a row");
    ops.archive(&task).await;
    eventually("the rows of the archived task are gone", SOON, async || {
        let left = rows(&ops)
            .await
            .into_keys()
            .any(|(of, platform, _)| of == task && platform != "telegram");
        (!left).then_some(())
    })
    .await;
    assert!(ours.stop().await.success());
}

/// Rows whose task ended or stopped after their cursor, as Hermes' own functions see the file.
async fn unseen(board: &Board) -> Vec<(String, String)> {
    let mut reader = Writer::start(board).await;
    let rows = reader.query(
        "SELECT DISTINCT s.task_id, s.platform FROM kanban_notify_subs s JOIN task_events e \
         ON e.task_id = s.task_id WHERE e.kind IN ('completed', 'blocked') AND e.id > s.last_event_id",
        Value::Null,
    );
    let rows = rows.await.iter().map(|row| (text(row, "task_id"), text(row, "platform"))).collect();
    reader.stop().await;
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn w2_the_ids_that_we_refuse_are_those_that_the_server_refuses() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    let board = home.board();
    let long = "x".repeat(257);
    let longest = "é".repeat(256);
    let good = ["plain", "with space", "agent:main:x", "user@host", "日本", "1:x", "a.b", &longest];
    let bad = ["a/b", "a\\b", "a..b", "..", "c:x", &long];
    let mut writer = Writer::start(&board).await;
    let task = writer.create_task("for everybody", None).await;
    for session in good.iter().chain(&bad).chain(&["", " "]) {
        writer.subscribe(&task, "api_server", session, None).await;
    }
    writer.complete(&task, "done once").await;
    ours.delivered(i64::try_from(good.len()).expect("fits"), SOON).await;
    for session in good {
        let turns = wakes(&client, session).await;
        assert_eq!(turns.len(), 1, "{session}: {turns:?}");
    }
    assert_eq!(client.sessions().await.len(), good.len());
    for session in bad {
        let reply = client.try_turn(session, "hello", None).await.expect("an answer");
        assert_eq!(reply.status, 400, "{session}");
    }
    let mut parked: Vec<String> = ours.dead().into_iter().map(|dead| dead.chat).collect();
    let mut refused: Vec<String> = bad.iter().chain(&["", " "]).map(|s| (*s).to_owned()).collect();
    parked.sort();
    refused.sort();
    assert_eq!(parked, refused);
    // Parked is settled: every cursor has passed the event (law D1).
    cursors_are_at_the_end(&board).await;
    writer.stop().await;
}
