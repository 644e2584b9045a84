//! The harness itself: processes, commands and the writer.

use std::time::Duration;

use serde_json::json;

use super::selftest::setup;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_outlives_the_server_that_sigterm_ended() {
    let Some((stub, home)) = setup().await else {
        return;
    };
    let mut gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    let gate = stub.hold("[kanban]", Phase::Begin);
    let turn = {
        let client = client.clone();
        tokio::spawn(async move { client.try_turn("s", "[kanban] once", Some("key")).await })
    };
    gate.entered(1).await;
    gateway.signal("TERM");
    gateway.server_gone().await;
    assert!(turn.await.unwrap().is_err(), "the connection is cut, about 5 s later");
    gate.open();
    gateway.ended().await;
    gateway.start_again().await;
    assert_eq!(answered(&client.turns("s").await, "[kanban]"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dispatcher_runs_a_worker_that_completes() {
    let Some(hermes) = require() else { return };
    let stub = StubModel::start().await;
    let home = hermes
        .home(&stub.url())
        .dispatch_interval_seconds(1)
        .model_attempts(2)
        .kanban_setting("failure_limit: 1")
        .config("display: {language: en}")
        .build()
        .await;
    let done = Answer::Tool("kanban_complete".to_owned(), json!({"summary": "by a worker"}));
    stub.rule(Rule::new("work kanban task").answer(done));
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;
    let board = home.board();
    // `default` is a profile, so this one is dispatched.
    let task = board.create("For a worker", "default").await;
    let shown = eventually("the worker completes", Duration::from_secs(60), async || {
        Some(board.show(&task).await).filter(|shown| shown["task"]["status"] == "done")
    })
    .await;
    assert_eq!(shown["latest_summary"], "by a worker", "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_ends_and_starts_again() {
    let Some((_stub, home)) = setup().await else {
        return;
    };
    let born_ours: GatewayBuilder = home.gateway().env("HERMES_PROFILE", "kanban-gateway");
    let mut gateway: Gateway = born_ours.start().await;
    let state = gateway.state().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", gateway.pid().unwrap())).unwrap();
    let started = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    assert_eq!(state["start_time"].to_string(), started);
    assert_eq!(state["platforms"]["api_server"]["state"], "connected");
    gateway.dispatching().await;
    assert_eq!(gateway.terminate().await.code(), Some(1));
    // The file is no sign of life: it says "running" after SIGTERM and after kill -9.
    let state = gateway.state().unwrap();
    assert_eq!(state["gateway_state"], "running");
    assert_eq!(state["platforms"]["api_server"]["state"], "disconnected");
    gateway.start_again().await;
    gateway.kill().await;
    assert_eq!(gateway.state().unwrap()["platforms"]["api_server"]["state"], "connected");
    gateway.start_again().await;
    gateway.client().post_turn("s", "create task Born ours").await.ok();
    let rows = home.board().subscriptions(None).await;
    assert_eq!(rows[0]["notifier_profile"], "kanban-gateway", "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_notifier_of_the_real_gateway_consumes_a_row() {
    let Some((_stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().start().await;
    gateway.client().post_turn("s", "create task Lost").await.ok();
    let board = home.board();
    let task = board.list().await[0]["id"].as_str().unwrap().to_owned();
    board.complete(&task, "done").await;
    eventually("the row is gone", Duration::from_secs(30), async || {
        board.subscriptions(None).await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_the_writer_see_one_board() {
    let Some((_stub, home)) = setup().await else {
        return;
    };
    let board = home.create_board("work").await;
    assert_eq!(board.slug(), "work");
    let refused: Ran = board.kanban(&["complete", "t_00000000"]).await;
    assert!(!refused.succeeded(), "{refused:?}");
    let task = board.create("By hand", "somebody").await;
    board.subscribe(&task, "telegram", "42").await;
    board.subscribe_with(&task, "api_server", "s", &["--notifier-profile", "kanban-gateway"]).await;
    let mut writer = Writer::start(&board).await;
    assert_eq!(writer.subscriptions().await.len(), 2);
    board.unsubscribe(&task, "telegram", "42").await;
    let mine = writer.create_task("By function", Some("s-9")).await;
    assert_eq!(board.show(&mine).await["task"]["session_id"], "s-9");
    let seeded = writer.seed(50, "bulk", "api_server", "bulk", None).await;
    writer.complete(&seeded[0], "done once").await;
    writer.block(&seeded[1], "why").await;
    writer.unblock(&seeded[1]).await;
    writer.comment(&seeded[1], "a word").await;
    writer.archive(&seeded[1]).await;
    writer.subscribe(&mine, "api_server", "s-9", None).await;
    board.block(&seeded[4], "why").await;
    board.unblock(&seeded[4]).await;
    board.comment(&seeded[4], "a word").await;
    board.complete(&task, "done").await;
    board.complete_all(&seeded[2..4], "all").await;
    board.archive(&task).await;
    let load = Load { writes: 400, body_bytes: 500, subscribe: Some("load"), ..Load::default() };
    let summary: Summary = writer.load(load).await;
    assert!(summary.errors.is_empty() && summary.elapsed_ms > 0, "{summary:?}");
    assert_eq!((summary.writes, summary.created.len()), (400, 100));
    assert!(summary.missing.is_empty(), "{:?}", summary.missing);
    assert_eq!(writer.integrity_check().await, "ok");
    let rows =
        writer.query("SELECT count(*) AS n FROM tasks WHERE status = ?", json!(["done"])).await;
    assert_eq!(rows[0]["n"], 3 + summary.completed.len());
    assert!(writer.try_call("complete", json!({"nonsense": 1})).await.is_err());
    assert!(writer.pid().is_some());
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_profile_dispatches_beside_the_api_server() {
    let Some((stub, home)) = setup().await else {
        return;
    };
    let work: Profile = home.add_profile("work");
    assert!(work.port() != home.port() && home.base_url().ends_with(&home.port().to_string()));
    work.without_api_server();
    let api = home.gateway().quiet().start().await;
    let dispatcher = work.gateway().start().await;
    dispatcher.dispatching().await;
    assert_eq!(dispatcher.state().unwrap()["platforms"], json!({}));
    assert!(!work.client().healthy().await);
    assert_ne!(free_port(), free_port());
    api.client().post_turn("s", "create task Split").await.ok();
    assert_eq!(home.board().subscriptions(None).await.len(), 1);
    assert_eq!(stub.turns("Split"), 1);
}
