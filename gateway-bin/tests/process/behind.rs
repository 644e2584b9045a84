//! `status` says who is behind, by how much, and what each delivery waits for.

use gateway_adapters::receiver::ReceiverConfig;
use serde_json::Value;

use crate::{
    process::{Process, json, output, printed},
    support::{
        cards::now,
        wait::{eventually, soon},
        world::World,
    },
};

async fn status(world: &World) -> Value {
    serde_json::from_slice(&output(world, &["status", "--json"]).await.stdout).unwrap()
}

/// Chat, events and whether the ledger has a copy, of each subscription that is behind.
fn lag(status: &Value) -> Vec<(String, i64, bool)> {
    let each = status["lag"].as_array().unwrap().iter().map(|lag| {
        let chat = lag["chat"].as_str().unwrap().to_owned();
        (chat, lag["events"].as_i64().unwrap(), lag["subscription"].is_i64())
    });
    each.collect()
}

#[tokio::test]
async fn the_lag_of_each_subscription_counts_what_is_planned_and_what_nobody_has_read() {
    let mut world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let (other, _) = world.cards.asked("Another one", "sess-old");
    assert_eq!(lag(&status(&world).await), [], "nothing has happened");
    // Nobody has delivered yet, and there is no ledger. Law F3: at cursor 0 what is older is history.
    world.cards.sql("UPDATE kanban_notify_subs SET last_event_id = 0");
    world.cards.complete_at(&other, "done", now() - 100);
    let shown = status(&world).await;
    assert_eq!(lag(&shown), [], "it is older than its subscription");
    world.cards.sql("UPDATE kanban_notify_subs SET created_at = created_at - 1000");
    let event = world.cards.complete(&task, "done");
    let shown = status(&world).await;
    assert_eq!(lag(&shown), [("sess-old".into(), 1, false), ("sess-abc".into(), 1, false)]);
    assert!((100..1_000).contains(&shown["lag"][0]["seconds"].as_i64().unwrap()), "{shown:#}");

    printed(&world, &["once"], 0).await;
    assert_eq!(world.cards.cursor(&row), event);
    assert_eq!(lag(&status(&world).await), [], "all is told");
    // Nobody delivers any more: what the ledger has not heard of counts, and each event once.
    for (kind, events) in [("blocked", 1), ("heartbeat", 1), ("crashed", 2)] {
        world.cards.sql(&format!(
            "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', '{kind}', {})",
            now()
        ));
        assert_eq!(lag(&status(&world).await), [("sess-abc".into(), events, true)], "{kind}");
    }
    // Planned, and not told: the same number.
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    let mut run = Process::run(&world);
    run.says("destination unreachable").await;
    let behind = status(&world).await;
    assert_eq!(lag(&behind), [("sess-abc".into(), 2, true)]);
    assert_eq!(behind["legs"]["planned"], 2, "{behind:#}");
    let people = printed(&world, &["status"], 3).await;
    assert!(people.contains("behind: 1 subscription with 2 events not told yet"), "{people}");
    assert!(people.contains(&format!("default {task} api_server sess-abc: 2 events")), "{people}");
}

#[tokio::test]
async fn w5_what_a_budget_holds_back_says_which_and_until_when() {
    for (key, value, says) in [
        ("wake.max_per_hour", "1", "(wake.max_per_hour); the next wake is at "),
        ("wake.min_interval", "1h", "(wake.min_interval); the next wake is at "),
    ] {
        let mut world = World::new().await;
        world.set(key, value);
        let (task, row) = world.cards.asked("Build the report", "sess-abc");
        let run = Process::run(&world);
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
        world.cards.sql(&format!(
            "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'blocked', {})",
            now()
        ));
        world.legs("planned", 1).await;
        let shown = status(&world).await;
        let held = shown["waiting"][0]["held_by"].as_str().unwrap();
        assert!(held.contains(says), "{key}: {held}");
        let story = printed(&world, &["status", "--why", &task], 0).await;
        assert!(story.contains(&format!("waits: {held}")), "{story}");
        run.kill().await;
        let held = status(&world).await;
        assert_eq!(held["waiting"][0]["held_by"], "no process delivers");
    }
}

#[tokio::test]
async fn what_waits_behind_another_says_so() {
    let world = World::new().await;
    world.receiver.hold();
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    let run = Process::run(&world);
    world.cards.complete(&task, "done once");
    world.next_wake().await;
    let (second, _) = world.cards.asked("Build another", "sess-abc");
    world.cards.complete(&second, "done too");
    world.legs("planned", 1).await;
    let shown = status(&world).await;
    assert_eq!(shown["waiting"][0]["held_by"], "another message is under way there", "{shown:#}");
    assert_eq!(shown["lanes"][0]["state"], "under way");
    run.kill().await;
}

#[tokio::test]
async fn the_whole_story_has_every_request_and_what_came_of_it() {
    let script = "429,500,200".parse().unwrap();
    let world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'handed_over', {})",
        now()
    ));
    let (alone, _) = (world.cards.task("Nobody asked"), ());
    world.cards.complete(&alone, "done");
    let run = Process::run(&world);
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    printed(&world, &["replay", "--task", &task], 0).await;
    soon("a fourth wake", async {
        while world.receiver.wakes().len() < 4 {
            world.next_wake().await;
        }
    })
    .await;
    world.legs("delivered", 1).await;
    let story = json(&world, &["status", "--why", &task, "--json"]).await;
    let steps: Vec<&str> =
        story.as_array().unwrap().iter().map(|step| step["what"].as_str().unwrap()).collect();
    let expected = [
        "subscribed: api_server sess-abc (ours; cursor now ",
        "handed_over; this version does not know the kind and tells nobody of it",
        ": completed",
        "sent in request 1",
        "answered: busy: HTTP 429",
        "sent in request 2",
        "answered: retryable: HTTP 500",
        "sent in request 3",
        "answered: delivered",
        "planned again on request",
        "sent in request 4",
        "answered: delivered",
        "sess-abc: delivered",
    ];
    let mut rest = steps.iter();
    for wanted in expected {
        assert!(
            rest.any(|step| step.contains(wanted)),
            "{wanted} is not there in its place: {steps:#?}"
        );
    }
    assert!(rest.next().is_none(), "{steps:#?}");
    let nobody = printed(&world, &["status", "--why", &alone], 0).await;
    assert!(nobody.contains("completed; nobody is subscribed"), "{nobody}");
    run.kill().await;
}

#[tokio::test]
async fn people_get_a_screen_and_scripts_get_everything() {
    let mut world = World::new().await;
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    for number in 0..30 {
        let (task, _) = world.cards.asked("Build the report", &format!("sess-{number}"));
        world.cards.complete(&task, "done once");
    }
    printed(&world, &["once"], 3).await;
    let shown = status(&world).await;
    let lengths = ["lag", "waiting"].map(|list| shown[list].as_array().unwrap().len());
    assert_eq!(lengths, [30, 30]);
    let people = printed(&world, &["status"], 4).await;
    assert_eq!(people.matches("… and 20 more; `status --json` has each").count(), 1, "{people}");
    assert!(people.contains(": 30 deliveries to 30 destinations (dead show "), "{people}");
    assert!(people.lines().count() < 50, "{people}");
}

#[tokio::test]
async fn b6_a_board_that_was_replaced_and_cursors_above_its_events_are_shown() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let run = Process::run(&world);
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    run.kill().await;
    let notes = |shown: &Value| -> String {
        let notes = shown["boards"][0]["notes"].as_array().unwrap();
        notes.iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>().join("\n")
    };
    let shown = status(&world).await;
    assert_eq!((notes(&shown).as_str(), &shown["boards"][0]["incarnation"]), ("", &1.into()));
    // A copy from before the events is put back, while a row has a cursor from after them.
    world.cards.sql(&format!(
        "DELETE FROM task_events; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'task_events';
         UPDATE kanban_notify_subs SET last_event_id = {event}"
    ));
    let shown = status(&world).await;
    assert!(
        notes(&shown).contains(&format!("event {event} was read and is not there")),
        "{shown:#}"
    );
    assert!(notes(&shown).contains("1 cursor is above the newest event"), "{shown:#}");
    let run = Process::run(&world);
    eventually("the file is told from the old one", || {
        let boards = world.operator().boards_list().unwrap();
        (boards[0].incarnation == 2).then_some(())
    })
    .await;
    let people = printed(&world, &["status"], 0).await;
    assert!(people.contains("file 2 behind its path"), "{people}");
    assert!(people.contains("1 cursor is above the newest event"), "{people}");
    run.kill().await;
}
