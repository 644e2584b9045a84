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
async fn what_hermes_has_for_a_platform_is_shown_with_its_place() {
    let mut world = World::new().await;
    world.set("ntfy.topic", "ours");
    let dotenv = world.hermes().join(".env");
    let text = "NTFY_TOPIC=theirs\nNTFY_TOKEN=tk_nobodymayseethis\nNTFY_MARKDOWN=yes\n\
                NTFY_SERVER_URL=https://u:nobodymayseethis@ntfy.example.org\nOPEN=\"nobodymayseethis\n";
    std::fs::write(&dotenv, text).unwrap();
    let shown = printed(&world, &["config", "show"], 0).await;
    let place = dotenv.display();
    for line in [
        "ntfy.topic = \"ours\"  # environment".to_owned(),
        format!(
            "ntfy.url = \"https://***@ntfy.example.org\"  # Hermes (NTFY_SERVER_URL in {place})"
        ),
        format!("ntfy.token = \"***\"  # Hermes (NTFY_TOKEN in {place})"),
        format!("ntfy.markdown = true  # Hermes (NTFY_MARKDOWN in {place})"),
    ] {
        assert!(shown.contains(&line), "{line:?} is missing in:\n{shown}");
    }
    assert_eq!(shown.matches("ntfy.url").count(), 1, "{shown}");
    assert!(!shown.contains("nobodymayseethis"), "{shown}");
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

/// Settings of push platforms that cannot be used, each with what is to be said of it.
const UNUSABLE: &str = r#"
[email]
host = "smtp.example.org"
security = "ssl"
address = "kanban@example.org"
[signed_webhook]
targets = "ops=https://hooks.example.org/x"
secret = "a-secret-of-twenty-four-and-more"
allow_private = "10.0.0.0/33"
[telegram]
token = "FAKE/token"
[mattermost]
token = "FAKE-token"
"#;

#[tokio::test]
async fn what_run_would_refuse_of_push_platforms_the_check_refuses_with_key_and_line() {
    let world = World::new().await;
    let file = world.folder().join("gateway.toml");
    std::fs::write(&file, UNUSABLE).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    for command in [&["config", "check"][..], &["run"], &["once"]] {
        let arguments: Vec<&str> =
            ["-c", file].into_iter().chain(command.iter().copied()).collect();
        let said = printed(&world, &arguments, 2).await;
        for part in [
            "gateway.toml line 4: `email.security` cannot be used: it is none of starttls, tls, none",
            "gateway.toml line 9: `signed_webhook.allow_private` cannot be used: what stands behind",
            "gateway.toml line 11: `telegram.token` cannot be used: it has characters that no token",
            "gateway.toml line 13: `mattermost.url` is not set",
        ] {
            assert!(said.contains(part), "{part:?} is missing in: {said}");
        }
        assert!(!said.contains("FAKE"), "{said}");
    }
    let at = [("KANBAN_GATEWAY_EMAIL__SECURITY", "tls"), ("KANBAN_GATEWAY_EMAIL__CA_FILE", "/no")];
    let mut check = command(&world, &["-c", file, "config", "check"]);
    let said = check.envs(at).output().await.unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    let part = "KANBAN_GATEWAY_EMAIL__CA_FILE: `email.ca_file` cannot be used: No such file";
    assert!(said.contains(part), "{said}");
}

#[tokio::test]
async fn a_name_of_ours_that_a_profile_has_is_refused_by_the_check_too() {
    let mut world = World::new().await;
    std::fs::create_dir_all(world.hermes().join("profiles/work")).unwrap();
    world.set("owner", "work");
    for arguments in [&["run"][..], &["config", "check"]] {
        let said = printed(&world, arguments, 2).await;
        assert!(said.contains("a Hermes profile has that name"), "{said}");
    }
}

#[tokio::test]
async fn one_platforms_bad_settings_are_held_against_its_own_rows_alone() {
    let mut world = World::new().await;
    world.set("console.enabled", "true");
    world.set("ntfy.topic", "x");
    world.set("email.host", "smtp.example.org");
    let task = world.cards.task("Build the report");
    for (platform, chat) in [("ntfy", "topic"), ("console", "me"), ("email", "me@example.org")] {
        world.cards.subscribe_as(&task, platform, chat, Some("kanban-gateway"));
    }
    let why = "its settings cannot be used: KANBAN_GATEWAY_EMAIL__HOST: `email.address` is not set";
    let status = printed(&world, &["status"], 4).await;
    assert!(
        status.contains(&format!("1 row of email served by nobody: {why}; mend that")),
        "{status}"
    );
    assert!(!status.contains("sub remove"), "the row is right: {status}");
    for healthy in ["ntfy: every row is ours", "console: every row is ours", "api_server: every"] {
        assert!(status.contains(healthy), "{healthy:?} is missing in: {status}");
    }
    let listed = printed(&world, &["sub", "list"], 0).await;
    assert_eq!(listed.matches("ours").count(), 2, "{listed}");
    let added = printed(&world, &["sub", "add", &task, "email", "you@example.org"], 0).await;
    assert!(added.contains(why), "{added}");
}

#[tokio::test]
async fn what_is_set_and_asks_for_nothing_is_told() {
    let mut world = World::new().await;
    world.set("telegram.max_length", "100");
    let told =
        "what is set for `telegram` has no effect: it is not served until `telegram.token` is set";
    let checked = printed(&world, &["config", "check"], 0).await;
    assert!(
        checked.contains("warning: KANBAN_GATEWAY_TELEGRAM__MAX_LENGTH: what is set"),
        "{checked}"
    );
    assert!(checked.contains(told), "{checked}");
    assert!(printed(&world, &["status"], 4).await.contains(told));
    let mut run = crate::process::Process::run(&world);
    run.says(told).await;
    // Hermes' file has what was missing.
    let dotenv = world.hermes().join(".env");
    std::fs::write(&dotenv, "TELEGRAM_BOT_TOKEN=1:FAKE\n").unwrap();
    assert!(!printed(&world, &["config", "check"], 0).await.contains("warning"));
    // Of what was only found there `run` says the same and starts.
    std::fs::write(&dotenv, "EMAIL_SMTP_HOST=smtp.example.org\n").unwrap();
    let checked = printed(&world, &["config", "check"], 0).await;
    let part = format!("EMAIL_SMTP_HOST in {}: `email.address` is not set", dotenv.display());
    assert!(checked.contains(&part), "{checked}");
}

#[tokio::test]
async fn a_file_that_is_missing_is_named_with_the_command_that_makes_it() {
    let world = World::new().await;
    let file = world.folder().join("none.toml");
    let file = file.to_str().unwrap();
    let said = printed(&world, &["-c", file, "status"], 2).await;
    let part = format!("there is no such file; `kanban-gateway config init {file}` makes it");
    assert!(said.contains(&part), "{said}");
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
