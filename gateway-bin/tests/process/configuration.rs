//! `config init|check|show`, and what is said of a configuration or command line that cannot be used.

use std::os::unix::fs::PermissionsExt;

use crate::{
    process::{command, json, printed},
    support::world::World,
};

#[tokio::test]
async fn the_default_file_can_be_used_as_it_is_written() {
    let world = World::new().await;
    let path = world.folder().join("etc").join("gateway.toml");
    let file = path.to_str().unwrap();
    assert_eq!(printed(&world, &["config", "init", file], 0).await.trim(), file);
    let good = printed(&world, &["-c", file, "config", "check"], 0).await;
    assert!(good.contains("is good"), "{good}");
    let there = printed(&world, &["config", "init", file], 1).await;
    assert!(there.contains("--force"), "{there}");
    printed(&world, &["config", "init", file, "--force"], 0).await;
    let none = printed(&world, &["config", "check"], 0).await;
    assert!(none.contains("no configuration file"), "{none}");
}

#[tokio::test]
async fn the_default_file_is_private_and_its_example_is_complete() {
    let world = World::new().await;
    let path = world.folder().join("gateway.toml");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let file = path.to_str().unwrap();
    printed(&world, &["config", "init", file, "--force"], 0).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    let new = world.folder().join("new.toml");
    printed(&world, &["config", "init", new.to_str().unwrap()], 0).await;
    assert_eq!(mode(&new) & 0o777, 0o600);

    let text = std::fs::read_to_string(&path).unwrap();
    let used: String = text
        .lines()
        .map(|line| line.strip_prefix("#     ").unwrap_or(line).to_owned() + "\n")
        .collect();
    assert!(used.contains("\n[[api_server]]\n") && used.contains("\nkey = "), "{used}");
    std::fs::write(&path, used).unwrap();
    let mut show = command(&world, &["-c", file, "config", "show"]);
    let shown = show.env_remove("KANBAN_GATEWAY_API_SERVER").output().await.unwrap();
    let (shown, said) =
        (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(shown.contains("api_server[0].url = \"http://127.0.0.1:8642\""), "{shown}{said}");
}

#[tokio::test]
async fn values_are_shown_with_where_they_come_from_and_never_a_key() {
    let mut world = World::new().await;
    world.server("work", "http://127.0.0.1:9", "a-key-that-nobody-may-see");
    let file = world.folder().join("gateway.toml");
    std::fs::write(&file, "max_age = \"3d\"\n").unwrap();
    let file = file.to_str().unwrap();
    let shown = json(&world, &["-c", file, "config", "show", "--json"]).await;
    let of = |key: &str| {
        let all = shown.as_array().unwrap();
        let found = all.iter().find(|shown| shown["key"] == key);
        found.unwrap_or_else(|| panic!("{key} is missing")).clone()
    };
    assert_eq!(of("max_age")["origin"], "file");
    assert!(of("max_age")["value"].as_str().unwrap().contains("3d"));
    assert_eq!(of("owner")["origin"], "default");
    assert_eq!(of("wake.settle")["origin"], "environment (KANBAN_GATEWAY_WAKE__SETTLE)");
    let people = printed(&world, &["-c", file, "config", "show"], 0).await;
    for text in [shown.to_string(), people] {
        assert!(!text.contains("a-key-that-nobody-may-see") && text.contains("127.0.0.1:9"));
    }
}

#[tokio::test]
async fn servers_and_lists_are_shown_as_they_are_in_force() {
    let mut world = World::new().await;
    world.set("wake.kinds", "completed, blocked");
    world.set("owner", "42");
    std::fs::write(
        world.hermes().join(".env"),
        "API_SERVER_KEY=a-key-that-nobody-may-see\nAPI_SERVER_PORT=8765\n",
    )
    .unwrap();
    std::fs::create_dir_all(world.hermes().join("profiles/work")).unwrap();
    let shown = |server: Option<&str>| {
        let mut show = command(&world, &["config", "show"]);
        show.env_remove("KANBAN_GATEWAY_API_SERVER");
        if let Some(server) = server {
            show.env("KANBAN_GATEWAY_API_SERVER", format!("[{server}]"));
        }
        async move { String::from_utf8(show.output().await.unwrap().stdout).unwrap() }
    };
    let found = shown(None).await;
    for line in [
        "wake.kinds = [\"completed\", \"blocked\"]  # environment",
        "owner = \"42\"  # environment",
        "api_server[0].profile = \"default\"  # Hermes (profile default)",
        "api_server[0].url = \"http://127.0.0.1:8765\"",
        "api_server[0].key = \"***\"",
        "api_server[0].model = \"hermes-agent\"",
    ] {
        assert!(found.contains(line), "{line:?} is missing in:\n{found}");
    }
    let both =
        shown(Some("{ profile = \"work\", url = \"http://h:1\", key = \"another-secret-key\" }"))
            .await;
    for line in [
        "api_server[0].profile = \"work\"  # environment",
        "api_server[0].model = \"work\"  # default",
        "api_server[1].profile = \"default\"  # Hermes (profile default)",
    ] {
        assert!(both.contains(line), "{line:?} is missing in:\n{both}");
    }
    assert!(!(found + &both).contains("-key"));
}

#[tokio::test]
async fn a_wrong_configuration_names_every_fault_and_ends_with_2() {
    let world = World::new().await;
    let file = world.folder().join("gateway.toml");
    std::fs::write(
        &file,
        "max_aje = \"3d\"\n\n[wake]\nmin_interval = \"soon\"\nkinds = [\"complete\"]\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    for command in [&["config", "check"][..], &["run"], &["status"], &["sub", "list"]] {
        let arguments: Vec<&str> =
            ["-c", file].into_iter().chain(command.iter().copied()).collect();
        let said = printed(&world, &arguments, 2).await;
        for part in [
            "line 1",
            "max_aje",
            "did you mean `max_age`",
            "line 4",
            "wake.min_interval",
            "complete",
        ] {
            assert!(said.contains(part), "{part:?} is missing in: {said}");
        }
    }
}

#[tokio::test]
async fn a_wrong_command_line_ends_with_2_and_help_with_0() {
    let world = World::new().await;
    for wrong in [
        &[][..],
        &["frobnicate"],
        &["sub", "add", "t_1"],
        &["listen", "--status", "500,abc"],
        &["listen", "--key", ""],
        &["dead", "show", "x"],
        &["listen", "--drop", "--status", "200"],
        &["replay", "--since", "yesterday"],
    ] {
        let said = printed(&world, wrong, 2).await;
        assert!(said.contains("Usage") || said.contains("--help"), "{wrong:?}: {said}");
    }
    for right in [&["--help"][..], &["--version"], &["help", "run"], &["sub", "add", "--help"]] {
        printed(&world, right, 0).await;
    }
}

#[tokio::test]
async fn report_47_a_template_that_cannot_be_used_is_found_before_anything_is_sent() {
    let world = World::new().await;
    let file = world.folder().join("gateway.toml");
    let text = "[templates]\ncompleted = \"\"\"\n{{ title }}\n{{ titel }}\n\"\"\"\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for command in ["check", "run", "once"] {
        let arguments = match command {
            "check" => vec!["-c", file, "config", "check"],
            command => vec!["-c", file, command],
        };
        let said = printed(&world, &arguments, 2).await;
        let told = "line 2: `templates.completed` line 2: there is no variable `titel`";
        assert!(said.contains(told), "{said}");
    }
    assert!(!world.ledger().exists());
}
