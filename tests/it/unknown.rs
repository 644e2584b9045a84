//! What nobody can find out, and what an operator does about it (laws D7, D11, W6).

use gateway_adapters::receiver::{RawAct, RawServer};
use gateway_bin::ops::dead;

use crate::support::{wait::seconds_ago, world::World};

/// Nothing here: a server without a way to look into a session.
fn no_route() -> Vec<RawAct> {
    let headers = "content-type: text/plain\r\nconnection: close\r\n";
    vec![RawAct::ReadRequest, RawAct::respond("404 Not Found", headers, "404: Not Found")]
}

fn cut() -> Vec<RawAct> {
    vec![RawAct::ReadRequest, RawAct::Reset]
}

fn answer() -> Vec<RawAct> {
    let answer = r#"{"id": "c", "choices": [{"finish_reason": "stop",
        "message": {"role": "assistant", "content": "Noted."}}]}"#;
    let headers = "content-type: application/json\r\nconnection: close\r\n";
    vec![RawAct::ReadRequest, RawAct::respond("200 OK", headers, answer)]
}

fn wakes(server: &RawServer) -> Vec<String> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.starts_with("POST")).collect()
}

/// The key and the body of a request as it was sent.
fn key_and_body(request: &str) -> (String, String) {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let key = RawServer::header(request, "idempotency-key").unwrap();
    (key.to_owned(), body.to_owned())
}

/// A world with one delivery in the dead letters of which nobody knows whether it arrived, and the
/// request that carried it.
async fn parked() -> (World, String) {
    let server = RawServer::start(vec![no_route(), cut(), no_route()]).await.unwrap();
    let mut world = World::new().await;
    world.set("on_unknown", "park");
    world.server("default", &server.url(), "any-key");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.legs("parked", 1).await;
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let [wake] = wakes(&server).try_into().unwrap();
    (world, wake)
}

/// The profile's server from now on is the receiver, where sessions can be looked into.
fn readable(world: &mut World) {
    let (url, key) = (world.receiver.url(), world.receiver.key());
    world.server("default", &url, secrecy::ExposeSecret::expose_secret(&key));
}

fn retry(world: &World) {
    let decisions = dead::retry(&world.context(), &[]).unwrap();
    assert!(decisions.len() == 1 && decisions[0].done, "{decisions:?}");
}

#[tokio::test]
async fn d7_where_nobody_can_find_out_it_is_sent_once_more_and_says_so() {
    // A look, the wake, a look for it, a look before it goes again, the wake.
    let plays = vec![no_route(), cut(), no_route(), no_route(), answer()];
    let server = RawServer::start(plays).await.unwrap();
    let mut world = World::new().await;
    world.server("default", &server.url(), "any-key");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let wakes = wakes(&server);
    let marked: Vec<_> = wakes.iter().map(|wake| wake.contains("may be a repeat")).collect();
    assert_eq!(marked, [false, true], "{wakes:#?}");
}

#[tokio::test]
async fn d7_or_it_is_parked_if_the_operator_wants_it_so() {
    let (world, _) = parked().await;
    let [dead] = world.operator().dead_list(false).unwrap().try_into().unwrap();
    assert_eq!((dead.state.as_str(), dead.verdict.as_str()), ("parked", "unknown"));
}

#[tokio::test]
async fn d11_what_is_found_answered_is_not_sent_again() {
    let (mut world, wake) = parked().await;
    let (_, body) = key_and_body(&wake);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let text = body["messages"][0]["content"].as_str().unwrap();
    world.receiver.push_row("sess-abc", "user", text, false, seconds_ago(0));
    world.receiver.push_row("sess-abc", "assistant", "Noted.", false, seconds_ago(0));
    readable(&mut world);
    retry(&world);
    let running = world.start();
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 0);
}

#[tokio::test]
async fn d11_what_never_arrived_is_sent_again_with_the_same_bytes_and_key() {
    let (mut world, first) = parked().await;
    readable(&mut world);
    let running = world.start();
    retry(&world);
    let again = world.next_wake().await;
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    let (key, body) = key_and_body(&first);
    assert_eq!((again.key(), again.body.as_ref()), (Some(key.as_str()), body.as_bytes()));
    assert_eq!(world.receiver.turns("sess-abc"), 1);
}

#[tokio::test]
async fn d11_what_nobody_can_find_out_is_sent_because_it_was_asked_for_and_says_so() {
    let (mut world, first) = parked().await;
    let server = RawServer::start(vec![no_route(), no_route(), answer()]).await.unwrap();
    world.server("default", &server.url(), "any-key");
    retry(&world);
    let running = world.start();
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    let [again] = wakes(&server).try_into().unwrap();
    assert_ne!(key_and_body(&again).0, key_and_body(&first).0);
    assert!(again.contains("may be a repeat"), "{again}");
}
