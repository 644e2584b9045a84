//! `status` hides nothing: what ended badly, what is not delivered from, what waits and why.

use diesel::{Connection as _, connection::SimpleConnection as _};
use gateway_adapters::receiver::ReceiverConfig;

use crate::{
    process::{Process, json, printed},
    support::{cards::now, wait::eventually, world::World},
};

const DAY: i64 = 86_400;

/// A task whose wake cannot reach anybody, and one that is too old: both are dead letters after `once`.
async fn with_dead_letters(world: &World, parked: usize) {
    for number in 0..parked {
        let (task, _) = world.cards.asked(&format!("Report {number}"), "");
        world.cards.complete(&task, "nobody to wake");
    }
    let old = world.cards.task_at("Old report", None, now() - 9 * DAY);
    world.cards.subscribe(&old, "api_server", "sess-old");
    world.cards.sql(&format!(
        "UPDATE kanban_notify_subs SET created_at = {} WHERE task_id = '{old}'",
        now() - 9 * DAY
    ));
    world.cards.complete_at(&old, "long ago", now() - 8 * DAY);
    printed(world, &["once"], 0).await;
}

#[tokio::test]
async fn dropped_dead_letters_take_nothing_from_those_that_are_left() {
    let world = World::new().await;
    with_dead_letters(&world, 3).await;
    let all = printed(&world, &["status"], 4).await;
    assert!(all.contains("4 dead letters (3 parked, 1 expired)"), "{all}");
    let dead = json(&world, &["dead", "list", "--json"]).await;
    let ids = |state: &str| -> Vec<String> {
        let of = dead.as_array().unwrap().iter().filter(|leg| leg["state"] == state);
        of.map(|leg| leg["id"].to_string()).collect()
    };
    // One of each kind: neither may be taken off the other.
    for gone in [&ids("parked")[0], &ids("parked")[1], &ids("expired")[0]] {
        printed(&world, &["dead", "drop", gone], 0).await;
    }
    let left = printed(&world, &["status"], 4).await;
    assert!(left.contains("1 dead letter (1 parked, 0 expired)"), "{left}");
    assert!(left.contains("  parked: 1\n") && !left.contains("  expired:"), "{left}");
    printed(&world, &["dead", "drop", &ids("parked")[2]], 0).await;
    let none = printed(&world, &["status"], 4).await;
    assert!(!none.contains("dead letter") && !none.contains("parked"), "{none}");
}

#[tokio::test]
async fn the_story_of_a_task_goes_from_each_event_to_each_outcome() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.subscribe(&task, "api_server", "..");
    let event = world.cards.complete(&task, "done once");
    let (other, _) = world.cards.asked("Another one", "sess-other");
    world.cards.complete(&other, "done once");
    printed(&world, &["once"], 0).await;
    let story = json(&world, &["status", "--why", &task, "--json"]).await;
    let steps: Vec<&str> =
        story.as_array().unwrap().iter().map(|step| step["what"].as_str().unwrap()).collect();
    let at = |wanted: &str| {
        steps.iter().position(|what| what.contains(wanted)).unwrap_or_else(|| panic!("{steps:#?}"))
    };
    let told = [
        format!("event {event}: completed"),
        "wake to api_server sess-abc: planned".to_owned(),
        "wake to api_server sess-abc: sent in request".to_owned(),
        "wake to api_server sess-abc: answered: delivered".to_owned(),
        "wake to api_server sess-abc: delivered".to_owned(),
    ];
    let order: Vec<usize> = told.iter().map(|wanted| at(wanted)).collect();
    assert!(order.is_sorted(), "{steps:#?}");
    at("wake to api_server ..: parked");
    assert!(!steps.iter().any(|what| what.contains("sess-other")), "{steps:#?}");
    let people = printed(&world, &["status", "--why", &task], 0).await;
    assert!(people.contains("planned") && people.lines().count() == steps.len() + 1, "{people}");
    printed(&world, &["status", "--why", "t_none"], 5).await;
    printed(&world, &["status", "--board", "default"], 2).await;
}

#[tokio::test]
async fn one_bad_board_takes_nothing_from_the_others() {
    let mut world = World::new().await;
    let nowhere = world.folder().join("nowhere").join("kanban.db");
    world.set("boards", nowhere.to_str().unwrap());
    world.cards.asked("Build the report", "sess-abc");
    let garbage = world.board("ops");
    std::fs::write(garbage.path(), [7_u8; 9_000]).unwrap();
    let mut run = Process::run(&world);
    run.says("ready").await;

    let people = printed(&world, &["status"], 3).await;
    for part in
        ["board ops: ", "not a readable SQLite database", "board nowhere: there is no board"]
    {
        assert!(people.contains(part), "{part:?} is missing in:\n{people}");
    }
    for rest in ["set-up alone", "default", ": ok", "1 subscription,", "process "] {
        assert!(people.contains(rest), "{rest:?} is missing in:\n{people}");
    }
    assert!(people.contains("subscriptions unknown, newest event unknown"), "{people}");
    let boards = printed(&world, &["status", "--json"], 3).await;
    let boards: serde_json::Value = serde_json::from_str(&boards).unwrap();
    for board in boards["boards"].as_array().unwrap() {
        let known = board["slug"] == "default";
        assert_eq!(board["subscriptions"].is_u64() && board["newest_event"].is_i64(), known);
        assert_eq!(board["subscriptions"].is_null() && board["newest_event"].is_null(), !known);
    }
    for arguments in
        [&["task", "create", "--board", "ops", "x"][..], &["sub", "list", "--board", "ops"]]
    {
        let said = printed(&world, arguments, 7).await;
        assert!(said.contains("put a good copy in its place"), "{arguments:?}: {said}");
    }
    let listed = printed(&world, &["sub", "list"], 3).await;
    for part in ["sess-abc", "board `ops` is left out", "board `nowhere` is left out"] {
        assert!(listed.contains(part), "{part:?} is missing in:\n{listed}");
    }
    printed(&world, &["sub", "list", "--board", "default"], 0).await;
    printed(&world, &["sub", "list", "--board", "ops"], 7).await;
}

#[tokio::test]
async fn a_ledger_that_cannot_be_used_leaves_the_rest_of_the_report() {
    let world = World::new().await;
    std::fs::create_dir_all(world.ledger().parent().unwrap()).unwrap();
    std::fs::write(world.ledger(), [7_u8; 9_000]).unwrap();
    let said = printed(&world, &["status"], 4).await;
    assert!(said.contains(world.ledger().to_str().unwrap()) && said.contains(": ok"), "{said}");
}

#[tokio::test]
async fn f4_a_board_that_waits_for_accept_is_named() {
    let mut world = World::new().await;
    world.set("expire_without_asking", "1");
    for (session, title) in [("sess-a", "Old report"), ("sess-b", "Older report")] {
        let (task, _) = world.cards.asked(title, session);
        let made = now() - 9 * DAY;
        world.cards.sql(&format!("UPDATE kanban_notify_subs SET created_at = {made}"));
        world.cards.complete_at(&task, "long ago", now() - 8 * DAY);
    }
    let mut run = Process::run(&world);
    run.says("would expire unsent").await;
    let asked = printed(&world, &["status"], 3).await;
    assert!(asked.contains("board default: 2 events would expire unsent"), "{asked}");
    assert!(asked.contains("run --accept"), "{asked}");
    run.kill().await;
    let mut run = Process::start(&world, &["run", "--accept"]);
    world.legs("expired", 2).await;
    run.says("ready").await;
    let done = printed(&world, &["status"], 3).await;
    assert!(!done.contains("--accept") && done.contains("2 expired"), "{done}");
}

#[tokio::test]
async fn f4_a_clock_behind_the_board_is_told_with_the_boards_name() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Report of tomorrow", "sess-abc");
    world.cards.complete_at(&task, "ahead of time", now() + 3_600);
    let mut run = Process::run(&world);
    run.says("the clock is behind").await;
    let asked = printed(&world, &["status"], 3).await;
    assert!(asked.contains("board default: its newest event is"), "{asked}");
    assert!(asked.contains("ahead of this machine's clock"), "{asked}");
}

#[tokio::test]
async fn o6_rows_that_nobody_serves_are_a_reason() {
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    world.cards.subscribe_as(&task, "api_server", "sess-abc", Some("kanban-gateway.ghost"));
    // Not adopted yet: it will be, and waits for a server all the same.
    world.cards.subscribe_as(&task, "api_server", "sess-def", Some("phantom"));
    world.cards.subscribe_as(&task, "telegram", "42", Some("kanban-gateway"));
    world.cards.subscribe_as(&task, "consol", "me", Some("kanban-gateway"));
    let mut run = Process::run(&world);
    run.says("ready").await;
    let said = printed(&world, &["status"], 3).await;
    assert!(said.contains("of telegram served by nobody: no channel is configured"), "{said}");
    assert!(said.contains("of api_server served by nobody: "), "{said}");
    for next in ["add `[[api_server]]` for", "did you mean `console`?", "kanban-gateway sub list"] {
        assert!(said.contains(next), "{next:?} is missing in:\n{said}");
    }
    assert_eq!(said.matches("kanban-gateway sub remove").count(), 3, "{said}");
    let status = world_status(&world).await;
    let rows = |platform: &str| -> u64 {
        let all = status["unserved"].as_array().unwrap();
        let of = all.iter().filter(|rows| rows["platform"] == platform);
        of.map(|rows| rows["rows"].as_u64().unwrap()).sum()
    };
    assert_eq!((rows("api_server"), rows("telegram")), (2, 1));
}

#[tokio::test]
async fn what_waits_is_shown_with_its_reason_time_and_ids() {
    let script = "500".parse().unwrap();
    let mut world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    world.set("backoff.first", "1h");
    world.set("backoff.longest", "1h");
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.complete(&task, "done once");
    let mut run = Process::run(&world);
    run.says("will be tried again").await;
    let said = printed(&world, &["status"], 3).await;
    assert!(said.contains("channel api_server/default: 1 delivery waits (retryable: "), "{said}");
    let status = world_status(&world).await;
    let waiting = &status["waiting"][0];
    assert_eq!((&waiting["verdict"], &waiting["chat"]), (&"retryable".into(), &"sess-abc".into()));
    assert!(waiting["due_at"].as_str().unwrap().ends_with('Z'), "{waiting}");
    let id = waiting["ids"][0].to_string();
    assert!(said.contains(&format!("(dead show {id})")), "{said}");
    let shown = printed(&world, &["dead", "show", &id], 0).await;
    assert!(shown.contains(&task) && shown.contains("retrying"), "{shown}");
    run.kill().await;

    // The board goes while something of it is open.
    let home = world.hermes();
    std::fs::rename(&home, world.folder().join("away")).unwrap();
    std::fs::create_dir(&home).unwrap();
    let gone = printed(&world, &["status"], 4).await;
    assert!(gone.contains("board default: its file is missing, and 1 delivery is"), "{gone}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_a_reason_and_what_waits_for_it_is_shown() {
    let mut world = World::new().await;
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    world.set("wake.busy_wait", "0s");
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.complete(&task, "done once");
    let run = Process::run(&world);
    // It is told before it is recorded.
    eventually("the channel rests", || {
        (!world.operator().pauses().unwrap().is_empty()).then_some(())
    })
    .await;
    let said = printed(&world, &["status"], 3).await;
    assert!(said.contains("channel api_server/default rests: "), "{said}");
    assert!(said.contains("api_server/default sess-abc: 1 planned, due "), "{said}");
    assert!(said.contains("not sent yet") && said.contains("(dead show 1)"), "{said}");
    run.kill().await;
    // What is due for longer than a busy session explains is a reason by itself.
    let ledger = diesel::SqliteConnection::establish(world.ledger().to_str().unwrap());
    let earlier =
        "UPDATE legs SET due_at = due_at - 120000000; UPDATE pauses SET until = until - 120000000";
    ledger.unwrap().batch_execute(earlier).unwrap();
    let late = printed(&world, &["status"], 4).await;
    assert!(late.contains("channel api_server/default: 1 delivery is due since "), "{late}");
}

#[tokio::test]
async fn the_story_names_why_a_channel_rests_how_a_subscription_ended_and_what_was_retried() {
    let mut world = World::new().await;
    let (lost, _) = world.cards.asked("Wake nobody", "..");
    world.cards.complete(&lost, "no such session");
    let (gone, _) = world.cards.asked("Build the report", "sess-gone");
    let (removed, _) = world.cards.asked("Build the report", "sess-removed");
    for task in [&gone, &removed] {
        world.cards.complete(task, "done once");
    }
    printed(&world, &["once"], 0).await;
    printed(&world, &["dead", "retry", "--all"], 0).await;
    let again = printed(&world, &["status", "--why", &lost], 0).await;
    assert!(again.contains("planned again on request, repetition 1"), "{again}");
    printed(&world, &["task", "archive", &gone], 0).await;
    printed(&world, &["sub", "remove", &removed, "api_server", "sess-removed"], 0).await;
    printed(&world, &["once"], 0).await;
    for (task, session, why) in [
        (&gone, "sess-gone", "the task was archived"),
        (&removed, "sess-removed", "its row is not on the board any more"),
    ] {
        let story = printed(&world, &["status", "--why", task], 0).await;
        let at = |part: &str| story.find(part).unwrap_or_else(|| panic!("{part:?}:\n{story}"));
        let begun = at(&format!("subscribed: api_server {session} (ended"));
        let ended = at(&format!("subscription ended: api_server {session}: {why}"));
        at(&format!("wake to api_server {session}: delivered"));
        assert!(begun < ended, "{story}");
    }
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    for session in ["sess-abc", "sess-def"] {
        let (task, _) = world.cards.asked("Build the report", session);
        world.cards.complete(&task, "done once");
    }
    let mut run = Process::run(&world);
    eventually("the channel rests", || {
        (!world.operator().pauses().unwrap().is_empty()).then_some(())
    })
    .await;
    let said = world_status(&world).await;
    let reason = said["pauses"][0]["reason"].as_str().unwrap();
    assert!(!reason.is_empty());
    for group in said["waiting"].as_array().unwrap() {
        let held = group["held_by"].as_str().unwrap();
        assert!(held.contains("its channel rests until ") && held.ends_with(reason), "{said}");
        let (due, until) = (group["due_at"].as_str(), said["pauses"][0]["until"].as_str());
        assert!(due >= until, "nothing is due while its channel rests: {said}");
        let show = ["dead", "show", &group["ids"][0].to_string(), "--json"];
        let shown = crate::process::json(&world, &show).await;
        assert!(shown["due_at"].as_str() >= until, "{shown}");
    }
    let people = printed(&world, &["status"], 3).await;
    assert_eq!(people.matches(reason).count(), 1, "it is said once: {people}");
    assert!(people.contains(": 2 deliveries to 2 destinations (dead show "), "{people}");
    run.terminate();
    assert!(run.ended().await.success());
}

/// `status --json`, whatever its exit code.
async fn world_status(world: &World) -> serde_json::Value {
    let output = crate::process::output(world, &["status", "--json"]).await;
    serde_json::from_slice(&output.stdout).unwrap()
}
