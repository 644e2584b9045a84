//! One turn for many events, and when a session may be woken at all (laws W4, W5, W8, W2).

use std::collections::BTreeMap;

use gateway_adapters::receiver::{ReceiverConfig, Script};
use kanban_notify::driver::Ended;
use kanban_store::{board::RowKey, ledger::operator::ReplayFilter};

use crate::support::{
    cards::now,
    tally::{assert_each_told_once, tasks, told},
    wait::{eventually, seconds_ago},
    world::World,
};

/// Completes 29 tasks of one session while it is held by the wake for a first one; each is told once.
/// Answers their rows in order, the first one's too.
async fn thirty_while_held(world: &World) -> Vec<RowKey> {
    world.receiver.hold();
    let running = world.start();
    let (first, row) = world.cards.asked("Build the report", "sess-abc");
    let mut rows = vec![(row, world.cards.complete(&first, "done once"))];
    world.next_wake().await;
    for number in 0..29 {
        let (task, row) = world.cards.asked(&format!("Build part {number}"), "sess-abc");
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    world.legs("planned", 29).await;
    world.receiver.release_all();
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    let expected: Vec<_> =
        rows.iter().map(|(row, _)| ("sess-abc".into(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
    rows.into_iter().map(|(row, _)| row).collect()
}

#[tokio::test]
async fn w5_report_80_what_happens_while_a_session_is_held_goes_out_in_few_turns_and_is_named_once()
{
    let world = World::new().await;
    let rows = thirty_while_held(&world).await;
    let turns = world.receiver.turns("sess-abc");
    assert_eq!(turns, 2, "one for the first, one for the other 29");
    // Oldest first.
    let last = world.receiver.wakes().pop().unwrap();
    let order: Vec<String> = rows.iter().skip(1).map(|row| row.task.clone()).collect();
    assert_eq!(tasks(&last.text()), order);
}

#[tokio::test]
async fn w5_what_does_not_fit_a_turn_waits_for_the_next_one() {
    let mut world = World::new().await;
    world.set("wake.max_bytes", "2000");
    thirty_while_held(&world).await;
    let wakes = world.receiver.wakes();
    assert!((3..=12).contains(&wakes.len()), "{}", wakes.len());
    assert!(wakes.iter().all(|wake| wake.text().len() <= 2_000));
}

#[tokio::test]
async fn w5_report_93_the_order_within_a_subscription_holds_across_a_restart() {
    let mut world = World::new().await;
    world.set("grace", "0s");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.receiver.kill().await;
    let running = world.start();
    let event = |kind: &str| {
        world.cards.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at)
             VALUES ('{task}', '{kind}', '{{\"reason\": \"why {kind}\"}}', {})",
            now()
        ));
    };
    event("blocked");
    event("crashed");
    eventually("they are planned", || world.operator().counts().unwrap().oldest_open.map(drop))
        .await;
    running.stop().await.unwrap();
    event("timed_out");
    let last = world.cards.complete(&task, "done once");
    world.receiver.restart().await.unwrap();
    let running = world.start();
    world.settled(&row, last).await;
    running.stop().await.unwrap();
    let texts: String = world.receiver.wakes().iter().map(|wake| wake.text()).collect();
    let at: Vec<_> = ["is blocked", "lost its worker", "ran into", "was completed"]
        .iter()
        .map(|words| {
            assert_eq!(texts.matches(words).count(), 1, "{words}: {texts}");
            texts.find(words).unwrap()
        })
        .collect();
    assert!(at.is_sorted(), "{texts}");
}

#[tokio::test]
async fn w4_a_running_turn_is_waited_for() {
    let world = World::new().await;
    world.receiver.push_row("sess-abc", "user", "do something long", false, seconds_ago(0));
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.legs("planned", 1).await;
    eventually("it has looked more than once", || {
        let looks = world.receiver.requests();
        (looks.iter().filter(|request| request.method == "GET").count() >= 2).then_some(())
    })
    .await;
    assert!(world.receiver.wakes().is_empty(), "a turn is running");
    world.receiver.push_row("sess-abc", "assistant", "here it is", false, seconds_ago(0));
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn w4_what_a_failed_wake_left_open_is_no_running_turn_also_after_a_restart() {
    let world = World::with(ReceiverConfig {
        script: "500,200".parse::<Script>().unwrap(),
        ..ReceiverConfig::default()
    })
    .await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.next_wake().await;
    world.legs("retrying", 1).await;
    assert_eq!(running.stop().await.unwrap(), Ended::Drained);
    let running = world.start();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(world.receiver.wakes().len(), 2);
}

#[tokio::test]
async fn w8_a_session_that_the_server_does_not_know_is_parked_if_the_operator_wants_it_so() {
    let mut world = World::new().await;
    world.set("wake.unknown_session", "park");
    world.receiver.push_row("sess-known", "user", "hello", false, seconds_ago(60));
    world.receiver.push_row("sess-known", "assistant", "hello", false, seconds_ago(59));
    let running = world.start();
    let (task, known) = world.cards.asked("Build the report", "sess-known");
    let strange = world.cards.subscribe(&task, "api_server", "sess-strange");
    let event = world.cards.complete(&task, "done once");
    world.settled(&known, event).await;
    world.settled(&strange, event).await;
    running.stop().await.unwrap();
    let dead = world.operator().dead_list(false).unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].chat.as_str(), dead[0].state.as_str()), ("sess-strange", "parked"));
    assert!(dead[0].reason.contains("does not know the session"), "{}", dead[0].reason);
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn w2_report_36_an_empty_or_impossible_session_is_parked_and_the_tasks_own_is_not_woken() {
    let world = World::new().await;
    let task = world.cards.task_of("Build the report", Some("worker-1"));
    let good = world.cards.subscribe(&task, "api_server", "orig-1");
    let empty = world.cards.subscribe(&task, "api_server", "");
    let evil = world.cards.subscribe(&task, "api_server", "../other");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    for row in [&good, &empty, &evil] {
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.receiver.sessions(), ["orig-1"]);
    let dead = world.operator().dead_list(false).unwrap();
    let reasons: BTreeMap<_, _> =
        dead.iter().map(|leg| (leg.chat.as_str(), leg.reason.as_str())).collect();
    assert!(reasons.len() == 2 && reasons.values().all(|reason| !reason.is_empty()), "{reasons:?}");
}

#[tokio::test]
async fn w3_a_session_that_was_compressed_is_followed() {
    let world = World::new().await;
    let (first, row) = world.cards.asked("Build the report", "sess-old");
    let running = world.start();
    let event = world.cards.complete(&first, "done once");
    world.settled(&row, event).await;
    world.receiver.rotate("sess-old", "sess-new");
    let mut rows = Vec::new();
    for session in ["sess-old", "sess-new"] {
        let (task, row) = world.cards.asked("Build the next report", session);
        rows.push((row, world.cards.complete(&task, "done once")));
    }
    for (row, event) in &rows {
        world.settled(row, *event).await;
    }
    running.stop().await.unwrap();
    let told = told(&world.receiver);
    assert!(told.len() == 3 && told.values().all(|times| *times == 1), "{told:?}");
    assert_eq!(told.keys().filter(|(session, _)| session == "sess-new").count(), 2, "{told:?}");
}

#[tokio::test]
async fn w5_report_33_a_session_is_woken_no_oftener_than_the_operator_allows_also_after_a_restart()
{
    let mut world = World::new().await;
    world.set("wake.max_per_hour", "1");
    let (task, row) = world.cards.asked("Build the report", "sess-often");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let running = world.start();
    for session in ["sess-often", "sess-other"] {
        let (task, row) = world.cards.asked("Build the next report", session);
        let event = world.cards.complete(&task, "done once");
        if session == "sess-other" {
            world.settled(&row, event).await;
        }
    }
    world.legs("planned", 1).await;
    running.stop().await.unwrap();
    assert_eq!((world.receiver.turns("sess-often"), world.receiver.turns("sess-other")), (1, 1));
    let wakes = world.receiver.wakes();
    assert!(wakes.iter().all(|wake| wake.text().starts_with("[kanban] ")), "no user wrote these");
}

#[tokio::test]
async fn w5_wakes_of_one_session_keep_their_distance() {
    let mut world = World::new().await;
    world.set("wake.min_interval", "1s");
    let running = world.start();
    for _ in 0..2 {
        let (task, row) = world.cards.asked("Build the report", "sess-abc");
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    let mut operator = world.operator();
    let legs = operator.replay_preview(&ReplayFilter::default()).unwrap();
    let at: Vec<i64> = legs
        .iter()
        .map(|leg| operator.dead_show(leg.id).unwrap().unwrap().claim.unwrap().intended_at)
        .collect();
    assert!(at.len() == 2 && at[1] - at[0] >= 1_000_000, "{at:?}");
}
