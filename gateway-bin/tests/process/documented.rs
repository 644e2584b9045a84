//! docs/JSON.md names every field that `--json` prints.

use std::collections::BTreeSet;

use crate::{
    process::{json, printed},
    support::world::World,
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
    let status = printed(&world, &["status", "--json"], 4).await;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let known = documented("status");
    assert!(status.as_object().unwrap().keys().all(|field| known.contains(field)), "{status}");
}
