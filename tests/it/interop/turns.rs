//! Turns that last or are cut off: what becomes of the wake (laws W4, W6).

use super::scene::{SESSION, Scene};
use super::*;
use crate::support::hermes::Phase;

#[tokio::test(flavor = "multi_thread")]
async fn w4_a_wake_waits_for_the_turn_that_created_its_task() {
    let Some((stub, home)) = stage(|home| home).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().start().await;
    let board = home.board();
    let gate = stub.hold("create task", Phase::AfterTool);
    let turn = tokio::spawn(gateway.client().post_turn(SESSION, "create task a report"));
    gate.entered(1).await;
    let task = task_titled(&board, "a report").await;
    board.subscribe(&task, "api_server", "another").await;
    board.complete(&task, "done once").await;
    // Two wakes go out one after the other into another session: so long the first one waits.
    ours.delivered_so_far(1).await;
    let second = board.create("a second report", "stub-worker").await;
    board.subscribe(&second, "api_server", "another").await;
    board.complete(&second, "done too").await;
    ours.delivered_so_far(2).await;
    assert_eq!(ours.legs("planned"), 1, "{:?}", ours.counts());
    assert_eq!(stub.turns(MARK), 2, "a wake was sent into the running turn");
    gate.open();
    turn.await.expect("a turn").ok();
    ours.delivered(3, SOON).await;

    let turns = gateway.client().turns(SESSION).await;
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert!(turns[0].answer.is_some() && turns[1].answer.is_some(), "{turns:?}");
    assert!(turns[1].user.contains(MARK) && turns[1].user.contains("done once"), "{turns:?}");
    assert_eq!(board.list().await.len(), 2, "the literal model was asked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_sigterm_to_the_server_in_a_wake_turn_leaves_one_answered_turn() {
    let Some(mut scene) = Scene::new(|home| home, |ours| ours).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.complete().await;
    gate.entered(1).await;
    scene.gateway.signal("TERM");
    scene.gateway.server_gone().await;
    scene.ours.logged("outcome unknown").await;
    gate.open();
    scene.gateway.ended().await;
    scene.gateway.start_again().await;
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 1);
    assert_eq!(gate.count(), 1, "the turn was run once");
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_a_client_time_out_and_a_restart_leave_one_answered_turn() {
    let set = |ours: Ours| ours.set("wake.timeout", "1s");
    let Some(mut scene) = Scene::new(|home| home, set).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.complete().await;
    gate.entered(1).await;
    scene.ours.logged("outcome unknown").await;
    // The turn goes on without anybody who listens, and is found by looking.
    gate.open();
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 1);
    assert_eq!(gate.count(), 1, "the turn was run once");

    // The same once more, and the server ends before the turn does.
    let gate = scene.stub.hold(MARK, Phase::Begin);
    let second = scene.board.create("a second report", "stub-worker").await;
    scene.board.subscribe(&second, "api_server", "another").await;
    scene.board.complete(&second, "done too").await;
    gate.entered(1).await;
    scene.ours.logged("another").await;
    scene.gateway.signal("TERM");
    scene.gateway.server_gone().await;
    gate.open();
    scene.gateway.ended().await;
    scene.gateway.start_again().await;
    scene.ours.delivered(2, SOON).await;
    let turns = wakes(&scene.gateway.client(), "another").await;
    assert_eq!((turns.len(), gate.count()), (1, 1), "{turns:?}");
    assert!(turns[0].answer.is_some(), "{turns:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_kill_of_the_server_in_a_wake_turn_is_answered_in_the_end() {
    let Some(mut scene) = Scene::new(|home| home, |ours| ours).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.complete().await;
    gate.entered(1).await;
    scene.gateway.kill().await;
    scene.ours.logged("outcome unknown").await;
    gate.open();
    scene.gateway.start_again().await;
    scene.delivered().await;
    // The first row stays, without an answer.
    assert_eq!(scene.one_answered_wake().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_a_kill_and_a_start_between_two_looks_are_noticed() {
    // The server is back before the first look: only the start of its process tells that the turn,
    // whose row is there without an answer, is not running.
    let Some(mut scene) = Scene::new(|home| home, |ours| ours.set("wake.settle", "6s")).await
    else {
        return;
    };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.complete().await;
    gate.entered(1).await;
    scene.gateway.kill().await;
    gate.open();
    scene.gateway.start_again().await;
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn w4_a_turn_that_ended_with_its_server_is_not_waited_for() {
    let Some((stub, home)) = stage(|home| home).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let mut gateway = home.gateway().start().await;
    let board = home.board();
    let gate = stub.hold("create task", Phase::AfterTool);
    let client = gateway.client();
    let turn =
        tokio::spawn(async move { client.try_turn(SESSION, "create task a report", None).await });
    gate.entered(1).await;
    // sleep: the start of a process is known to the second, and in doubt a turn is waited for.
    tokio::time::sleep(Duration::from_secs(3)).await;
    gateway.kill().await;
    assert!(turn.await.expect("a turn").is_err());
    gate.open();
    gateway.start_again().await;
    let task = task_titled(&board, "a report").await;
    board.complete(&task, "done once").await;
    ours.delivered(1, SOON).await;
    let wakes = wakes(&gateway.client(), SESSION).await;
    assert_eq!(wakes.len(), 1, "{wakes:?}");
    assert!(wakes[0].answer.is_some(), "{wakes:?}");
    assert_eq!(board.list().await.len(), 1, "the request was repeated");
}
