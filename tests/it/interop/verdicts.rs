//! What the real server answers to a wake, and what becomes of it (laws D8, W2, W7).

use gateway_adapters::{
    api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
    http::{HttpClient, HttpClientConfig},
};
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Parcel},
    ports::Channel as _,
    verdict::{Fault, Verdict},
};

use super::scene::{SESSION, Scene};
use super::*;
use crate::support::hermes::{Answer, Phase, Rule};

#[tokio::test(flavor = "multi_thread")]
async fn w7_a_failed_turn_is_tried_again_under_a_new_key_also_after_a_restart() {
    let Some(mut scene) = Scene::new(|home| home, |ours| ours).await else { return };
    scene.stub.rule(Rule::new(MARK).answer(Answer::Status(400)).times(1));
    scene.complete().await;
    // Said once the outcome is in the ledger: before that a kill leaves it unknown.
    scene.ours.logged("not delivered; will be tried again").await;
    scene.ours.logged("failed_turn").await;
    scene.ours.kill().await;
    scene.ours.start().await;
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 2);
    let wakes = wakes(&scene.gateway.client(), SESSION).await;
    assert_ne!(wakes[0].user, wakes[1].user, "the reference is of another epoch");
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_turns_that_keep_failing_go_to_the_dead_letters_and_can_be_taken_up_again() {
    let set = |ours: Ours| ours.set("backoff.first", "100ms").set("wake.max_failed_turns", "2");
    let Some(mut scene) = Scene::new(|home| home, set).await else { return };
    scene.stub.go_away().await;
    scene.complete().await;
    scene.ours.logged("parked in the dead letters").await;
    let dead = scene.ours.dead();
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert_eq!((dead[0].task.as_str(), dead[0].chat.as_str()), (scene.task.as_str(), SESSION));
    scene.stub.come_back().await;
    scene.ours.retry_dead();
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_a_turn_without_an_answer_failed_and_one_out_of_budget_did_its_work() {
    let set = |ours: Ours| ours.set("backoff.first", "100ms");
    let Some(scene) = Scene::new(|home| home.max_turns(6), set).await else { return };
    // The server says 502 `agent_incomplete`.
    scene.stub.rule(Rule::new("").answer(Answer::Truncated(String::new())));
    scene.complete().await;
    // Said once the outcome is in the ledger: before that a kill leaves it unknown.
    scene.ours.logged("not delivered; will be tried again").await;
    scene.ours.logged("failed_turn").await;
    scene.stub.forget_rules();
    scene.delivered().await;
    scene.one_answered_wake().await;

    // The server says 200 and that the turn did not complete: its tools have run.
    scene.stub.rule(Rule::new("done too").answer(Answer::Endless));
    let second = scene.board.create("a second report", "stub-worker").await;
    scene.board.subscribe(&second, "api_server", "another").await;
    scene.board.complete(&second, "done too").await;
    scene.ours.delivered(2, SOON).await;
    let turns = wakes(&scene.gateway.client(), "another").await;
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0].tools, ["kanban_list"; 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_a_server_at_its_limit_is_busy_and_costs_nothing() {
    let make = |home: HomeBuilder| home.max_concurrent_runs(1);
    let Some(scene) = Scene::new(make, |ours| ours).await else { return };
    let gate = scene.stub.hold("something long", Phase::Begin);
    let other = tokio::spawn(scene.gateway.client().post_turn("another", "something long"));
    gate.entered(1).await;
    scene.complete().await;
    scene.ours.logged("\"busy\"").await;
    gate.open();
    other.await.expect("a turn").ok();
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn w7_what_the_server_refuses_is_told_apart() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let _gateway = home.gateway().start().await;
    let name = ChannelName::api_server("default");
    let server = |key: &str| {
        let client = HttpClient::new(&HttpClientConfig::default()).expect("a client");
        let config = ApiServerConfig {
            name: name.clone(),
            base: home.base_url(),
            key: key.to_owned().into(),
            key_from: String::new(),
            model: "hermes-agent".to_owned(),
            limits: ApiServerLimits::default(),
        };
        ApiServer::new(client, config).expect("a channel")
    };
    let session = Destination::Session { channel: name.clone(), session: SESSION.to_owned() };
    let parcel = |body: String| Parcel::new(session.clone(), "a key of this test".to_owned(), body);
    let mut seen = Vec::new();
    for (key, body) in [
        (home.key(), "x".repeat(16 << 20)),
        (home.key(), "no JSON".to_owned()),
        ("some-other-server-key", "{}".to_owned()),
    ] {
        match server(key).send(&parcel(body)).await {
            Verdict::Permanent { fault, detail } => seen.push((fault, detail)),
            other => panic!("{other:?}"),
        }
    }
    for ((fault, detail), (wanted, status)) in seen.iter().zip([
        (Fault::Payload, "413"),
        (Fault::Payload, "400"),
        (Fault::Credential, "401"),
    ]) {
        assert!(*fault == wanted && detail.as_str().contains(status), "{fault:?} {detail:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_wrong_key_rests_the_channel_until_the_key_is_right() {
    let Some(mut scene) = Scene::new(|home| home, |ours| ours).await else { return };
    assert!(scene.ours.stop().await.success());
    let file = scene.board.home().path().join(".env");
    let right = std::fs::read_to_string(&file).expect(".env");
    let wrong = right.replace("stub-api-server-key", "some-other-server-key");
    std::fs::write(&file, wrong).expect(".env");
    scene.ours.start().await;
    scene.complete().await;
    scene.ours.logged("credential refused").await;
    let status = scene.ours.status();
    assert_eq!(status.pauses.len(), 1, "{status:?}");
    assert!(status.pauses[0].reason.contains("401"), "{status:?}");
    assert!(status.pauses[0].reason.contains("/.env, read again when it changes"), "{status:?}");
    assert_eq!(scene.ours.dead().len(), 0);
    // Nothing but the file is touched: not our gateway, not the server.
    std::fs::write(&file, right).expect(".env");
    scene.delivered().await;
    assert_eq!(scene.one_answered_wake().await, 1);
}
