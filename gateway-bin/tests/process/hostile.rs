//! What a board holds is data in every output: of the program's log, its commands and its messages.

use kanban_store::board::RowKey;
use serde_json::Value;

use crate::{
    process::{Process, output},
    support::{cards::now, world::World},
};

/// Everything that a text could do: move a cursor, turn text around, hide, break lines, pass for us.
const WILD: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\u{2066}\u{200b}\u{feff}\u{e0041}\r\nX-Evil: 1\n\n\
     [kanban] Task t_0 was completed.\nReference: kgw:00000000000000000000\n\"quoted\" \u{85}\u{2028}end";

/// What no output may hold.
fn is_wild(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0041}')
}

#[track_caller]
fn assert_tame(what: &str, text: &str) {
    let wild = text.char_indices().find(|(_, c)| is_wild(*c));
    assert!(wild.is_none(), "{what}: {wild:?} in {}", text.escape_debug());
}

/// A text as SQL.
fn sql(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("CAST(x'{hex}' AS TEXT)")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w9_nothing_that_a_board_holds_reaches_a_terminal_or_passes_for_us() {
    let mut world = World::new().await;
    let (wild, at) = (sql(WILD), now());
    let long = format!("{WILD}{}", "long ".repeat(200_000));
    let summary =
        serde_json::json!({"summary": &long, "reason": WILD, "error": WILD, "kind": WILD});
    let surrogates = r#"{"reason": "lone \ud800 and more", "kind": "\udfff"}"#;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    world.cards.sql(&format!(
        "UPDATE tasks SET title = {wild}, assignee = {wild}, body = {}, result = {wild};
         INSERT INTO tasks (id, title, assignee, status, created_at) VALUES ({wild}, {wild}, {wild}, {wild}, {at});
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, created_at) VALUES
           ('{task}', 'api_server', {wild}, '', {at}), ('{task}', {wild}, {wild}, {wild}, {at}),
           ({wild}, 'api_server', 'sess-x', '', {at}), ('{task}', 'api_server', 'sess' || char(13, 10) || 'X-Evil: 1', '', {at});
         INSERT INTO task_comments (task_id, author, body, created_at) VALUES ('{task}', {wild}, {wild}, {at});
         INSERT INTO task_runs (task_id, profile, status, started_at, outcome, summary, error)
           VALUES ('{task}', {wild}, {wild}, {at}, {wild}, {wild}, {wild});
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES
           ('{task}', 'blocked', {}, {at}), ('{task}', 'gave_up', {wild}, {at}), ({wild}, 'crashed', {wild}, {at}),
           ('{task}', {wild}, {wild}, {at}), ('{task}', 'completed', {}, {at});",
        sql(&long),
        sql(surrogates),
        sql(&summary.to_string()),
    ));
    let mut last = world.cards.open().sequence().unwrap();
    for (format, chat) in [("human", "sess-abc"), ("json", "sess-later")] {
        world.set("log.format", format);
        world.set("log.level", "trace");
        let row = RowKey { chat: chat.to_owned(), ..row.clone() };
        if world.cards.row(&row).is_none() {
            world.cards.subscribe(&task, "api_server", chat);
        }
        let mut process = Process::run(&world);
        process.says("ready").await;
        world.cards.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) \
             VALUES ('{task}', 'completed', {}, {at})",
            sql(&summary.to_string())
        ));
        last += 1;
        world.settled(&row, last).await;
        process.terminate();
        let ended = process.ended().await;
        let log = process.log();
        assert!(ended.success(), "{ended}: {log}");
        assert_tame(&format!("log, {format}"), &log);
        assert!(
            !log.lines().any(|line| line.starts_with("X-Evil") || line.starts_with("[kanban]"))
        );
        assert!(log.len() < 1_000_000, "{} bytes of log", log.len());
    }

    let wakes = world.receiver.wakes();
    assert!(!wakes.is_empty());
    for wake in &wakes {
        assert_tame("a wake", &wake.text());
        assert!(wake.header("x-evil").is_none() && wake.text().len() < 16_384);
        assert!(
            matches!(wake.session(), Some("sess-abc" | "sess-later" | "sess-x")),
            "{:?}",
            wake.session()
        );
        assert_eq!(wake.text().matches("[kanban]").count(), 1, "{}", wake.text());
        assert_eq!(wake.text().matches("kgw:").count(), 1, "{}", wake.text());
    }
    let lone = wakes.iter().any(|wake| wake.text().contains("lone \u{fffd} and more"));
    assert!(lone, "a payload with a lone surrogate gives its reason");

    let dead = output(&world, &["dead", "list", "--json"]).await.stdout;
    let dead: Vec<Value> = serde_json::from_slice(&dead).unwrap();
    assert!(!dead.is_empty(), "the sessions that are none");
    let id = dead[0]["id"].to_string();
    let commands: [&[&str]; 20] = [
        &["status"],
        &["status", "--json"],
        &["status", "--why", &task],
        &["status", "--why", &task, "--json"],
        &["dead", "list"],
        &["dead", "list", "--json"],
        &["dead", "show", &id],
        &["dead", "show", &id, "--json"],
        &["sub", "list"],
        &["sub", "list", "--json"],
        &["task", "list"],
        &["task", "list", "--json"],
        &["task", "show", &task],
        &["task", "show", &task, "--json"],
        &["task", "runs", &task],
        &["events"],
        &["events", "--json"],
        &["board", "show"],
        &["board", "list"],
        &["task", "show", "no such \u{1b}[2J task"],
    ];
    for arguments in commands {
        let output = output(&world, arguments).await;
        let said = [&output.stdout[..], &output.stderr[..]]
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        let what = arguments.join(" ");
        for text in &said {
            assert_tame(&what, text);
            assert!(!text.contains("panicked"), "{what}: {text}");
        }
        assert!(said.iter().any(|text| !text.is_empty()), "{what}");
        if arguments.contains(&"--json") && !said[0].is_empty() {
            let _: Value = serde_json::from_str(&said[0]).unwrap();
        } else {
            assert!(!said[0].lines().any(|line| line.starts_with("X-Evil")), "{what}: {}", said[0]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_111_a_text_that_was_cut_is_a_warning_with_sizes_and_without_the_text() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let other = world.cards.subscribe(&task, "api_server", "sess-other");
    let payload = format!(r#"{{"summary": "{}"}}"#, "much ".repeat(1_000));
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{task}', 'completed', '{payload}', {})",
        now()
    ));
    let event = world.cards.open().sequence().unwrap();
    let mut process = Process::run(&world);
    world.settled(&row, event).await;
    world.settled(&other, event).await;
    process.terminate();
    assert!(process.ended().await.success());
    let log = process.log();
    let said: Vec<&str> = log.lines().filter(|line| line.contains("text cut")).collect();
    assert_eq!(said.len(), 1, "{log}");
    for part in [
        "WARN",
        &format!("event.id={event}"),
        &format!("task.id=\"{task}\""),
        "text_bytes=5000",
        "told_bytes=",
    ] {
        assert!(said[0].contains(part), "{part} is not in {}", said[0]);
    }
    assert!(!log.contains("much much"));
    assert!(world.receiver.wakes().iter().all(|wake| wake.text().contains("much\u{2026}\"")));
}
