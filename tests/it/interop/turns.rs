//! Turns that last, end badly or are cut off: what becomes of the wake (laws W4, W6, W7).

use super::*;
use crate::support::hermes::{Answer, Gateway, Phase, Rule, answered};

/// A session whose turn made a task, with the gateway under test beside Hermes.
struct Scene {
    stub: StubModel,
    board: Board,
    gateway: Gateway,
    ours: Ours,
    task: String,
}

const SESSION: &str = "the one that asked";

impl Scene {
    async fn new(set: impl FnOnce(Ours) -> Ours) -> Option<Self> {
        let (stub, home) = stage(|home| home).await?;
        let mut ours = set(Ours::new(&home));
        ours.start().await;
        let gateway = home.gateway().start().await;
        let board = home.board();
        gateway.client().post_turn(SESSION, "create task a report").await.ok();
        let task = task_titled(&board, "a report").await;
        Some(Self { stub, board, gateway, ours, task })
    }

    /// Exactly one wake was answered, for the task, and no second task came of it.
    async fn one_answered_wake(&self) {
        let turns = self.gateway.client().turns(SESSION).await;
        assert_eq!(answered(&turns, MARK), 1, "{turns:?}");
        assert!(turns.iter().any(|turn| turn.user.contains(&self.task)), "{turns:?}");
        assert_eq!(self.board.list().await.len(), 1, "a wake created a task");
        cursors_are_at_the_end(&self.board).await;
    }
}

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
    board.complete(&task, "done once").await;
    crate::support::hermes::eventually("the wake is owed", SOON, async || {
        (ours.legs("planned") == 1).then_some(())
    })
    .await;
    assert_eq!(stub.turns(MARK), 0, "a wake was sent into the running turn");
    gate.open();
    turn.await.expect("a turn").ok();
    ours.delivered(1, SOON).await;
    let turns = wakes(&gateway.client(), SESSION).await;
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert!(turns[0].answer.is_some() && turns[0].user.contains("done once"), "{turns:?}");
    assert_eq!(board.list().await.len(), 1, "the literal model was asked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_sigterm_to_the_server_in_a_wake_turn_leaves_one_answered_turn() {
    let Some(mut scene) = Scene::new(|ours| ours).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.board.complete(&scene.task, "done once").await;
    gate.entered(1).await;
    scene.gateway.signal("TERM");
    scene.gateway.server_gone().await;
    scene.ours.logged("outcome unknown").await;
    gate.open();
    scene.gateway.ended().await;
    scene.gateway.start_again().await;
    scene.ours.delivered(1, SOON).await;
    scene.one_answered_wake().await;
    assert_eq!(wakes(&scene.gateway.client(), SESSION).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_a_client_time_out_leaves_one_answered_turn() {
    let Some(scene) = Scene::new(|ours| ours.set("wake.timeout", "1s")).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.board.complete(&scene.task, "done once").await;
    gate.entered(1).await;
    scene.ours.logged("outcome unknown").await;
    gate.open();
    scene.ours.delivered(1, SOON).await;
    scene.one_answered_wake().await;
    assert_eq!(wakes(&scene.gateway.client(), SESSION).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn w6_kill_of_the_server_in_a_wake_turn_is_answered_in_the_end() {
    let Some(mut scene) = Scene::new(|ours| ours).await else { return };
    let gate = scene.stub.hold(MARK, Phase::Begin);
    scene.board.complete(&scene.task, "done once").await;
    gate.entered(1).await;
    scene.gateway.kill().await;
    scene.ours.logged("outcome unknown").await;
    gate.open();
    scene.gateway.start_again().await;
    scene.ours.delivered(1, SOON).await;
    scene.one_answered_wake().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_a_failed_turn_is_tried_again_under_a_new_key() {
    let Some(scene) = Scene::new(|ours| ours.set("backoff.first", "100ms")).await else { return };
    scene.stub.rule(Rule::new(MARK).answer(Answer::Status(400)).times(1));
    scene.board.complete(&scene.task, "done once").await;
    scene.ours.logged("failed_turn").await;
    scene.ours.delivered(1, SOON).await;
    scene.one_answered_wake().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_a_server_at_its_limit_is_busy_and_costs_nothing() {
    let Some((stub, home)) = stage(|home| home.max_concurrent_runs(1)).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    let gateway = home.gateway().start().await;
    let board = home.board();
    gateway.client().post_turn(SESSION, "create task a report").await.ok();
    let task = task_titled(&board, "a report").await;
    let gate = stub.hold("something long", Phase::Begin);
    let other = tokio::spawn(gateway.client().post_turn("another", "something long"));
    gate.entered(1).await;
    board.complete(&task, "done once").await;
    ours.logged("\"busy\"").await;
    gate.open();
    other.await.expect("a turn").ok();
    ours.delivered(1, SOON).await;
    assert_eq!(wakes(&gateway.client(), SESSION).await.len(), 1);
}
