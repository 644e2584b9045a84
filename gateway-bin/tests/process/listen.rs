//! `listen` stands in for an API server, well or badly behaved.

use std::{net::TcpListener, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout},
};

use crate::{
    process::{command, printed},
    support::{wait::soon, world::World},
};

const KEY: &str = "listen-key-0123456789";

struct Listen {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Listen {
    /// Listens with these options at a port of its own, which becomes the world's API server.
    fn start(world: &mut World, options: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = free.local_addr().unwrap().to_string();
        drop(free);
        let arguments: Vec<&str> =
            ["listen", "--addr", &addr].into_iter().chain(options.iter().copied()).collect();
        let mut child = command(world, &arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        world.server("default", &format!("http://{addr}"), KEY);
        Self { child, lines }
    }

    async fn line(&mut self) -> String {
        soon("a line", self.lines.next_line()).await.unwrap().unwrap()
    }

    /// The next line that does not quote a wake's text.
    async fn news(&mut self) -> String {
        loop {
            let line = self.line().await;
            if !line.starts_with("   | ") {
                return line;
            }
        }
    }

    async fn end(mut self) {
        self.child.kill().await.unwrap();
    }
}

#[tokio::test]
async fn each_wake_is_printed_with_its_scripted_end() {
    let mut world = World::new().await;
    let mut listen = Listen::start(&mut world, &["--status", "500,200", "--delay", "50ms"]);
    assert!(listen.line().await.starts_with("listening on http://127.0.0.1:"));
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    for end in ["ran: 500", "ran: 200"] {
        let wake = listen.news().await;
        assert!(wake.contains("wake for sess-abc (key "), "{wake}");
        let text = listen.line().await;
        assert!(text.contains(&task), "{text}");
        assert!(listen.news().await.ends_with(end));
    }
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    listen.end().await;
}

#[tokio::test]
async fn a_wake_that_is_dropped_is_found_by_the_look_and_not_sent_again() {
    let mut world = World::new().await;
    let mut listen = Listen::start(&mut world, &["--drop"]);
    listen.line().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    assert!(listen.news().await.contains("wake for sess-abc"));
    assert!(listen.news().await.ends_with("no reply"));
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    listen.end().await;
}

#[tokio::test]
async fn machines_read_json_lines() {
    let mut world = World::new().await;
    let mut listen = Listen::start(&mut world, &["--json"]);
    let first: Value = serde_json::from_str(&listen.line().await).unwrap();
    assert_eq!(first["event"], "listening");
    assert!(first["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{first}");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    let wake: Value = serde_json::from_str(&listen.line().await).unwrap();
    assert_eq!((&wake["event"], &wake["session"]), (&"wake".into(), &"sess-abc".into()));
    // Looks into the session are no wakes: the first wake is the first.
    assert_eq!(wake["number"], 1);
    assert!(wake["text"].as_str().unwrap().contains(&task));
    let end: Value = serde_json::from_str(&listen.line().await).unwrap();
    assert_eq!(
        (&end["event"], &end["status"], &end["how"]),
        (&"answered".into(), &200.into(), &"ran".into())
    );
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    listen.end().await;
}

#[tokio::test]
async fn a_port_of_the_systems_choice_is_told_and_the_help_has_each_word() {
    let world = World::new().await;
    let mut child = command(&world, &["listen", "--json", "--addr", "127.0.0.1:0"]);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = soon("the address", lines.next_line()).await.unwrap().unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let addr = line["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    assert!(std::net::TcpStream::connect(addr).is_ok(), "{addr}");
    child.kill().await.unwrap();
    let help = printed(&world, &["listen", "--help"], 0).await;
    for word in ["incomplete", "failed", "drop", "lose", ":N"] {
        assert!(help.contains(word), "{word} is missing in {help}");
        let script = word.replace(":N", "200:2");
        assert!(gateway_bin::ops::listen::checked_script(&script).is_ok(), "{script}");
    }
}

/// The README's way without Hermes, but for the port.
#[tokio::test]
async fn a_written_down_server_is_woken_without_hermes() {
    let mut world = World::new().await;
    let mut listen = Listen::start(&mut world, &[]);
    let first = listen.line().await;
    let url = first.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let url = url.trim_end_matches(';');
    let file = world.folder().join("config.toml");
    let name = file.to_str().unwrap();
    printed(&world, &["config", "init", name], 0).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let server = format!("[[api_server]]\nurl = \"{url}\"\nkey = \"{KEY}\"\n");
    std::fs::write(&file, text + &server).unwrap();
    let run = async |arguments: &[&str]| {
        let mut command = command(&world, arguments);
        command.env("KANBAN_GATEWAY_CONFIG", name).env_remove("KANBAN_GATEWAY_API_SERVER");
        command.env_remove("KANBAN_GATEWAY_CONSOLE__ENABLED");
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["board", "create", "ops"]).await;
    let task = run(&["task", "create", "--board", "ops", "Build the report"]).await;
    run(&["sub", "add", "--board", "ops", &task, "api_server", "my-session"]).await;
    run(&["sub", "add", "--board", "ops", &task, "console", "me"]).await;
    run(&["task", "complete", "--board", "ops", &task, "--summary", "14 pages"]).await;
    let line: Value = serde_json::from_str(&run(&["once"]).await).unwrap();
    assert_eq!(line["chat"], "me");
    assert!(listen.news().await.contains("wake for my-session"));
    listen.end().await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_named_with_the_way_out() {
    let world = World::new().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let said = printed(&world, &["listen", "--addr", &addr], 1).await;
    assert!(said.contains(&addr) && said.contains("--addr"), "{said}");
}
