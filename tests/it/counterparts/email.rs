//! E-mail to a real server with STARTTLS and a login, through the whole stack.

use std::fs;

use serde_json::{Value, json};

use crate::support::{
    certificates,
    counterpart::{Counterpart, python},
    wait::eventually,
    world::World,
};

const USER: &str = "kanban@example.org";
const PASSWORD: &str = "FAKE application password";

/// A server, and a world in which Hermes' own file has what is needed for it.
async fn stage(password: &str, security: &str) -> Option<(Counterpart, World)> {
    let python = python()?;
    let mut world = World::new().await;
    certificates::write(world.folder(), "localhost");
    let path = |name: &str| world.folder().join(name).to_str().unwrap().to_owned();
    let arguments = [&*path("cert.pem"), &path("key.pem"), USER, PASSWORD, security];
    let script = include_str!("mail_server.py");
    let server = Counterpart::start(&python, script, &arguments, world.folder()).await;
    let dotenv = format!(
        "EMAIL_ADDRESS={USER}\nEMAIL_PASSWORD=\"{password}\"\nEMAIL_SMTP_HOST=localhost\nEMAIL_SMTP_PORT={}\n",
        server.port
    );
    fs::write(world.hermes().join(".env"), dotenv).unwrap();
    let authority = path("ca.pem");
    world.set("email.ca_file", &authority);
    world.set("email.security", security);
    Some((server, world))
}

#[tokio::test]
async fn o5_hermes_own_file_is_enough_and_each_message_is_a_letter_once_and_in_order() {
    let Some((mut server, world)) = stage(PASSWORD, "starttls").await else { return };
    let titles = ["Build the report", "日本語の報告 \u{1f600} =?utf-8?q?x?="];
    let tasks = titles.map(|title| world.cards.task(title));
    let rows = tasks.clone().map(|task| world.cards.subscribe(&task, "email", "ann@example.org"));
    let running = world.start();
    let mut told = Vec::new();
    for ((task, row), title) in tasks.iter().zip(&rows).zip(titles) {
        let event = world.cards.complete(task, "done\n.\nonce");
        let letter = server.next().await;
        assert_eq!(letter["encrypted"], true);
        assert_eq!(letter["defects"], json!([]), "{letter}");
        assert_eq!(letter["rcpt"], json!(["ann@example.org"]));
        assert_eq!(letter["mail_from"], USER);
        assert_eq!(letter["auto-submitted"], "auto-generated");
        let shown = title.replace("=?", "= ?");
        assert_eq!(letter["subject"], format!("[kanban] {shown} was completed."));
        assert!(letter["text"].as_str().unwrap().starts_with(&format!("{title} was completed.")));
        world.settled(row, event).await;
        told.push(letter);
    }
    running.stop().await.unwrap();
    for name in ["message-id", "references"] {
        assert_ne!(told[0][name], told[1][name], "{told:?}");
    }
    assert_eq!(server.rest().await, Vec::<Value>::new());
    let ledger = fs::read(world.ledger()).unwrap();
    assert!(!String::from_utf8_lossy(&ledger).contains("FAKE"));
}

#[tokio::test]
async fn report_110_one_address_is_tried_again_and_another_is_a_dead_letter_at_once() {
    let Some((mut server, world)) = stage(PASSWORD, "starttls").await else { return };
    let task = world.cards.task("Build the report");
    let gone = world.cards.subscribe(&task, "email", "gone@example.org");
    let later = world.cards.subscribe(&task, "email", "later@example.org");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&gone, event).await;
    world.settled(&later, event).await;
    running.stop().await.unwrap();
    world.legs("parked", 1).await;
    world.legs("delivered", 1).await;
    assert_eq!(server.next().await, json!({"refused": "gone@example.org"}));
    assert_eq!(server.next().await["rcpt"], json!(["later@example.org"]));
    assert_eq!(server.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn d8_a_wrong_password_pauses_the_channel_and_says_where_it_is_from() {
    let Some((mut server, world)) = stage("FAKE-wrong", "starttls").await else { return };
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "email", "ann@example.org");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    assert_eq!(server.next().await, json!({"refused": "login"}));
    let paused = eventually("the channel rests", || {
        let pause = world.operator().pauses().unwrap().into_iter().next();
        pause.filter(|pause| pause.credential == 1)
    })
    .await;
    assert!(paused.reason.contains("EMAIL_PASSWORD in "), "{paused:?}");
    assert!(!paused.reason.contains("FAKE"), "{paused:?}");
    let env = world.hermes().join(".env");
    let dotenv = fs::read_to_string(&env).unwrap().replace("FAKE-wrong", PASSWORD);
    fs::write(&env, dotenv).unwrap();
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(server.next().await["rcpt"], json!(["ann@example.org"]));
}

#[tokio::test]
async fn a_certificate_of_a_stranger_is_told_no_password() {
    let Some((server, mut world)) = stage(PASSWORD, "starttls").await else { return };
    let other = world.folder().join("other");
    fs::create_dir(&other).unwrap();
    certificates::write(&other, "localhost");
    world.set("email.ca_file", other.join("ca.pem").to_str().unwrap());
    let task = world.cards.task("Build the report");
    world.cards.subscribe(&task, "email", "ann@example.org");
    let running = world.start();
    world.cards.complete(&task, "done once");
    let paused =
        eventually("the channel rests", || world.operator().pauses().unwrap().into_iter().next())
            .await;
    assert!(paused.reason.contains("certificate"), "{paused:?}");
    running.stop().await.unwrap();
    assert_eq!(server.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn tls_from_the_first_byte_works_too() {
    let Some((mut server, world)) = stage(PASSWORD, "tls").await else { return };
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "email", "ann@example.org");
    let running = world.start();
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(server.next().await["encrypted"], true);
    assert_eq!(server.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn report_43_files_arrive_as_a_mail_program_reads_them() {
    let Some((mut server, world)) = stage(PASSWORD, "starttls").await else { return };
    let write = |name: &str, content: &[u8]| {
        let path = world.folder().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files = [
        write("日本語の報告と長い名前 \u{1f600}.pdf", b"one\n\r\n.\r\n\x00\xff"),
        write("table.csv", b"a,b\n"),
        world.folder().join("gone.txt").to_str().unwrap().to_owned(),
    ];
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "email", "ann@example.org");
    let running = world.start();
    let event = world.cards.complete_with(&task, "done", &files);
    let letter = server.next().await;
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(letter["defects"], json!([]), "{letter}");
    assert!(letter["text"].as_str().unwrap().contains("Not attached: gone.txt (not there)"));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = json!([
        ["日本語の報告と長い名前 \u{1f600}.pdf", "application/pdf", hex(b"one\n\r\n.\r\n\x00\xff")],
        ["table.csv", "text/csv", hex(b"a,b\n")],
    ]);
    assert_eq!(letter["files"], expected);
}
