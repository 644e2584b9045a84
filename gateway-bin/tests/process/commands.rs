//! The commands, one after the other, as a person would give them.

use std::process::Stdio;

use gateway_adapters::receiver::ReceiverConfig;
use serde_json::Value;

use crate::{
    process::{Process, command, json, output, printed},
    support::{
        wait::{eventually, soon},
        world::World,
    },
};

#[tokio::test]
async fn a_task_is_made_followed_completed_and_told_by_commands_alone() {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    let path = printed(&world, &["board", "create", "ops", "--name", "Operations"], 0).await;
    assert!(path.trim().ends_with("kanban/boards/ops/kanban.db"), "{path}");
    let again = printed(&world, &["board", "create", "ops"], 6).await;
    assert!(again.contains("ops"), "{again}");
    let boards = json(&world, &["board", "list", "--json"]).await;
    let slugs: Vec<&Value> =
        boards.as_array().unwrap().iter().map(|board| &board["slug"]).collect();
    assert_eq!(slugs, ["default", "ops"]);

    let on = ["--board", "ops"];
    let made = printed(&world, &["task", "create", on[0], on[1], "Build it"], 0).await;
    let task = made.trim();
    for (platform, chat) in [("console", "ops-room"), ("api_server", "sess-abc")] {
        let add = ["sub", "add", on[0], on[1], task, platform, chat];
        assert_eq!(printed(&world, &add, 0).await, "Subscribed.\n");
        assert!(printed(&world, &add, 0).await.contains("there already"));
    }
    let done =
        printed(&world, &["task", "complete", on[0], on[1], task, "--summary", "done once"], 0)
            .await;
    assert!(done.contains(": done"), "{done}");
    let events = json(&world, &["events", on[0], on[1], "--task", task, "--json"]).await;
    let kinds: Vec<&Value> =
        events.as_array().unwrap().iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["created", "completed"]);

    let once = command(&world, &["once"]).output().await.unwrap();
    assert!(once.status.success());
    let line: Value = serde_json::from_slice(&once.stdout).unwrap();
    assert_eq!((&line["chat"], &line["events"][0]["task"]), (&"ops-room".into(), &task.into()));
    assert_eq!(world.next_wake().await.session(), Some("sess-abc"));
    let subs = json(&world, &["sub", "list", on[0], on[1], "--json"]).await;
    for sub in subs.as_array().unwrap() {
        assert_eq!(
            (&sub["open"], &sub["cursor"], &sub["served"]),
            (&0.into(), &events[1]["id"], &"ours".into())
        );
    }
    // Again there is nothing to tell.
    let once = command(&world, &["once"]).output().await.unwrap();
    assert!(once.status.success() && once.stdout.is_empty());

    let preview = json(&world, &["replay", "--task", task, "--dry-run", "--json"]).await;
    assert_eq!(preview.as_array().unwrap().len(), 2);
    let remove = ["sub", "remove", on[0], on[1], task, "console", "ops-room"];
    assert_eq!(printed(&world, &remove, 0).await, "Removed.\n");
    let gone = printed(&world, &remove, 1).await;
    assert!(gone.contains("sub list"), "{gone}");
    let twice = printed(&world, &["task", "complete", on[0], on[1], task], 6).await;
    assert!(twice.contains("done"), "it says why not: {twice}");
    let other = printed(&world, &["task", "create", on[0], on[1], "Build more"], 0).await;
    let blocked = printed(&world, &["task", "block", on[0], on[1], other.trim(), "why?"], 0).await;
    assert!(blocked.contains(": blocked"), "{blocked}");
    assert_eq!(printed(&world, &["dead", "list", "--json"], 0).await.trim(), "[]");
}

#[tokio::test]
async fn status_tells_healthy_degraded_and_down_by_its_exit_code() {
    let world = World::new().await;
    let down = printed(&world, &["status"], 4).await;
    assert!(down.starts_with("down") && down.contains("kanban-gateway run"), "{down}");
    let mut run = Process::run(&world);
    run.says("ready").await;
    let healthy = json(&world, &["status", "--json"]).await;
    assert_eq!(healthy["health"], "healthy", "{healthy}");
    assert_eq!(healthy["instances"][0]["pid"], run.id());
    assert_eq!(healthy["boards"][0]["state"], "ok");

    let (task, row) = world.cards.asked("Build the report", "");
    let event = world.cards.complete(&task, "nobody to wake");
    world.settled(&row, event).await;
    let degraded = printed(&world, &["status"], 3).await;
    assert!(degraded.contains("kanban-gateway dead list"), "{degraded}");
    let dead = json(&world, &["dead", "list", "--json"]).await;
    let id = dead[0]["id"].to_string();
    let shown = printed(&world, &["dead", "show", &id], 0).await;
    assert!(shown.contains(&task), "{shown}");
    assert!(printed(&world, &["dead", "drop", &id], 0).await.contains("1 dropped"));
    printed(&world, &["status"], 0).await;
    run.terminate();
    assert!(run.ended().await.success());
    printed(&world, &["status", "--json"], 4).await;
}

#[tokio::test]
async fn rows_are_adopted_and_released_by_command_while_it_runs() {
    let mut world = World::new().await;
    world.set("adopt", "off");
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe_as(&task, "api_server", "sess-abc", Some("default"));
    let mut run = Process::run(&world);
    run.says("ready").await;
    eventually("the ledger knows the board", || {
        (!world.operator().boards_list().unwrap().is_empty()).then_some(())
    })
    .await;
    let adopted = printed(&world, &["sub", "adopt", "--task", &task], 0).await;
    assert_eq!(adopted, "1 adopted.\n");
    assert_eq!(world.cards.row(&row).unwrap().owner.as_deref(), Some("kanban-gateway.default"));
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    assert_eq!(printed(&world, &["sub", "release", "--all"], 0).await, "1 released.\n");
    assert_eq!(world.cards.row(&row).unwrap().owner.as_deref(), Some("default"));
    run.terminate();
    assert!(run.ended().await.success());
    assert_eq!(world.receiver.wakes().len(), 1);
}

#[tokio::test]
async fn once_does_what_is_due_before_it_ends_however_often_it_is_called() {
    let world = World::new().await;
    for round in 1..=5 {
        let (task, row) = world.cards.asked("Build the report", "sess-abc");
        let event = world.cards.complete(&task, "done once");
        printed(&world, &["once"], 0).await;
        assert!(world.cards.cursor(&row) >= event, "round {round}");
        assert_eq!(world.receiver.turns("sess-abc"), round);
    }
    let empty = World::new().await;
    std::fs::remove_dir_all(empty.hermes()).unwrap();
    let none = printed(&empty, &["once"], 1).await;
    assert!(none.contains("kanban-gateway board create") && none.contains("--board"), "{none}");
}

#[tokio::test]
async fn completions_are_a_script_and_a_closed_pipe_is_no_panic() {
    let world = World::new().await;
    let script = printed(&world, &["completions", "bash"], 0).await;
    assert!(script.contains("complete") && script.contains("kanban-gateway"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut closed = command(&world, &["completions", "bash"]);
    let status = closed.stdout(writer).status().await.unwrap();
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn the_ledger_is_migrated_by_hand_or_by_itself() {
    let world = World::new().await;
    let status = json(&world, &["ledger", "status", "--json"]).await;
    assert!(status["applied"].as_array().unwrap().is_empty());
    assert!(!world.ledger().exists(), "looking makes nothing");
    assert!(printed(&world, &["ledger", "migrate"], 0).await.starts_with("Migrated: "));
    assert!(printed(&world, &["ledger", "migrate"], 0).await.starts_with("Nothing to migrate"));
    let status = json(&world, &["ledger", "status", "--json"]).await;
    assert!(status["pending"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_shows_that_nothing_is_lost_and_nothing_doubled() {
    let world = World::new().await;
    let shown = printed(&world, &["demo"], 0).await;
    for part in ["SIGKILL", "nothing lost, nothing doubled", "On your own boards"] {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
}

#[tokio::test]
async fn once_says_what_it_leaves_open() {
    let mut world = World::with(ReceiverConfig {
        script: "200,500".parse().unwrap(),
        ..ReceiverConfig::default()
    })
    .await;
    world.set("backoff.first", "1h");
    world.set("backoff.longest", "1h");
    world.set("concurrency.per_channel", "1");
    for session in ["sess-a", "sess-b", ""] {
        let (task, _) = world.cards.asked("Build the report", session);
        world.cards.complete(&task, "done once");
    }
    let left = printed(&world, &["once"], 3).await;
    assert!(!left.contains("everything has its outcome"), "{left}");
    for part in ["delivered=1", "dead=1", "waiting=1", "due_at=20", "unknown=0", "is left open"] {
        assert!(left.contains(part), "{part:?} is missing in:\n{left}");
    }
    // A board that cannot be delivered from is left open as a whole.
    let mut bad = World::new().await;
    std::fs::write(bad.board("ops").path(), [7_u8; 9_000]).unwrap();
    let said = printed(&bad, &["once"], 3).await;
    assert!(said.contains("nothing is delivered from this board"), "{said}");
    assert!(said.contains("ops") && said.contains("boards=1"), "{said}");
    std::fs::remove_dir_all(bad.hermes().join("kanban")).unwrap();
    assert!(printed(&bad, &["once"], 0).await.contains("everything has its outcome"));
    bad.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    let (task, _) = bad.cards.asked("Build the report", "sess-abc");
    bad.cards.complete(&task, "done once");
    let waits = printed(&bad, &["once"], 3).await;
    assert!(waits.contains("waiting=1") && waits.contains("unreachable"), "{waits}");
}

#[tokio::test]
async fn once_ends_with_3_where_rows_are_served_by_nobody() {
    let world = World::new().await;
    let task = world.cards.task("Build the report");
    printed(&world, &["once"], 0).await;
    printed(&world, &["sub", "add", &task, "telegram", "42"], 0).await;
    // A group's number is negative, and no option.
    printed(&world, &["sub", "add", &task, "telegram", "-1001"], 0).await;
    printed(&world, &["sub", "remove", &task, "telegram", "-1001"], 0).await;
    let left = printed(&world, &["once"], 3).await;
    assert!(left.contains("something is left open") && left.contains("unserved=1"), "{left}");
    printed(&world, &["sub", "remove", &task, "telegram", "42"], 0).await;
    printed(&world, &["once"], 0).await;
}

#[tokio::test]
async fn a_chat_that_can_never_work_is_refused_with_what_it_must_look_like() {
    let mut world = World::new().await;
    world.set("mattermost.token", "FAKE-token");
    let task = world.cards.task("Build the report");
    for (platform, chat, rule) in [
        ("telegram", "me", "no number, such as 42 or -100123, and no @name"),
        ("Slack", "general", "no id of a channel (C..., G...)"),
        ("matrix", "#room:example.org", "the chat is an alias"),
        ("email", "me", "no e-mail address"),
        ("ntfy", "my topic", "1 to 64 of a-z, A-Z, 0-9, _ and -"),
        ("mattermost", "town-square", "26 letters and digits"),
        ("console", " ", "the chat is empty"),
    ] {
        let said = printed(&world, &["sub", "add", &task, platform, chat], 2).await;
        assert!(said.contains(rule) && said.contains("sub add --help"), "{platform}: {said}");
    }
    assert_eq!(json(&world, &["sub", "list", "--json"]).await, serde_json::json!([]));
}

#[tokio::test]
async fn a_subscription_that_nobody_serves_is_made_and_says_so() {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    let task = world.cards.task("Build the report");
    let add = async |platform: &str, chat: &str| {
        printed(&world, &["sub", "add", &task, platform, chat], 0).await
    };
    let dotenv = world.hermes().join(".env");
    let in_dotenv = format!("or TELEGRAM_BOT_TOKEN in {}", dotenv.display());
    for (platform, parts) in [
        ("telgram", &["this build has no platform `telgram`; did you mean `telegram`?"][..]),
        ("telegram", &["no channel is configured", "set `telegram.token` in", &in_dotenv]),
        ("signed_webhook", &["set `signed_webhook.targets` and `signed_webhook.secret` in"]),
        ("carrier_pigeon", &["no platform `carrier_pigeon`; it has `api_server`, `console`"]),
        ("consol", &["did you mean `console`?"]),
    ] {
        let said = add(platform, "42").await;
        assert!(said.starts_with("Subscribed.\n"), "{said}");
        for part in parts {
            assert!(said.contains(part), "{platform}: {part:?} is missing in:\n{said}");
        }
    }
    assert_eq!(add("console", "room").await, "Subscribed.\n");
    world.cards.complete(&task, "done once");
    assert!(add("console", "late").await.contains("is done: only what happens from now on"));
    let servers =
        format!("[[api_server]]\nprofile = \"work\"\nurl = \"{}\"\n", world.receiver.url());
    let file = world.folder().join("other.toml");
    std::fs::write(&file, servers + "key = \"a-key-of-nobody-0123456789\"\n").unwrap();
    let mut other = command(&world, &["sub", "add", &task, "api_server", "sess-abc"]);
    other.env("KANBAN_GATEWAY_CONFIG", &file).env_remove("KANBAN_GATEWAY_API_SERVER");
    let said = String::from_utf8(other.output().await.unwrap().stderr).unwrap();
    assert!(said.contains("the row's profile has no API server"), "{said}");
}

#[tokio::test]
async fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    let world = World::new().await;
    for signal in ["-TERM", "-INT"] {
        let mut demo = command(&world, &["demo"]);
        demo.env("TMPDIR", world.folder()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let demo = demo.spawn().unwrap();
        let running = || (folders(&world) == 1 && processes(&world) == 1).then_some(());
        eventually("the demo's gateway runs", running).await;
        let pid = demo.id().unwrap().to_string();
        let kill = std::process::Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(kill.success());
        let ended = soon("its end", demo.wait_with_output()).await.unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("ended by SIG{}", &signal[1..])), "{said}");
        assert_eq!((folders(&world), processes(&world)), (0, 0));
    }
}

/// Folders that a demo in this world has made.
fn folders(world: &World) -> usize {
    let all = std::fs::read_dir(world.folder()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("kanban-gateway-demo-")).count()
}

/// Gateways whose configuration is in one of them.
fn processes(world: &World) -> usize {
    let folder = world.folder().join("kanban-gateway-demo-");
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(folder.to_str().unwrap())).count()
}

#[tokio::test]
async fn listings_show_what_is_new_and_times_in_one_form() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.complete(&task, "done once");
    let (nobody, _) = world.cards.asked("Wake nobody", "..");
    let newest = world.cards.complete(&nobody, "no such session");
    printed(&world, &["once"], 0).await;

    // The newest ones, and a word about the others.
    let some = output(&world, &["events", "--limit", "2", "--json"]).await;
    let events: Value = serde_json::from_slice(&some.stdout).unwrap();
    let ids: Vec<i64> =
        events.as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [newest - 1, newest]);
    assert!(String::from_utf8(some.stderr).unwrap().contains("There are earlier events too"));
    assert_eq!(events[1]["payload"]["summary"], "no such session", "{events}");
    let first = output(&world, &["events", "--after", "0", "--limit", "1", "--json"]).await;
    let events: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(events[0]["kind"], "created");
    assert!(String::from_utf8(first.stderr).unwrap().contains("There are later events too"));
    let all = output(&world, &["events", "--json"]).await;
    assert!(all.stderr.is_empty());

    let dead = json(&world, &["dead", "list", "--json"]).await;
    let id = dead[0]["id"].to_string();
    let shown = json(&world, &["dead", "show", &id, "--json"]).await;
    let replay = json(&world, &["replay", "--task", &task, "--dry-run", "--json"]).await;
    let status = output(&world, &["status", "--json"]).await;
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let mut times = 0;
    for listing in [&events, &dead, &shown, &replay, &status] {
        each_time(listing, &mut |at| {
            times += 1;
            let form = at.as_str().is_some_and(|at| at.starts_with("20") && at.ends_with('Z'));
            assert!(form || at.is_null(), "{at} in {listing}");
        });
    }
    assert!(times >= 8, "{times}");
    assert!(shown["notes"].is_array(), "{shown}");
    let people = printed(&world, &["dead", "show", &id], 0).await;
    assert!(people.starts_with(&format!("delivery     {id}\nstate        parked\n")), "{people}");
    assert!(people.contains(&nobody) && !people.contains(['{', '[']), "{people}");
}

/// Calls `see` with each field whose name says that it is a time.
fn each_time(value: &Value, see: &mut dyn FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_time(item, see)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if name.ends_with("_at")
                    || ["since", "until", "oldest_open"].contains(&name.as_str())
                {
                    see(field);
                } else {
                    each_time(field, see);
                }
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn the_manual_has_a_page_for_each_command() {
    let world = World::new().await;
    let page = printed(&world, &["man"], 0).await;
    for part in [".TH kanban-gateway 1", "kanban\\-gateway\\-doctor(1)"] {
        assert!(page.contains(part), "{part:?} is missing in:\n{page}");
    }
    let folder = world.folder().join("man");
    printed(&world, &["man", "--to", folder.to_str().unwrap()], 0).await;
    for page in ["kanban-gateway.1", "kanban-gateway-test-send.1", "kanban-gateway-sub-add.1"] {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}
