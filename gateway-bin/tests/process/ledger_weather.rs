//! What becomes of the ledger's file while the program uses it, and before it starts (law D10).

use std::{fs, path::Path};

use diesel::connection::SimpleConnection as _;
use gateway_adapters::receiver::{RawAct, RawServer};
use kanban_store::{board::RowKey, ledger::beside};

use crate::{
    process::{Process, printed},
    small_disk::SmallDisk,
    support::{cards::connect, tally::assert_each_told_once, wait::eventually, world::World},
};

/// A task that was completed, and who asked for it.
fn done(world: &World, session: &str) -> (RowKey, i64) {
    let (task, row) = world.cards.asked("Build the report", session);
    let event = world.cards.complete(&task, "done once");
    (row, event)
}

async fn all_told_once(world: &World, asked: &[(RowKey, i64)]) {
    for (row, event) in asked {
        world.settled(row, *event).await;
    }
    let expected: Vec<_> =
        asked.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
}

async fn stopped(mut process: Process) {
    process.terminate();
    assert!(process.ended().await.success(), "{}", process.log());
}

/// The ledger without what is only in its log.
fn copy(world: &World, to: &Path) {
    connect(&world.ledger()).batch_execute(&format!("VACUUM INTO '{}'", to.display())).unwrap();
}

/// The ledger's own files without those of who it is.
fn remove(ledger: &Path) {
    for path in [ledger.to_owned(), beside(ledger, "-wal"), beside(ledger, "-shm")] {
        drop(fs::remove_file(path));
    }
}

/// What somebody does to the ledger of a gateway that runs.
#[derive(Clone, Copy, Debug)]
enum Moment {
    File,
    Log,
    Folder,
    Moved,
    Older,
}

const MOMENTS: [Moment; 5] =
    [Moment::File, Moment::Log, Moment::Folder, Moment::Moved, Moment::Older];

impl Moment {
    fn happens(self, world: &World, older: &Path) {
        let ledger = world.ledger();
        let folder = ledger.parent().unwrap();
        match self {
            Self::File => fs::remove_file(&ledger).unwrap(),
            Self::Log => fs::remove_file(beside(&ledger, "-wal")).unwrap(),
            Self::Folder => fs::remove_dir_all(folder).unwrap(),
            Self::Moved => fs::rename(folder, world.folder().join("elsewhere")).unwrap(),
            Self::Older => {
                remove(&ledger);
                fs::copy(older, &ledger).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_a_ledger_that_is_taken_away_ends_the_run_and_nothing_is_repeated() {
    for moment in MOMENTS {
        let world = World::new().await;
        let mut asked = vec![done(&world, "sess-before")];
        let mut first = Process::run(&world);
        world.settled(&asked[0].0, asked[0].1).await;
        world.next_wake().await;
        let older = world.folder().join("older.db");
        copy(&world, &older);
        world.receiver.hold();
        asked.push(done(&world, "sess-in-flight"));
        world.next_wake().await;
        moment.happens(&world, &older);
        asked.push(done(&world, "sess-after"));
        first.says("was removed, moved or replaced while it was in use").await;
        world.receiver.release_all();
        assert_eq!(first.ended().await.code(), Some(1), "{moment:?}: {}", first.log());
        let log = first.log();
        assert!(log.lines().last().unwrap().contains("start again"), "{moment:?}: {log}");
        assert_eq!(world.receiver.wakes().len(), 2, "{moment:?}: nothing was begun");
        let (row, event) = &asked[1];
        assert!(
            world.cards.cursor(row) >= *event,
            "{moment:?}: what was in flight is settled: {log}"
        );

        let second = Process::run(&world);
        all_told_once(&world, &asked).await;
        stopped(second).await;
        assert_eq!(world.receiver.wakes().len(), 3, "{moment:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_a_full_disk_under_the_ledger_pauses_delivery_until_there_is_room() {
    let world = World::new().await;
    let Some(disk) = SmallDisk::over(world.ledger().parent().unwrap(), 8) else { return };
    let mut asked = vec![done(&world, "sess-before")];
    let mut first = Process::run(&world);
    world.settled(&asked[0].0, asked[0].1).await;
    world.receiver.hold();
    asked.push(done(&world, "sess-in-flight"));
    world.receiver.until_running(1).await;
    let filler = disk.fill();
    for number in 0..10 {
        asked.push(done(&world, &format!("sess-{number}")));
    }
    first.says("there is no room on the disk of the ledger").await;
    world.receiver.release_all();
    // The outcome of what was in flight cannot be written either.
    first.says("recording outcomes").await;
    assert_eq!(world.receiver.wakes().len(), 2, "nothing is sent without an intent");
    fs::remove_file(&filler).unwrap();
    all_told_once(&world, &asked).await;

    // The same with a crash before there is room, and a start before there is.
    world.receiver.hold();
    asked.push(done(&world, "sess-crash"));
    world.receiver.until_running(1).await;
    let filler = disk.fill();
    asked.push(done(&world, "sess-late"));
    first.kill().await;
    world.receiver.release_all();
    let said = printed(&world, &["once"], 1).await;
    assert!(said.contains("there is no room on the disk of the ledger"), "{said}");
    fs::remove_file(&filler).unwrap();
    let second = Process::run(&world);
    all_told_once(&world, &asked).await;
    stopped(second).await;
    assert_eq!(world.receiver.wakes().len(), asked.len(), "nothing was sent twice");
}

/// Overwrites the middle of a file, and leaves its first page and its last.
fn spoil(path: &Path) {
    use std::os::unix::fs::FileExt as _;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    assert!(pages > 10, "{pages} pages");
    for page in 1..pages - 1 {
        file.write_all_at(&[7; 4096], page * 4096).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_a_damaged_ledger_is_refused_and_left_as_it_is() {
    let world = World::new().await;
    let mut asked = vec![done(&world, "sess-before")];
    printed(&world, &["once"], 0).await;
    connect(&world.ledger()).batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    spoil(&world.ledger());
    let before = fs::read(world.ledger()).unwrap();
    asked.push(done(&world, "sess-after"));
    let remedy = format!("the ledger {} is damaged; move it", world.ledger().display());
    for command in ["run", "once"] {
        let said = printed(&world, &[command], 1).await;
        assert!(said.contains(&remedy), "{command}: {said}");
    }
    assert!(fs::read(world.ledger()).unwrap() == before, "it was written to");
    assert_eq!(world.receiver.wakes().len(), 1);

    // As the message says.
    fs::rename(world.ledger().parent().unwrap(), world.folder().join("damaged")).unwrap();
    let run = Process::run(&world);
    all_told_once(&world, &asked).await;
    stopped(run).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_a_ledger_that_is_damaged_while_we_run_ends_the_run_and_repeats_nothing() {
    let world = World::new().await;
    let mut asked = vec![done(&world, "sess-before")];
    let mut first = Process::run(&world);
    world.settled(&asked[0].0, asked[0].1).await;
    // What is in the log only hides what is in the file.
    connect(&world.ledger()).batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    spoil(&world.ledger());
    // A commit of somebody else empties the gateway's cache.
    drop(connect(&world.ledger()).batch_execute("CREATE TABLE noise (x); DROP TABLE noise"));
    asked.push(done(&world, "sess-after"));
    first.says("is damaged; move it").await;
    assert_eq!(first.ended().await.code(), Some(1), "{}", first.log());
    assert_eq!(world.receiver.wakes().len(), 1);

    fs::rename(world.ledger().parent().unwrap(), world.folder().join("damaged")).unwrap();
    let run = Process::run(&world);
    all_told_once(&world, &asked).await;
    stopped(run).await;
}

#[tokio::test]
async fn d10_a_ledger_of_a_newer_version_is_refused_and_left_as_it_is() {
    let world = World::new().await;
    world.cards.asked("Build the report", "sess-abc");
    printed(&world, &["once"], 0).await;
    connect(&world.ledger())
        .batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')")
        .unwrap();
    let before = fs::read(world.ledger()).unwrap();
    for arguments in [&["run"][..], &["once"], &["dead", "list"], &["ledger", "migrate"]] {
        let said = printed(&world, arguments, 1).await;
        assert!(said.contains("a newer version of this program has migrated it"), "{said}");
        assert!(
            said.contains("start that version, or give this one a ledger of its own"),
            "{said}"
        );
    }
    assert!(fs::read(world.ledger()).unwrap() == before, "it was written to");
}

/// A gateway stops with everything told, and an older copy takes the ledger's place. The copy knows of
/// one request in flight and of others that wait; two of their rows have ended since.
async fn restored() -> (World, Vec<(RowKey, i64)>) {
    let mut world = World::new().await;
    world.set("concurrency.per_channel", "1");
    let mut asked = vec![done(&world, "sess-told")];
    let first = Process::run(&world);
    world.settled(&asked[0].0, asked[0].1).await;
    world.receiver.hold();
    for session in ["sess-1", "sess-2", "sess-3", "sess-4"] {
        asked.push(done(&world, session));
    }
    let task = world.cards.task("Build the next report");
    let row = world.cards.subscribe_as(&task, "api_server", "sess-5", Some("kanban-gateway"));
    asked.push((row, world.cards.complete(&task, "done once")));
    world.receiver.until_running(1).await;
    world.legs("planned", 4).await;
    let older = world.folder().join("older.db");
    copy(&world, &older);
    world.receiver.release_all();
    for (row, event) in &asked {
        world.settled(row, *event).await;
    }
    // One row ends with its task, one by hand.
    let archived = &asked[2].0;
    world.cards.sql(&format!(
        "BEGIN; UPDATE tasks SET status = 'archived' WHERE id = '{0}';
         INSERT INTO task_events (task_id, kind, created_at)
         VALUES ('{0}', 'archived', unixepoch()); COMMIT",
        archived.task
    ));
    eventually("its row is gone", || world.cards.row(archived).is_none().then_some(())).await;
    world.cards.unsubscribe(&asked[3].0);
    asked.push(done(&world, "sess-later"));
    let (row, event) = asked.last().unwrap();
    world.settled(row, *event).await;
    stopped(first).await;
    assert_eq!(world.receiver.wakes().len(), asked.len());
    remove(&world.ledger());
    fs::copy(&older, world.ledger()).unwrap();
    (world, asked)
}

/// Waits until a new event is told, and nothing else is left.
async fn goes_on(world: &World, row: &RowKey, event: i64) {
    world.settled(row, event).await;
    eventually("nothing is open", || {
        world.operator().counts().unwrap().oldest_open.is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_an_older_copy_of_the_ledger_repeats_nothing() {
    let (world, mut asked) = restored().await;
    let mut run = Process::run(&world);
    run.says("the ledger is an older copy").await;
    asked.push(done(&world, "sess-new"));
    let (row, event) = asked.last().unwrap();
    goes_on(&world, row, *event).await;
    stopped(run).await;
    let expected: Vec<_> =
        asked.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
    assert_eq!(world.receiver.wakes().len(), asked.len());
    let legs = world.operator().counts().unwrap().legs;
    // The one in flight is found in its session.
    assert_eq!((legs.get("cancelled"), legs.get("taken")), (Some(&2), Some(&2)), "{legs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_an_older_copy_repeats_nothing_where_no_session_can_be_read_either() {
    let (mut world, _) = restored().await;
    let reply = |status, body| {
        let headers = "content-type: application/json\r\nconnection: close\r\n";
        vec![RawAct::ReadRequest, RawAct::respond(status, headers, body)]
    };
    let answer = r#"{"id": "c", "choices": [{"finish_reason": "stop",
        "message": {"role": "assistant", "content": "Noted."}}]}"#;
    let (posts, looks) = (vec![reply("200 OK", answer)], vec![reply("404 Not Found", "{}")]);
    let server = RawServer::in_front_of(world.receiver.addr(), posts, looks).await.unwrap();
    world.server("default", &server.url(), "any-key");
    let run = Process::run(&world);
    let (row, event) = done(&world, "sess-new");
    goes_on(&world, &row, event).await;
    let log = run.log();
    stopped(run).await;
    let posts: Vec<String> =
        server.requests().into_iter().filter(|request| request.starts_with("POST")).collect();
    assert!(posts.len() == 1 && posts[0].contains("sess-new"), "{posts:#?}\n{log}");
}

/// What is beside the ledger says who this gateway is; another answer changes no delivery.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_another_id_or_none_beside_the_ledger_repeats_nothing() {
    let (world, other) = (World::new().await, World::new().await);
    done(&other, "sess-other");
    printed(&other, &["once"], 0).await;
    let id = beside(&world.ledger(), ".id");
    let mut asked = Vec::new();
    for (round, text) in
        [None, Some(fs::read(beside(&other.ledger(), ".id")).unwrap())].into_iter().enumerate()
    {
        world.receiver.hold();
        asked.push(done(&world, &format!("sess-in-flight-{round}")));
        let run = Process::run(&world);
        world.receiver.until_running(1).await;
        run.kill().await;
        world.receiver.release_all();
        match text {
            None => fs::remove_file(&id).unwrap(),
            Some(text) => fs::write(&id, text).unwrap(),
        }
        asked.push(done(&world, &format!("sess-after-{round}")));
        let run = Process::run(&world);
        all_told_once(&world, &asked).await;
        stopped(run).await;
        assert_eq!(world.receiver.wakes().len(), asked.len(), "what was in flight is found out");
    }

    fs::write(&id, "id = 12").unwrap();
    let said = printed(&world, &["run"], 1).await;
    assert!(said.contains("restore it, or remove it to become another gateway"), "{said}");
    assert_eq!(fs::read_to_string(&id).unwrap(), "id = 12");
}
