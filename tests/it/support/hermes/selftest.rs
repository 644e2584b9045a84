//! The harness itself, on the real package: turns and the stub model.

use std::time::Duration;

use serde_json::json;

use super::*;

pub(super) async fn setup() -> Option<(StubModel, Home)> {
    let hermes = require()?;
    let stub = StubModel::start().await;
    let home = hermes.home(&stub.url()).build().await;
    Some((stub, home))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_creates_a_task_and_its_subscription() {
    let Some((stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().start().await;
    let client = gateway.client();
    let reply = client.post_turn("s a", "create task Paint the shed").await.ok();
    assert_eq!(reply.answer(), "ok: create task Paint the shed");
    assert_eq!(reply.header("x-hermes-session-id"), Some("s a"));

    let board = home.board();
    let tasks = board.list().await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(tasks[0]["title"], "Paint the shed");
    let task = tasks[0]["id"].as_str().unwrap();
    let rows = board.subscriptions(Some(task)).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["platform"], "api_server");
    assert_eq!(rows[0]["chat_id"], "s a");
    assert_eq!(rows[0]["notifier_profile"], json!(null));
    assert_eq!(rows[0]["last_event_id"], 0);

    let turns = client.turns("s a").await;
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0].tools, ["kanban_create"]);
    assert_eq!(stub.turns("Paint the shed"), 1);
    assert_eq!(client.sessions().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_lands_as_a_user_row_and_its_answer() {
    let Some((_stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    client.post_turn("s", "hello").await.ok();
    let reply = client.post_turn("s", "[kanban] t_00000000 completed").await.ok();
    assert!(reply.json().get("hermes").is_none(), "{}", reply.json());
    let turns = client.turns("s").await;
    assert_eq!(turns.len(), 2);
    assert_eq!(answered(&turns, "[kanban]"), 1, "{turns:?}");
    let rows = client.messages("s").await;
    assert!(rows.iter().all(|row| row["timestamp"].is_f64()), "{rows:?}");
    assert_eq!(client.messages_reply("nobody").await.status, 404);
    assert_eq!(client.with_key("a-wrong-but-long-key").session("s").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_turn_runs_until_the_gate_opens() {
    let Some((stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    let gate = stub.hold("Dig a well", Phase::AfterTool);
    let turn = tokio::spawn(client.post_turn("s", "create task Dig a well"));
    gate.entered(1).await;
    // The task is there, the turn is not over, and its rows can be read.
    assert_eq!(home.board().list().await.len(), 1);
    let turns = client.turns("s").await;
    assert_eq!(turns[0].tools, ["kanban_create"]);
    assert_eq!(turns[0].answer, None);
    assert!(!turn.is_finished());
    gate.open();
    turn.await.unwrap().ok();
    assert!(client.turns("s").await[0].answer.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_into_a_running_turn_repeats_the_request() {
    let Some((stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    let gate = stub.hold("create task Dig", Phase::Begin);
    let turn = tokio::spawn(client.post_turn("s", "create task Dig"));
    gate.entered(1).await;
    let wake = tokio::spawn(client.post_turn("s", "[kanban] t_00000000 completed"));
    gate.entered(2).await;
    gate.open();
    turn.await.unwrap().ok();
    wake.await.unwrap().ok();
    assert_eq!(home.board().list().await.len(), 2, "what law W4 is about");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_turns() {
    let Some((mut stub, home)) = setup().await else {
        return;
    };
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    stub.rule(Rule::new("fail").answer(Answer::Status(500)).times(9));
    let failed = client.post_turn("f", "fail now").await.ok();
    assert_eq!(failed.json()["hermes"]["failed"], true, "{}", failed.json());
    assert_eq!(failed.json()["choices"][0]["finish_reason"], "error");

    stub.rule(Rule::new("cut").answer(Answer::Cut));
    let failed = client.post_turn("c", "cut").await.ok();
    assert_eq!(failed.json()["hermes"]["failed"], true, "{}", failed.json());

    stub.go_away().await;
    let failed = client.post_turn("u", "anybody there?").await.ok();
    assert_eq!(failed.json()["hermes"]["failed"], true, "{}", failed.json());
    assert_eq!(failed.header("x-hermes-completed"), Some("false"));
    stub.come_back().await;
    client.post_turn("u", "and now?").await.ok();
    // The failed turn left a user row without an answer, so the next turn repeats its text.
    let last: Seen = stub.seen().pop().unwrap();
    assert_eq!(last.users, ["anybody there?\n\nand now?"]);
    assert!(last.stream && last.at.elapsed() < Duration::from_secs(60));
    let turns: Vec<Turn> = client.turns("u").await;
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_eq!(turns[0].answer, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_turns() {
    let Some(hermes) = require() else { return };
    let stub = StubModel::start().await;
    let home = hermes.home(&stub.url()).max_turns(6).build().await;
    let gateway = home.gateway().quiet().start().await;
    let client = gateway.client();
    stub.rule(Rule::new("for ever").answer(Answer::Endless));
    let incomplete = client.post_turn("i", "go on for ever").await.ok();
    assert_eq!(incomplete.json()["hermes"]["completed"], false);
    assert_eq!(incomplete.json()["hermes"]["failed"], false);
    assert_eq!(client.turns("i").await[0].tools, ["kanban_list"; 6]);

    stub.rule(Rule::new("").answer(Answer::Truncated(String::new())));
    let none: Reply = client.post_turn("t", "say something").await;
    assert_eq!(none.status, 502);
    assert_eq!(none.json()["error"]["code"], "agent_incomplete", "{}", none.json());
    stub.forget_rules();
    stub.rule(Rule::new("").answer(Answer::Truncated("half".to_owned())));
    let half = client.post_turn("h", "say something").await.ok();
    assert_eq!(half.json()["hermes"]["partial"], true, "{}", half.json());
    stub.forget_rules();
    stub.rule(Rule::new("word").answer(Answer::Text("a word".to_owned())));
    assert_eq!(client.post_turn("w", "say a word").await.answer(), "a word");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_and_joins() {
    let Some(hermes) = require() else { return };
    let stub = StubModel::start().await;
    let home = hermes.home(&stub.url()).max_concurrent_runs(1).build().await;
    let gateway = home.gateway().quiet().start().await;
    let client: Client = gateway.client();
    let gate: Gate = stub.hold("slow", Phase::Begin);
    let turn = {
        let client = client.clone();
        tokio::spawn(async move { client.try_turn("s", "slow", Some("key")).await })
    };
    gate.entered(1).await;
    let busy = client.post_turn("other", "hello").await;
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("1")), "{}", busy.json());
    // A client that leaves does not end its turn.
    turn.abort();
    assert!(turn.await.unwrap_err().is_cancelled());
    gate.pass_one();
    eventually("the answer of a turn nobody waits for", Duration::from_secs(30), async || {
        client.turns("s").await.first()?.answer.clone()
    })
    .await;
    stub.rule(Rule::new("slow").delay(Duration::from_millis(50)));
    let cached = client.try_turn("s", "slow", Some("key")).await.unwrap().ok();
    assert_eq!(cached.answer(), "ok: slow");
    assert_eq!((gate.count(), stub.seen().len()), (1, 1), "answered from the cache");

    let big = Some(vec![b'x'; 10_000_001]);
    let big = client.request("POST", "/v1/chat/completions", &[], big).await.unwrap();
    assert_eq!((big.status, &big.json()["error"]["code"]), (413, &json!("body_too_large")));
    let origin = [("Origin", "http://elsewhere")];
    let refused = client.request("GET", "/api/sessions", &origin, None).await.unwrap();
    assert_eq!(refused.status, 403);
}
