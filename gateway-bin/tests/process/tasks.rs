//! `task` and `board` as a person uses them, with the mistakes that people make.

use serde_json::Value;

use crate::{
    process::{json, output, printed},
    support::world::World,
};

/// Makes a task and answers its id.
async fn made(world: &World, arguments: &[&str]) -> String {
    let arguments: Vec<&str> = ["task", "create"].iter().chain(arguments).copied().collect();
    printed(world, &arguments, 0).await.trim().to_owned()
}

async fn status(world: &World, task: &str) -> String {
    let shown = json(world, &["task", "show", task, "--json"]).await;
    shown["task"]["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_goes_its_way_by_commands_alone() {
    let world = World::new().await;
    let first = made(&world, &["Plan the report", "--assignee", "Ada", "--priority", "5"]).await;
    let second = made(&world, &["Write the report", "--parent", &first, "--skill", "prose"]).await;
    assert_eq!(
        (&*status(&world, &first).await, &*status(&world, &second).await),
        ("ready", "todo")
    );

    let claim = json(&world, &["task", "claim", &first, "--lock", "desk:1", "--json"]).await;
    assert_eq!((&claim["what"], &claim["task"]), (&"running".into(), &first.as_str().into()));
    let run = claim["run"].to_string();
    let taken = printed(&world, &["task", "claim", &first], 6).await;
    assert!(taken.contains(&first), "{taken}");
    world.cards.sql(
        "UPDATE tasks SET claim_expires = claim_expires - 100, last_heartbeat_at = NULL; \
         UPDATE task_runs SET started_at = started_at - 100",
    );
    let before = json(&world, &["task", "show", &first, "--json"]).await;
    printed(&world, &["task", "heartbeat", &first, "half way", "--run", &run], 0).await;
    let after = json(&world, &["task", "show", &first, "--json"]).await;
    let until = |shown: &Value| shown["task"]["claim_expires"].as_str().unwrap().to_owned();
    assert!(until(&after) > until(&before), "a sign of life keeps the claim");
    let old = printed(&world, &["task", "heartbeat", &first, "--run", "999"], 6).await;
    assert!(old.contains("999"), "{old}");
    printed(&world, &["task", "comment", &first, "nearly there", "--author", "ada"], 0).await;
    let facts = ["--metadata", r#"{"pages": 14}"#, "--summary", "14 pages", "--run", &run];
    let complete: Vec<&str> = ["task", "complete", &first].into_iter().chain(facts).collect();
    assert!(printed(&world, &complete, 0).await.contains("done"));
    assert_eq!(status(&world, &second).await, "ready", "it waited for the first");

    printed(&world, &["task", "block", &second, "which font?", "--kind", "needs_input"], 0).await;
    printed(&world, &["task", "unblock", &second], 0).await;
    printed(&world, &["task", "schedule", &second, "on Monday"], 0).await;
    printed(&world, &["task", "unblock", &second], 0).await;
    printed(&world, &["task", "assign", &second, "Bob"], 0).await;
    printed(&world, &["task", "unlink", &first, &second], 0).await;
    printed(&world, &["task", "link", &first, &second], 0).await;

    let shown = json(&world, &["task", "show", &second, "--json"]).await;
    assert_eq!((&shown["task"]["assignee"], &shown["parents"][0]), (&"bob".into(), &first.into()));
    let kinds: Vec<&str> =
        shown["events"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    for kind in ["created", "promoted", "blocked", "unblocked", "scheduled", "assigned", "linked"] {
        assert!(kinds.contains(&kind), "{kind} is missing in {kinds:?}");
    }
    printed(&world, &["task", "archive", &second], 0).await;
    let listed = json(&world, &["task", "list", "--json"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let all = json(&world, &["task", "list", "--archived", "--json"]).await;
    assert_eq!(all.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_shown_is_for_people_and_runs_say_how_they_ended() {
    let world = World::new().await;
    let task = made(&world, &["Build it", "--body", "first line\nsecond line"]).await;
    for kind in ["transient", "capability"] {
        printed(&world, &["task", "claim", &task], 0).await;
        printed(&world, &["task", "block", &task, "no key", "--kind", kind], 0).await;
        printed(&world, &["task", "promote", &task, "there is one now"], 0).await;
    }
    let shown = printed(&world, &["task", "show", &task], 0).await;
    for part in ["Build it", "first line", "second line", "user", "RUN", "no key", "EVENT"] {
        assert!(shown.contains(part), "{part} is missing in:\n{shown}");
    }
    let runs = printed(&world, &["task", "runs", &task], 0).await;
    assert_eq!(runs.lines().filter(|line| line.contains("blocked")).count(), 2, "{runs}");
    let runs = json(&world, &["task", "runs", &task, "--json"]).await;
    assert!(runs[0]["ended_at"].as_str().unwrap().ends_with('Z'), "{runs}");
}

#[tokio::test]
async fn mistakes_are_answered_with_what_to_do_next() {
    let world = World::new().await;
    let task = made(&world, &["Build it"]).await;
    made(&world, &["Build more"]).await;
    printed(&world, &["task", "complete", &task], 0).await;
    for (arguments, code, next) in [
        (&["task", "show", "t"][..], 2, "write more of it"),
        (&["task", "show", "t_nothing"], 5, "task list --board default"),
        (&["task", "show", ""], 5, "task list"),
        (&["task", "claim", &task], 6, "it has to be ready"),
        (&["task", "claim", &task, "--ttl", "0s"], 2, "at least"),
        (&["task", "create", " "], 2, "title"),
        (&["task", "create", "x", "--parent", "t_nothing"], 5, "task list"),
        (&["task", "create", "x", "--workspace", "nowhere"], 2, "dir:/PATH"),
        (&["task", "create", "x", "--max-runtime", "0s"], 2, "at least"),
        (&["task", "create", "x", "--max-retries", "0"], 2, "max-retries"),
        (&["events", "--follow", "--after", "1", "--limit", "1"], 2, "--limit"),
        (&["task", "complete", &task, "--metadata", "not json"], 2, "JSON"),
        (&["task", "review", &task], 6, "0.20"),
        (&["task", "assign", &task], 2, "--nobody"),
        (&["task", "comment", &task, "  "], 2, "blank"),
        (&["task", "link", &task, &task], 6, "already"),
        (&["task", "list", "--board", "nope"], 5, "board list"),
        (&["task", "list", "--status", "runing"], 2, "there are triage"),
        (&["board", "show", "nope"], 5, "board list"),
        (&["board", "use", "nope"], 5, "board list"),
        (&["board", "archive", "default"], 2, "always there"),
    ] {
        let said = printed(&world, arguments, code).await;
        assert!(said.contains(next), "{arguments:?}: {said}");
    }
    let ada = made(&world, &["For Ada", "--assignee", "Ada"]).await;
    assert!(printed(&world, &["task", "list", "--assignee", "Ada"], 0).await.contains(&ada));
    // The beginning of an id is enough where it leads to one task.
    let short = task.get(..7).unwrap();
    assert!(printed(&world, &["task", "show", short], 0).await.contains(&task));
    assert!(printed(&world, &["events", "--task", short], 0).await.contains(&task));
    printed(&world, &["sub", "add", short, "console", "room"], 0).await;
    assert!(printed(&world, &["sub", "list"], 0).await.contains(&task));
}

#[tokio::test]
async fn boards_are_made_current_shown_and_put_away() {
    let world = World::new().await;
    printed(&world, &["board", "create", "ops", "--name", "Operations"], 0).await;
    printed(&world, &["board", "use", "ops"], 0).await;
    let task = made(&world, &["On ops"]).await;
    let mut typo = crate::process::command(&world, &["task", "list"]);
    let said = typo.env("HERMES_KANBAN_BOARD", "opps").output().await.unwrap();
    assert!(String::from_utf8(said.stderr).unwrap().contains("`opps`, which is no board"));
    let shown = json(&world, &["board", "show", "--json"]).await;
    assert_eq!(
        (&shown["slug"], &shown["name"], &shown["tasks"]["ready"], &shown["current"]),
        (&"ops".into(), &"Operations".into(), &1.into(), &true.into())
    );
    let listed = printed(&world, &["board", "list"], 0).await;
    assert!(listed.lines().any(|line| line.starts_with('*') && line.contains("ops")), "{listed}");
    assert!(printed(&world, &["board", "show", "ops"], 0).await.contains("1 ready"));

    let mut pinned = crate::process::command(&world, &["board", "use", "ops"]);
    let said = pinned.env("HERMES_KANBAN_BOARD", "default").output().await.unwrap();
    assert_eq!(said.status.code(), Some(3), "the environment names another one");

    let place = printed(&world, &["board", "archive", "ops"], 0).await;
    assert!(place.contains("_archived/ops-"), "{place}");
    assert!(std::path::Path::new(place.trim()).join("kanban.db").exists());
    let current = json(&world, &["board", "show", "--json"]).await;
    assert_eq!(current["slug"], "default", "nothing is left that points to it");
    printed(&world, &["task", "show", &task], 5).await;
}

/// What a worker writes on a card must not reach whoever reads it as anything but text.
#[tokio::test]
async fn nothing_on_a_board_speaks_to_the_terminal() {
    let world = World::new().await;
    let task = made(&world, &["Build \u{1b}]0;gone\u{7} \u{202e}it"]).await;
    world.cards.sql(
        "UPDATE tasks SET claim_lock = 'a' || char(27) || ']0;gone' || char(7), status = 'running', \
         result = CAST(x'ff' AS TEXT); \
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, created_at) \
         SELECT id, 'tele' || char(27) || '[31m', 'c', '', 5 FROM tasks",
    );
    for (arguments, code) in [
        (&["task", "show", &task][..], 0),
        (&["task", "list"], 0),
        (&["task", "assign", &task, "ada"], 6),
        (&["task", "claim", &task], 6),
        (&["sub", "list"], 0),
        (&["status"], 4),
        (&["events"], 0),
    ] {
        let said = printed(&world, arguments, code).await;
        let wild = said.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(wild, None, "{arguments:?}: {said:?}");
    }
}

#[tokio::test]
async fn a_shell_is_offered_boards_tasks_and_platforms() {
    let world = World::new().await;
    printed(&world, &["board", "create", "ops"], 0).await;
    let task = made(&world, &["Build it"]).await;
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&world, &["completions", shell], 0).await;
        assert!(script.contains("kanban-gateway") && script.contains("COMPLETE"), "{script}");
    }
    let offered = async |words: &[&str]| {
        let index = words.len().to_string();
        let mut command = crate::process::command(&world, &[]);
        command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", &index);
        command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "false");
        command.env("_CLAP_IFS", "\n").args(["--", "kanban-gateway"]).args(words);
        let output = command.output().await.unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(offered(&["board", "show", ""]).await.contains("ops"));
    assert!(offered(&["task", "show", "t_"]).await.contains(&task));
    let platforms = [offered(&["sub", "add", &task, ""]).await, offered(&["test-send", ""]).await];
    assert!(platforms.iter().all(|all| all.contains("api_server") && all.contains("telegram")));
    assert!(offered(&["task", "pro"]).await.contains("promote"));
}

#[tokio::test]
async fn events_are_followed_from_now_on_and_a_long_history_is_one_list() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    let world = World::new().await;
    let task = made(&world, &["Build it"]).await;
    let mut child =
        crate::process::command(&world, &["events", "--follow", "--json", "--limit", "1"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = crate::support::wait::soon("a line", lines.next_line()).await;
        serde_json::from_str::<Value>(&line.unwrap().unwrap()).unwrap()
    };
    assert_eq!(next().await["kind"], "created");
    printed(&world, &["task", "comment", &task, "hello"], 0).await;
    assert_eq!(next().await["kind"], "commented");
    printed(&world, &["board", "create", "other"], 0).await;
    child.kill().await.unwrap();
    let mut gone = crate::process::command(&world, &["events", "--follow", "--board", "other"]);
    let mut gone = gone.stderr(std::process::Stdio::piped()).spawn().unwrap();
    printed(&world, &["board", "archive", "other"], 0).await;
    let ended = crate::support::wait::soon("its end", gone.wait()).await.unwrap();
    assert!(!ended.success(), "who follows a board that is gone is told so");

    world.cards.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) \
         INSERT INTO task_events (task_id, kind, created_at) SELECT '{task}', 'heartbeat', 5 FROM n"
    ));
    let all = output(&world, &["events", "--json", "--limit", "100000"]).await;
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    let ids: Vec<i64> = all.as_array().unwrap().iter().map(|e| e["id"].as_i64().unwrap()).collect();
    assert!(ids.len() == 2_502 && ids.is_sorted(), "{}", ids.len());
    let newest = output(&world, &["events", "--json", "--limit", "3"]).await;
    let newest: Value = serde_json::from_slice(&newest.stdout).unwrap();
    assert_eq!(newest[2]["id"], ids.last().copied().unwrap());
    let none = output(&world, &["events", "--json", "--limit", "0"]).await;
    assert_eq!(none.stdout, b"[]\n");
}

#[tokio::test]
async fn a_long_title_is_cut_for_people_and_whole_for_machines() {
    let world = World::new().await;
    let title = "long ".repeat(800);
    let title = title.trim();
    printed(&world, &["task", "create", title], 0).await;
    let people = printed(&world, &["task", "list"], 0).await;
    assert!(people.lines().all(|line| line.chars().count() < 200), "{people}");
    assert!(people.contains('…'), "{people}");
    let whole = json(&world, &["task", "list", "--json"]).await;
    assert_eq!(whole[0]["title"], title);
}
