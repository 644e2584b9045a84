//! docs/JSON.md names every field that `--json` prints.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    process::{Process, json, output, printed},
    support::{cards::now, wait::eventually, world::World},
};

/// The words in backticks of the row that begins with a command.
fn documented(command: &str) -> BTreeSet<String> {
    let docs = include_str!("../../../docs/JSON.md");
    let row = docs
        .lines()
        .filter(|line| line.starts_with('|'))
        .find(|line| {
            let commands = line.split('|').nth(1).unwrap_or_default();
            commands.split('`').any(|word| word == command)
        })
        .unwrap_or_else(|| panic!("{command} is not in docs/JSON.md"));
    row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_field_is_documented() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Build the report", "..");
    world.cards.complete(&task, "no such session");
    printed(&world, &["once"], 0).await;
    let other = printed(&world, &["task", "create", "Build more"], 0).await;
    let other = other.trim();
    let dead = json(&world, &["dead", "list", "--json"]).await;
    let leg = dead[0]["id"].to_string();
    for (command, arguments) in [
        ("claim", &["task", "claim", other, "--json"][..]),
        ("task list", &["task", "list", "--json"]),
        ("task show", &["task", "show", other, "--json"]),
        ("task runs", &["task", "runs", other, "--json"]),
        ("board list", &["board", "list", "--json"]),
        ("events", &["events", "--json"]),
        ("sub list", &["sub", "list", "--json"]),
        ("dead list", &["dead", "list", "--json"]),
        ("dead show", &["dead", "show", &leg, "--json"]),
        ("status --why", &["status", "--why", &task, "--json"]),
        ("config show", &["config", "show", "--json"]),
        ("test-send", &["test-send", "api_server", "--chat", "sess-abc", "--yes", "--json"]),
        ("ledger status", &["ledger", "status", "--json"]),
        ("replay", &["replay", "--task", &task, "--json"]),
    ] {
        let shown = json(&world, arguments).await;
        let first = shown.as_array().and_then(|list| list.first()).unwrap_or(&shown);
        let known = documented(command);
        let fields: Vec<&String> = first.as_object().expect(command).keys().collect();
        assert!(!fields.is_empty());
        // The columns of a row of the board are the board's.
        for field in fields.into_iter().filter(|_| command != "task runs") {
            let inherited = command == "dead show" && documented("dead list").contains(field);
            assert!(known.contains(field) || inherited, "`{command}` prints `{field}`");
        }
    }
    let shown = json(&world, &["board", "show", "--json"]).await;
    let known: BTreeSet<String> =
        documented("board show").union(&documented("board list")).cloned().collect();
    assert!(shown.as_object().unwrap().keys().all(|field| known.contains(field)), "{shown}");
    let shown = json(&world, &["dead", "show", &leg, "--json"]).await;
    assert_eq!(undocumented("dead show", &shown), BTreeSet::new());
}

/// The fields of every list and object in `shown` that docs/JSON.md does not name.
fn undocumented(command: &str, shown: &Value) -> BTreeSet<String> {
    let parts = shown.as_object().unwrap().iter().filter_map(|(key, value)| {
        let part = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        Some((key, part.as_object()?))
    });
    let fields = parts.flat_map(|(key, part)| {
        // `legs` is a map by state, and named as a whole.
        let known = if key == "legs" {
            documented(command)
        } else {
            documented(&format!("{command}: {key}"))
        };
        part.keys()
            .filter(|field| !known.contains(*field))
            .map(|field| format!("{key}.{field}"))
            .collect::<Vec<_>>()
    });
    fields.collect()
}

#[tokio::test]
async fn every_field_and_area_of_the_doctor_is_documented() {
    let world = World::new().await;
    let printed = printed(&world, &["doctor", "--json", "--offline"], 4).await;
    let report: Value = serde_json::from_str(&printed).unwrap();
    let known = documented("doctor");
    assert!(report.as_object().unwrap().keys().all(|field| known.contains(field)), "{report:#}");
    assert_eq!(undocumented("doctor", &report), BTreeSet::new());
    let known = documented("doctor: checks");
    let checks = report["checks"].as_array().unwrap();
    for check in checks {
        for word in [&check["area"], &check["level"]] {
            assert!(known.contains(word.as_str().unwrap()), "{check}");
        }
    }
    let areas: BTreeSet<&str> =
        checks.iter().map(|check| check["area"].as_str().unwrap()).collect();
    assert_eq!(areas.len(), 9, "all but deliveries, which has nothing to say: {areas:?}");
}

#[tokio::test]
async fn every_field_of_status_is_documented_and_every_state_is_counted() {
    let mut world = World::new().await;
    world.server("ghost", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    world.receiver.hold();
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.subscribe_as(&task, "api_server", "sess-def", Some("kanban-gateway.ghost"));
    world.cards.subscribe_as(&task, "telegram", "42", Some("kanban-gateway"));
    world.cards.complete(&task, "done once");
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', 'handed_over', {})",
        now()
    ));
    let mut run = Process::run(&world);
    run.says("destination unreachable").await;
    eventually("a wake is under way", || world.receiver.wakes().first().map(drop)).await;
    let shown = output(&world, &["status", "--json"]).await;
    let status: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let known = documented("status");
    let fields = status.as_object().unwrap();
    assert!(fields.keys().all(|field| known.contains(field)), "{status:#}");
    assert_eq!(undocumented("status", &status), BTreeSet::new());
    for (part, list) in fields.iter().filter(|(_, value)| value.is_array()) {
        let may_be_empty = part == "problems";
        assert!(may_be_empty || !list.as_array().unwrap().is_empty(), "{part} of {status:#}");
    }
    let states: Vec<&String> = status["legs"].as_object().unwrap().keys().collect();
    assert_eq!(states.len(), 9, "a script finds each of them: {states:?}");
    let lag: Vec<(&str, i64)> = (status["lag"].as_array().unwrap().iter())
        .map(|lag| (lag["chat"].as_str().unwrap(), lag["events"].as_i64().unwrap()))
        .collect();
    assert_eq!(lag, [("sess-abc", 1), ("sess-def", 1)]);
}
