//! What an answer means for a delivery: refused, failed, unknown, lost, parked (laws D3, D8, D11, W6, W7).

use std::time::Duration;

use gateway_adapters::receiver::{ReceiverConfig, Script, Scripted};
use gateway_bin::ops::dead::{self, Selection};
use kanban_notify::driver::Ended;
use kanban_store::board::RowKey;

use crate::support::{
    wait::{eventually, soon},
    world::World,
};

/// A world whose receiver plays a script, with one completed task that a session asked for.
async fn scripted(script: Script) -> (World, String, RowKey) {
    let world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    (world, task, row)
}

#[tokio::test]
async fn d8_a_refused_key_pauses_the_channel_and_everything_arrives_once_it_is_right() {
    let mut world = World::new().await;
    let url = world.receiver.url();
    world.server("default", &url, "a-key-that-is-wrong");
    let mut rows = Vec::new();
    for number in 0..8 {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    let running = world.start();
    eventually("the channel is paused", || {
        (!world.operator().pauses().unwrap().is_empty()).then_some(())
    })
    .await;
    running.stop().await.unwrap();
    let refused = world.receiver.wakes().len();
    assert!(refused <= 4, "what was in flight, then nobody knocks any more: {refused}");
    assert!(world.operator().dead_list(false).unwrap().is_empty(), "nothing is given up");

    let key = world.receiver.key();
    world.server("default", &url, secrecy::ExposeSecret::expose_secret(&key));
    let running = world.start();
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    assert!(world.operator().pauses().unwrap().is_empty(), "nothing rests any more");
    assert_eq!(world.receiver.sessions().len(), 8);
    assert_eq!(world.receiver.wakes().len() - refused, 8);
}

#[tokio::test]
async fn d8_too_many_requests_are_tried_again_no_sooner_than_asked() {
    let (world, task, row) = scripted("429,200".parse().unwrap()).await;
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    let first = world.next_wake().await;
    let second = world.next_wake().await;
    let pause = second.at.duration_since(first.at).unwrap();
    assert!(pause >= Duration::from_secs(1), "{pause:?}");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.turns("sess-abc"), 1);
}

#[tokio::test]
async fn w7_a_turn_that_fails_three_times_is_parked_and_retried_by_hand_while_we_run() {
    let script =
        Script::of([Scripted::Failed, Scripted::NoText, Scripted::Failed, Scripted::Answer]);
    let (world, task, row) = scripted(script).await;
    let mut keys = std::collections::BTreeSet::new();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    for _ in 0..3 {
        keys.insert(world.next_wake().await.key().unwrap().to_owned());
    }
    assert_eq!(keys.len(), 3, "a failed answer is kept for its key: each try has its own");
    world.legs("parked", 1).await;
    world.settled(&row, event).await;
    let dead = world.operator().dead_list(false).unwrap();
    assert_eq!((dead.len(), dead[0].task.as_str()), (1, task.as_str()));

    let decisions = dead::retry(&world.context(), &[dead[0].id]).unwrap();
    assert!(decisions[0].done, "{decisions:?}");
    let wake = world.next_wake().await;
    assert!(wake.text().contains(&task));
    assert!(!keys.contains(wake.key().unwrap()));
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert!(world.operator().dead_list(false).unwrap().is_empty());
    assert_eq!(world.receiver.wakes().len(), 4);
}

#[tokio::test]
async fn d3_one_bad_member_of_a_turn_does_not_take_the_others_with_it() {
    let (world, task, row) = scripted("200,413:2,200".parse().unwrap()).await;
    world.receiver.hold();
    let running = world.start();
    let mut rows = vec![(row, world.cards.complete(&task, "done once"))];
    world.next_wake().await;
    for _ in 0..3 {
        let (task, row) = world.cards.asked("Build a part", "sess-abc");
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    world.legs("planned", 3).await;
    world.receiver.release_all();
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    // The three together were refused, then the first of them alone; the other two were taken.
    let legs = world.operator().counts().unwrap().legs;
    assert_eq!((legs.get("parked"), legs.get("delivered")), (Some(&1), Some(&3)), "{legs:?}");
}

#[tokio::test]
async fn d11_a_replay_sends_again_and_says_so() {
    let (world, task, row) = scripted(Script::default()).await;
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    let first = world.next_wake().await;
    world.settled(&row, event).await;
    let selection = Selection { task: Some(task.clone()), ..Selection::default() };
    let (found, none) = dead::replay(&world.context(), &selection, true).unwrap();
    assert!(found.len() == 1 && none.is_empty(), "a preview changes nothing");
    let (_, done) = dead::replay(&world.context(), &selection, false).unwrap();
    assert!(done.iter().all(|decision| decision.done), "{done:?}");
    let second = world.next_wake().await;
    world.legs("delivered", 1).await;
    running.stop().await.unwrap();
    assert_ne!(first.key(), second.key());
    assert!(second.text().contains("may be a repeat") && !first.text().contains("may be a repeat"));
    assert_eq!((world.receiver.wakes().len(), world.cards.cursor(&row)), (2, event));
}

#[tokio::test]
async fn w6_a_turn_whose_answer_was_lost_is_found_in_the_session_and_not_sent_again() {
    let (world, task, row) = scripted("drop,200".parse().unwrap()).await;
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!((world.receiver.wakes().len(), world.receiver.turns("sess-abc")), (1, 1));
}

#[tokio::test]
async fn w6_a_wake_that_ran_nothing_is_sent_once_more_with_the_same_bytes_and_key() {
    let (world, task, row) = scripted("lose,200".parse().unwrap()).await;
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let wakes = world.receiver.wakes();
    assert_eq!((wakes.len(), world.receiver.turns("sess-abc")), (2, 1));
    assert_eq!((wakes[0].key(), &wakes[0].body), (wakes[1].key(), &wakes[1].body));
}

#[tokio::test]
async fn w6_report_37_an_answer_that_stays_a_failure_ends_in_the_dead_letters() {
    let (mut world, task, row) = scripted("drop,502".parse().unwrap()).await;
    world.set("wake.longest_turn", "1s");
    // The turn that was cut off never ends by itself.
    world.receiver.hold();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.next_wake().await;
    world.legs("unknown", 1).await;
    world.receiver.crash().await;
    world.receiver.release_all();
    world.receiver.restart().await.unwrap();
    world.legs("parked", 1).await;
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let wakes = world.receiver.wakes();
    assert_eq!(wakes[0].key(), wakes[1].key(), "after an unknown outcome the key stays");
    assert_eq!(wakes.len(), 4, "the cut one, and three failed turns");
}

#[tokio::test]
async fn d8_a_server_that_is_down_is_waited_for_and_loses_nothing() {
    let world = World::new().await;
    world.receiver.kill().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.legs("planned", 1).await;
    world.receiver.restart().await.unwrap();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn w6_a_server_that_dies_in_a_turn_answers_it_once_after_all() {
    let mut world = World::new().await;
    world.set("wake.longest_turn", "1s");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.receiver.hold();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.next_wake().await;
    world.receiver.crash().await;
    world.legs("unknown", 1).await;
    world.receiver.release_all();
    world.receiver.restart().await.unwrap();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let rows = world.receiver.rows("sess-abc");
    let answers = rows.iter().filter(|row| row.role == "assistant").count();
    assert_eq!(answers, 1, "{rows:?}");
}

#[tokio::test]
async fn d1_report_50_an_outcome_that_cannot_be_written_is_not_sent_again() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.receiver.hold();
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.next_wake().await;
    let mut news = world.receiver.events();
    let mut lock = crate::support::cards::connect(&world.ledger());
    diesel::connection::SimpleConnection::batch_execute(&mut lock, "BEGIN IMMEDIATE").unwrap();
    world.receiver.release_all();
    soon("the answer", news.recv()).await.unwrap();
    // The ledger stays shut for longer than a first retry.
    let (other, _) = world.cards.asked("Build the next report", "sess-other");
    world.cards.complete(&other, "done once");
    drop(lock);
    world.settled(&row, event).await;
    assert_eq!(running.stop().await.unwrap(), Ended::Drained);
    assert_eq!(world.receiver.turns("sess-abc"), 1);
}
