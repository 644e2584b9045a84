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
        (&["sub", "release", "--platform", "nope"], 1, "no row of platform `nope` is adopted"),
        (&["sub", "adopt"], 2, "--platform"),
        (&["sub", "adopt", "--task", "t_none"], 1, "board `default` has no row of task `t_none`"),
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
        let said = printed(&world, arguments, 1).await;
        assert!(said.contains("nothing matches") && said.contains(why), "{arguments:?}: {said}");
    }
    let planned = printed(&world, &["replay", "--task", &task], 0).await;
    assert!(planned.contains("1 planned; sent when `kanban-gateway run`"), "{planned}");
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
    std::fs::copy(env!("CARGO_BIN_EXE_kanban-gateway"), &program).unwrap();
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
