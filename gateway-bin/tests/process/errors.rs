//! What goes wrong is told with the next step, and with the exit code that the README has.

use crate::{
    process::{Process, printed},
    support::world::World,
};

#[tokio::test]
async fn errors_say_what_to_do_next() {
    let world = World::new().await;
    for (arguments, code, next) in [
        (&["task", "create", "--board", "nope", "x"][..], 5, "kanban-gateway board list"),
        (&["events", "--board", "nope"], 5, "kanban-gateway board list"),
        (&["events", "--task", "t_none"], 5, "there is no task t_none on board `default`"),
        (&["task", "complete", "t_none"], 5, "kanban-gateway task list --board default"),
        (&["task", "block", "t_none"], 5, "--board"),
        (&["dead", "show", "1"], 1, "kanban-gateway run"),
        (&["dead", "retry"], 2, "--all"),
        (&["sub", "add", "t_none", "console", "room"], 5, "no task t_none on board `default`"),
        (&["sub", "add", "t_none", "api_server", "a/b"], 2, "nobody can be reached"),
        (&["replay"], 2, "--task"),
        (&["sub", "release"], 2, "--all"),
        (&["replay"], 2, "see `kanban-gateway replay --help`"),
        (&["sub", "release"], 2, "see `kanban-gateway sub release --help`"),
        (&["sub", "release", "--platform", "nope"], 1, "no row of platform `nope` is adopted"),
        (&["sub", "adopt"], 2, "--platform"),
        (&["sub", "adopt", "--task", "t_none"], 5, "no task t_none on board `default`"),
        (&["board", "create", "a b"], 2, "`a b` is no board name"),
        (&["events", "--board", "a b"], 2, "`a b` is no board name"),
        (&["task", "create", " "], 2, "title"),
    ] {
        let said = printed(&world, arguments, code).await;
        assert!(
            said.starts_with("kanban-gateway: ") && said.contains(next),
            "{arguments:?}: {said}"
        );
    }
}

#[tokio::test]
async fn without_a_board_or_a_home_the_next_step_is_named() {
    let world = World::new().await;
    std::fs::remove_dir_all(world.hermes()).unwrap();
    for arguments in [&["task", "create", "x"][..], &["once"], &["events"]] {
        let code = if arguments == ["once"] { 1 } else { 5 };
        let said = printed(&world, arguments, code).await;
        for part in [world.hermes().to_str().unwrap(), "board create", "--board", "HERMES_HOME"] {
            assert!(said.contains(part), "{arguments:?}: {part:?} is missing in: {said}");
        }
    }
    let home = format!("there is no Hermes home at {}", world.hermes().display());
    for (arguments, code) in [(&["status"][..], 4), (&["config", "check"], 0)] {
        assert!(printed(&world, arguments, code).await.contains(&home), "{arguments:?}");
    }
    let mut run = Process::run(&world);
    run.says(&home).await;
    run.says("kanban-gateway board create").await;
}

#[tokio::test]
async fn filters_that_match_nothing_say_why_and_a_replay_says_who_sends() {
    let world = World::new().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.complete(&task, "done once");
    printed(&world, &["once"], 0).await;
    for (arguments, why) in [
        (&["replay", "--since", "1h", "--board", "nope"][..], "no board `nope`, only: default"),
        (&["replay", "--task", "t_none"], "no subscription to task t_none was served"),
        (&["replay", "--subscription", "99", "--dry-run"], "there is no subscription 99"),
    ] {
        let said = printed(&world, arguments, 5).await;
        assert!(said.contains("nothing matches") && said.contains(why), "{arguments:?}: {said}");
    }
    let planned = printed(&world, &["replay", "--task", &task], 0).await;
    let hint = "no process delivers now: that happens when `kanban-gateway run` or `once` runs";
    assert_eq!(planned, format!("1 to be sent again.\n{hint}.\n"));
    let mut run = Process::run(&world);
    run.says("delivered").await;
    let sent = printed(&world, &["replay", "--task", &task], 0).await;
    assert_eq!(sent, "1 to be sent again.\n");
    run.kill().await;
    assert_eq!(printed(&world, &["sub", "release", "--all"], 0).await, "1 released.\n");
    let none = printed(&world, &["sub", "release", "--all"], 0).await;
    assert_eq!(none, "0 released: no row is adopted.\n");
}

#[tokio::test]
async fn a_ledger_that_cannot_be_used_is_named_with_its_remedy() {
    let world = World::new().await;
    world.cards.asked("Build the report", "sess-abc");
    printed(&world, &["once"], 0).await;
    let path = world.ledger();
    // For root permissions are no hindrance, so nobody asks; and nobody has a way to this program.
    let program = world.folder().join("program");
    // Not by this process: a child of another test would have the file open for writing until it runs.
    let mut copy = std::process::Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_kanban-gateway"));
    assert!(copy.arg(&program).status().unwrap().success());
    let open =
        std::process::Command::new("chmod").args(["-R", "a+rwX"]).arg(world.folder()).status();
    assert!(open.unwrap().success());
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    let mut run = tokio::process::Command::new(&program);
    run.arg("once").env_clear().envs(world.variables());
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0 {
        run.uid(65_534).gid(65_534);
    }
    let said = String::from_utf8(run.output().await.unwrap().stderr).unwrap();
    let remedy = format!("the ledger {} cannot be written; make the file", path.display());
    assert!(said.contains(&remedy), "{said}");

    for name in ["ledger.db-wal", "ledger.db-shm"] {
        drop(std::fs::remove_file(path.with_file_name(name)));
    }
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&path, [7_u8; 9_000]).unwrap();
    let remedy = format!("the ledger {} is damaged; move it", path.display());
    for arguments in
        [&["run"][..], &["once"], &["dead", "list"], &["ledger", "status"], &["ledger", "migrate"]]
    {
        let said = printed(&world, arguments, 1).await;
        assert!(said.contains(&remedy), "{arguments:?}: {said}");
        assert!(said.contains("under way or of unknown outcome may be told again"), "{said}");
        assert!(said.contains("the dead letters and the history of outcomes are lost"), "{said}");
    }
}

#[tokio::test]
async fn what_is_refused_is_told_apart_from_what_is_done_and_by_the_exit_code() {
    let world = World::new().await;
    for session in ["sess-abc", ".."] {
        let (task, _) = world.cards.asked("Build the report", session);
        world.cards.complete(&task, "done once");
    }
    printed(&world, &["once"], 0).await;
    let dead = crate::process::json(&world, &["dead", "list", "--json"]).await;
    let dead = dead[0]["id"].as_i64().unwrap();
    let (delivered, dead) = ((3 - dead).to_string(), dead.to_string());
    let none = "9999: there is no such delivery\n";
    for command in ["retry", "drop"] {
        let said = printed(&world, &["dead", command, "9999"], 5).await;
        assert!(said.starts_with(none) && !said.contains("no process delivers"), "{said}");
        let said = printed(&world, &["dead", command, &delivered], 6).await;
        assert!(said.starts_with(&format!("{delivered}: it is ")), "{said}");
        printed(&world, &["dead", command, &delivered, "9999"], 6).await;
    }
    printed(&world, &["dead", "show", "9999"], 5).await;
    let dropped = printed(&world, &["dead", "drop", &dead, "9999"], 3).await;
    assert_eq!(dropped, format!("{none}1 dropped.\n"));
    let retried = printed(&world, &["dead", "retry", &dead, "9999"], 3).await;
    assert!(retried.starts_with(&format!("{none}1 to be sent again.\nno process ")), "{retried}");
}

#[tokio::test]
async fn the_beginning_of_a_task_id_is_enough_everywhere() {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    world.set("adopt", "off");
    let task = world.cards.task("Build the report");
    let other = world.cards.task("Build more");
    let short = &task[2..task.len() - 1];
    printed(&world, &["sub", "add", short, "console", "room"], 0).await;
    world.cards.subscribe_as(&task, "api_server", "sess-abc", Some("default"));
    world.cards.complete(&task, "done once");
    printed(&world, &["once"], 0).await;
    let replay = ["replay", "--task", short, "--dry-run", "--json"];
    let preview = crate::process::json(&world, &replay).await;
    assert_eq!(preview[0]["task"], task.as_str(), "{preview}");
    assert_eq!(printed(&world, &["sub", "adopt", "--task", short], 0).await, "1 adopted.\n");
    assert_eq!(printed(&world, &["sub", "release", "--task", short], 0).await, "1 released.\n");
    for arguments in
        [&["sub", "adopt", "--task", "t_"][..], &["sub", "remove", "t_", "console", "room"]]
    {
        let said = printed(&world, arguments, 2).await;
        assert!(said.contains("t_ may be ") && said.contains(&other), "{said}");
    }
    let remove = ["sub", "remove", short, "console", "room"];
    assert_eq!(printed(&world, &remove, 0).await, "Removed.\n");
    // A row may outlive its task; then its whole id names it.
    world.cards.sql(&format!("DELETE FROM tasks WHERE id = '{task}'"));
    let remove = ["sub", "remove", &task, "api_server", "sess-abc"];
    assert_eq!(printed(&world, &remove, 0).await, "Removed.\n");
    let preview = printed(&world, &["replay", "--task", short, "--dry-run"], 0).await;
    assert!(preview.contains(&task), "{preview}");
}

#[tokio::test]
async fn help_says_that_a_replay_needs_to_know_which() {
    let help = printed(&World::new().await, &["replay", "--help"], 0).await;
    let about = help.split("Usage:").next().unwrap();
    assert!(about.contains("--task") && about.contains("--since"), "{help}");
}

#[tokio::test]
async fn a_place_where_no_ledger_can_be_is_told_with_the_next_step() {
    let mut world = World::new().await;
    let place = world.ledger();
    std::fs::create_dir_all(&place).unwrap();
    for (command, code) in [("status", 4), ("once", 1), ("run", 1), ("doctor", 4)] {
        let said = printed(&world, &[command], code).await;
        assert!(said.contains("it is a folder; set `ledger` to a file"), "{command}: {said}");
    }
    std::fs::remove_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place.parent().unwrap(), "").unwrap();
    for (command, code) in [("status", 4), ("once", 1)] {
        let said = printed(&world, &[command], code).await;
        assert!(said.contains("set `ledger`"), "{command}: {said}");
    }
    std::fs::remove_file(place.parent().unwrap()).unwrap();
    std::fs::create_dir(place.parent().unwrap()).unwrap();
    std::fs::write(&place, [7_u8; 9_000]).unwrap();
    world.set("log.level", "warn");
    for (command, code) in [("status", 4), ("once", 1)] {
        let said = printed(&world, &[command], code).await;
        assert_eq!(
            said.matches("move it and the files beside it away").count(),
            1,
            "{command}: {said}"
        );
    }
}

#[tokio::test]
async fn a_board_that_something_is_owed_from_is_put_away_only_on_purpose_and_has_a_way_back() {
    let world = World::new().await;
    let ops = world.board("ops");
    let (task, _) = ops.asked("Build the report", "sess-abc");
    ops.complete(&task, "done once");
    let refused = printed(&world, &["board", "archive", "ops"], 6).await;
    assert!(refused.contains("1 delivery of board `ops` not settled"), "{refused}");
    assert!(refused.contains("`once` finish") && refused.contains("--force"), "{refused}");
    let place = printed(&world, &["board", "archive", "ops", "--force"], 0).await;
    let back = format!("it was put away; `mv {} ", place.trim());
    for command in
        [&["task", "list", "--board", "ops"][..], &["status", "--board", "ops", "--why", &task]]
    {
        let said = printed(&world, command, 5).await;
        assert!(said.contains(&back), "{said}");
    }
    std::fs::rename(place.trim(), world.hermes().join("kanban/boards/ops")).unwrap();
    printed(&world, &["once"], 0).await;
    printed(&world, &["board", "archive", "ops"], 0).await;
    let twice = printed(&world, &["board", "create", "default"], 6).await;
    assert!(twice.contains("give the new one another name"), "{twice}");
}

#[tokio::test]
async fn what_waits_of_a_board_that_was_put_away_is_told_with_the_way_back() {
    let mut world = World::new().await;
    world.server("default", "http://127.0.0.1:9", "a-key-of-nobody-0123456789");
    let ops = world.board("ops");
    let (task, _) = ops.asked("Build the report", "sess-abc");
    ops.complete(&task, "done once");
    printed(&world, &["once"], 3).await;
    let place = printed(&world, &["board", "archive", "ops", "--force"], 0).await;
    let said = printed(&world, &["status"], 4).await;
    assert!(said.contains(&format!("it was put away: `mv {} ", place.trim())), "{said}");
    assert!(said.contains("brings it back") && said.contains("sub remove"), "{said}");
}

#[tokio::test]
async fn a_board_that_only_the_configuration_names_is_known_to_every_command() {
    let mut world = World::new().await;
    let path = world.folder().join("third/kanban.db");
    kanban_store::write::create_board(&path).unwrap();
    world.set("boards", &format!("[\"{}\"]", path.display()));
    let on = ["--board", "third"];
    let task = printed(&world, &["task", "create", on[0], on[1], "Build it"], 0).await;
    let listed = printed(&world, &["task", "list", on[0], on[1]], 0).await;
    assert!(listed.contains(task.trim()), "{listed}");
    printed(&world, &["events", on[0], on[1]], 0).await;
    printed(&world, &["board", "show", "third"], 0).await;
    printed(&world, &["status", on[0], on[1], "--why", task.trim()], 0).await;
    assert!(printed(&world, &["board", "list"], 0).await.contains("third"));
    for command in ["use", "archive"] {
        let said = printed(&world, &["board", command, "third"], 2).await;
        assert!(said.contains("only `boards` in the configuration names `third`"), "{said}");
    }
}
