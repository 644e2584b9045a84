//! Messages in the operator's own words, through the whole stack (law W9).

use gateway_adapters::receiver::push::{PushServer, slack, telegram};

use crate::{
    faults::child,
    support::{cards::now, world::World},
};

const TOKEN: &str = "123456:FAKE-token_for_tests";
const TITLE: &str = "Build <!channel> {{ task }} <b>*x*</b> @everyone";

/// A world with a chat on Telegram and one on Slack.
async fn world() -> (World, PushServer, PushServer) {
    let telegram = PushServer::start(telegram(TOKEN)).await.unwrap();
    let slack = PushServer::start(slack(&[("xoxb-FAKE-1", &["C1"])])).await.unwrap();
    let mut world = World::new().await;
    for (key, value) in [
        ("telegram.token", TOKEN),
        ("telegram.url", &telegram.url()),
        ("slack.token", "xoxb-FAKE-1"),
        ("slack.url", &slack.url()),
    ] {
        world.set(key, value);
    }
    (world, telegram, slack)
}

/// Completes a task of this title, of which both chats and a session are told.
async fn completes(world: &World, title: &str) {
    let (task, asked) = world.cards.asked(title, "sess-abc");
    let rows = [("telegram", "-1001"), ("slack", "C1")];
    let rows = rows.map(|(platform, chat)| world.cards.subscribe(&task, platform, chat));
    let running = world.start();
    let event = world.cards.complete(&task, "14 pages");
    for row in rows.iter().chain([&asked]) {
        world.settled(row, event).await;
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn report_47_w9_a_template_words_messages_escapes_what_it_tells_and_leaves_wakes_alone() {
    let (mut world, telegram, slack) = world().await;
    world.set("templates.default", "{{ title }}\n{{ line }}");
    world.set("templates.slack.completed", "<done> {{ title | upper }}: {{ summary }}");
    completes(&world, TITLE).await;
    let seen = telegram.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let told = "Build <!channel> {{ task }} <b>*x*</b> @\u{200b}everyone\nwas completed.";
    assert_eq!((seen[0].text.as_str(), seen[0].rich), (told, true));
    let seen = slack.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    // The stand-in answers what is not escaped with an error, and shows the rest as a reader sees it.
    assert_eq!(seen[0].text, "<done> BUILD <!CHANNEL> {{ TASK }} <B>*X*</B> @EVERYONE: 14 pages");
    let wakes = world.receiver.wakes();
    assert_eq!(wakes.len(), 1);
    assert!(wakes[0].text().starts_with("[kanban] Task t_"), "{:?}", wakes[0]);
}

/// What is logged is the process's, so this looks at one of its own.
#[tokio::test]
async fn report_47_a_template_that_fails_is_told_once_and_our_own_text_goes_out() {
    const SELF: &str =
        "templates::report_47_a_template_that_fails_is_told_once_and_our_own_text_goes_out";
    if child::folder().is_none() {
        let folder = tempfile::tempdir().unwrap();
        let ended = child::run(SELF, folder.path(), "warn");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}");
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("template")).collect();
        assert_eq!(lines.len(), 2, "{said}");
        for line in &lines {
            assert!(line.contains("WARN") && line.contains("in line 2"), "{line}");
            assert!(line.contains("templates.default") && !line.contains("Build"), "{line}");
        }
        return;
    }
    let (mut world, telegram, _slack) = world().await;
    world.set(
        "templates.default",
        "{{ title }}\n{% if 'boom' in title %}{{ title[500] }}{% endif %}",
    );
    let task = world.cards.task("Build boom");
    let row = world.cards.subscribe(&task, "telegram", "-1001");
    let running = world.start();
    for kind in ["blocked", "blocked", "crashed"] {
        world.cards.sql(&format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at)
             VALUES ('{task}', '{kind}', '{{}}', {})",
            now()
        ));
    }
    world.settled(&row, world.cards.open().sequence().unwrap()).await;
    running.stop().await.unwrap();
    let seen = telegram.seen();
    let told: Vec<&str> = seen.iter().filter_map(|message| message.text.lines().next()).collect();
    let blocked = "Build boom is blocked.";
    assert_eq!(told[..2], [blocked; 2], "{told:?}");
    assert!(told[2].starts_with("Build boom lost its worker"), "{told:?}");
}
