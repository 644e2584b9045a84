//! Files of completed tasks through the whole stack: real files, real board, a strict platform.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use gateway_adapters::receiver::push::{PushAct, PushAnswer, PushMessage, PushServer, telegram};
use gateway_bin::Options;
use kanban_store::board::RowKey;

use crate::support::{wait::soon, world::World};

const TOKEN: &str = "123456:FAKE-token_for_tests";

struct Scene {
    platform: PushServer,
    world: World,
}

impl Scene {
    async fn new() -> Self {
        let platform = PushServer::start(telegram(TOKEN)).await.unwrap();
        let mut world = World::new().await;
        world.set("telegram.token", TOKEN);
        world.set("telegram.url", &platform.url());
        Self { platform, world }
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.world.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn asked(&self) -> (String, RowKey) {
        let task = self.world.cards.task("Build the report");
        let row = self.world.cards.subscribe(&task, "telegram", "42");
        (task, row)
    }

    /// What people see of a task that is completed with these files.
    async fn told(&self, summary: &str, artifacts: &[String]) -> Vec<PushMessage> {
        let (task, row) = self.asked();
        let before = self.platform.seen().len();
        let running = self.world.start();
        let event = self.world.cards.complete_with(&task, summary, artifacts);
        self.world.settled(&row, event).await;
        running.stop().await.unwrap();
        self.platform.seen().split_off(before)
    }
}

fn names(seen: &[PushMessage]) -> Vec<&str> {
    seen.iter().flat_map(|one| &one.files).map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn report_43_the_file_that_is_there_goes_and_the_other_is_named() {
    let scene = Scene::new().await;
    let there = scene.write("out/report.pdf", "14 pages");
    let gone = scene.world.folder().join("out/gone.pdf").to_str().unwrap().to_owned();
    let seen = scene.told("14 pages", &[gone.clone(), there, gone]).await;
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].text.contains("\nAttached: report.pdf\nNot attached: gone.pdf (not there)"));
    assert!(!seen[0].text.contains("out/"), "{:?}", seen[0].text);
    assert_eq!(seen[1].files, [("report.pdf".to_owned(), "14 pages".into())]);
    assert_eq!(seen[1].chat, "42");
}

#[tokio::test]
async fn report_44_nothing_internal_leaves_by_prose_or_by_a_link() {
    let mut scene = Scene::new().await;
    let hermes = scene.world.hermes().to_str().unwrap().to_owned();
    let state = scene.write("hermes/state.json", "{\"token\": 1}");
    let out = scene.write("out.pdf", "made");
    let prose = format!("see {state} and {out}, {hermes}/kanban.db");
    let seen = scene.told(&prose, &[]).await;
    assert!(seen.len() == 1 && names(&seen).is_empty(), "{seen:?}");
    assert!(!seen[0].text.contains("ttached"), "{:?}", seen[0].text);

    let link = scene.world.folder().join("passwd.pdf");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    let board = scene.world.folder().join("board.pdf");
    fs::hard_link(scene.world.cards.path(), &board).unwrap();
    let ledger = scene.world.ledger().to_str().unwrap().to_owned();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let listed = [text(&link), text(&board), ledger, state];
    let seen = scene.told("done", &listed).await;
    assert!(seen.len() == 1 && names(&seen).is_empty(), "{seen:?}");
    let refused = "Not attached: passwd.pdf (not allowed), board.pdf (not allowed), ledger.db (not allowed), state.json (not allowed)";
    assert!(seen[0].text.contains(refused), "{:?}", seen[0].text);

    // Looked for on purpose: what was made goes, what is internal does not and is no broken promise.
    scene.world.set("artifacts", "listed+found");
    let seen = scene.told(&prose, &[]).await;
    assert_eq!(names(&seen), ["out.pdf"]);
    assert!(!seen[0].text.contains("Not attached"), "{:?}", seen[0].text);

    scene.world.set("artifacts", "off");
    let seen = scene.told(&prose, std::slice::from_ref(&out)).await;
    assert!(seen.len() == 1 && !seen[0].text.contains("ttached"), "{seen:?}");
}

/// What workers hand over lies in Hermes' own folders, and those that are allowed may lie anywhere.
#[tokio::test]
async fn report_44_hermes_caches_and_allowed_folders_are_open_and_strictly_nothing_else() {
    let mut scene = Scene::new().await;
    let files = [
        scene.write("hermes/kanban/attachments/t_1/a.txt", "a"),
        scene.write("hermes/cache/documents/b.txt", "b"),
        scene.write("hermes/notes/c.txt", "c"),
        scene.write("hermes/notes/.env", "SECRET=FAKE"),
        scene.write("out/d.txt", "d"),
    ];
    let seen = scene.told("done", &files).await;
    assert_eq!(names(&seen), ["a.txt", "b.txt", "d.txt"]);
    let notes = scene.world.folder().join("hermes/notes").to_str().unwrap().to_owned();
    scene.world.set("artifact_roots", &notes);
    let seen = scene.told("done", &files).await;
    assert_eq!(names(&seen), ["a.txt", "b.txt", "c.txt", "d.txt"]);
    scene.world.set("artifact_strict", "true");
    let seen = scene.told("done", &files).await;
    assert_eq!(names(&seen), ["b.txt", "c.txt"]);
    assert!(seen[0].text.contains("a.txt (not allowed), .env (not allowed), d.txt (not allowed)"));
}

#[tokio::test]
async fn limits_of_number_and_size_are_told() {
    let mut scene = Scene::new().await;
    scene.world.set("artifact_files", "2");
    scene.world.set("artifact_bytes", "10");
    let files: Vec<String> = [("a.txt", 1), ("b.txt", 11), ("c.txt", 10), ("d.txt", 1)]
        .map(|(name, size)| scene.write(name, &"x".repeat(size)))
        .into();
    let seen = scene.told("done", &files).await;
    assert_eq!(names(&seen), ["a.txt", "c.txt"]);
    let told = "Not attached: b.txt (too large), d.txt (too many files)";
    assert!(seen[0].text.contains(told), "{:?}", seen[0].text);
}

#[tokio::test]
async fn a_platform_that_takes_no_files_names_them() {
    let mut scene = Scene::new().await;
    scene.world.set("console.enabled", "true");
    let file = scene.write("a.txt", "x");
    let task = scene.world.cards.task("Build the report");
    let row = scene.world.cards.subscribe(&task, "console", "me");
    let printed = Arc::new(Mutex::new(Vec::new()));
    let options = Options { console: Some(printed.clone()), ..Options::default() };
    let running = scene.world.gateway(options).start();
    let event = scene.world.cards.complete_with(&task, "done", &[file]);
    scene.world.settled(&row, event).await;
    running.stop().await.unwrap();
    let printed = String::from_utf8(printed.lock().unwrap().clone()).unwrap();
    assert!(printed.contains("\\nFiles, not sent here: a.txt\""), "{printed}");
}

/// D5: the text is not sent again because its file waits, and neither because the file is sent again.
#[tokio::test]
async fn d5_report_74_a_file_that_has_to_wait_repeats_no_text_also_after_a_restart() {
    let scene = Scene::new().await;
    let files = [scene.write("a.txt", "first"), scene.write("b.txt", "second")];
    let limited = PushAnswer::new(429, "").with("retry-after", "1");
    scene.platform.play([PushAct::Honest, PushAct::Honest, PushAct::Answer(limited)]);
    let (task, row) = scene.asked();
    let running = scene.world.start();
    let event = scene.world.cards.complete_with(&task, "done", &files);
    for _ in 0..3 {
        soon("a request", scene.platform.next()).await.unwrap();
    }
    scene.world.legs("retrying", 1).await;
    running.stop().await.unwrap();
    // The bytes are read when they are sent: this one is another file by now.
    fs::write(&files[1], "changed meanwhile").unwrap();
    let running = scene.world.start();
    scene.world.settled(&row, event).await;
    running.stop().await.unwrap();
    let seen = scene.platform.seen();
    assert_eq!(names(&seen), ["a.txt"]);
    let texts: Vec<&str> = seen.iter().map(|one| one.text.as_str()).collect();
    assert!(texts[0].contains("Attached: a.txt, b.txt"), "{texts:?}");
    assert_eq!(texts[1..], ["", "Not attached after all: b.txt (gone or changed since)"]);
}
