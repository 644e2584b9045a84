//! Beside a Hermes that writes: nothing of it is disturbed, and nothing of it is lost (laws B3, F2).

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::task::JoinHandle;

use super::*;
use crate::support::hermes::{Answer, Load, Rule, Summary, answered, eventually};

/// Sessions that the tasks of the load are asked for in; each is woken for many of them at once.
const SESSIONS: usize = 10;

/// Watches that the write-ahead log of a board is one and the same file all the time.
struct LogWatch {
    stop: Arc<AtomicBool>,
    looks: JoinHandle<usize>,
}

impl LogWatch {
    fn begin(board: &Path) -> Self {
        let log = log_of(board);
        let first = inode(&log).expect("a write-ahead log");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let looks = tokio::spawn(async move {
            let mut looks = 0;
            while !stopped.load(Ordering::Relaxed) {
                assert_eq!(inode(&log), Some(first), "the log was unlinked");
                looks += 1;
                // sleep: a file that is unlinked tells nobody.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            looks
        });
        Self { stop, looks }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        assert!(self.looks.await.expect("the log stayed") > 100, "it was hardly looked at");
    }
}

fn log_of(board: &Path) -> PathBuf {
    board.with_extension("db-wal")
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|meta| meta.ino())
}

/// What Hermes' functions raised, with false alarms apart.
///
/// Hermes 0.19 compares the file's length with the page count in its header after each commit, and
/// takes a checkpoint that a reader held up for damage, although the commit stands. It does so beside
/// its own processes too.
fn errors(summary: &Summary) -> (usize, Vec<&String>) {
    let (alarms, others): (Vec<_>, Vec<_>) =
        summary.errors.iter().partition(|error| error.contains("torn-extend"));
    (alarms.len(), others)
}

#[tokio::test(flavor = "multi_thread")]
async fn b3_two_thousand_writes_of_a_live_hermes_while_we_deliver() {
    let make = |home: HomeBuilder| {
        home.dispatch_interval_seconds(1).kanban_setting("failure_limit: 1").model_attempts(2)
    };
    let Some((stub, home)) = stage(make).await else { return };
    let gateway = home.gateway().start().await;
    gateway.dispatching().await;

    // The same writes without us, on a board of their own: they may damage it. Two Hermes processes
    // take the log away from each other, now and then for good.
    let control = home.create_board("control").await;
    let mut writer = Writer::start(&control).await;
    let alone = writer.load(Load::default()).await;
    writer.stop().await;
    home.hermes(&["kanban", "boards", "rm", "control"]).await;

    let board = home.board();
    let mut ours = Ours::new(&home);
    ours.start().await;
    ours.logged("board open").await;
    let mut writer = Writer::start(&board).await;
    let watch = LogWatch::begin(&board.path());
    let load = Load { subscribe: Some("load"), sessions: SESSIONS, lag: 40, ..Load::default() };
    let beside = writer.load(load).await;
    watch.end().await;
    let ((alone_alarms, alone_others), (alarms, others)) = (errors(&alone), errors(&beside));
    println!(
        "alone: {} ms, {alone_alarms} false alarms, {} other errors; beside us: {} ms, {alarms} false alarms",
        alone.elapsed_ms,
        alone_others.len(),
        beside.elapsed_ms
    );
    assert_eq!(others, Vec::<&String>::new());
    assert!(alarms <= alone_alarms + 4, "{alarms} false alarms in 2 000 writes");
    assert_eq!(beside.missing, Vec::<String>::new());

    // Hermes still dispatches, and what its worker completes is told like the rest.
    let done = Answer::Tool("kanban_complete".to_owned(), json!({"summary": "by a worker"}));
    stub.rule(Rule::new("work kanban task").answer(done));
    let dispatched = board.create("For a worker", "default").await;
    board.subscribe(&dispatched, "api_server", "load-0").await;

    let owed = writer.query(
        "SELECT DISTINCT s.task_id, s.chat_id FROM kanban_notify_subs s JOIN task_events e \
         ON e.task_id = s.task_id WHERE e.kind = 'completed'",
        Value::Null,
    );
    let mut owed: BTreeSet<(String, String)> =
        owed.await.iter().map(|row| (text(row, "task_id"), text(row, "chat_id"))).collect();
    assert!(owed.len() > 400, "{}", owed.len());
    owed.insert((dispatched, "load-0".to_owned()));
    let count = i64::try_from(owed.len()).expect("fits");
    let more = ours.settled(count, SOON * 2).await - count;
    // What a pass of Hermes' notifier had in hand before it was ours, and has taken and deleted since, is
    // told all the same where we saw its event (law O3).
    let gone = ours.counts().subscriptions.get("gone").copied().unwrap_or(0);
    assert!(more <= gone, "{more} more than are owed, {gone} rows are gone");

    let client = gateway.client();
    for number in 0..SESSIONS {
        let session = format!("load-{number}");
        let wakes = wakes(&client, &session).await;
        assert_eq!(answered(&wakes, MARK), wakes.len(), "{wakes:?}");
        for (task, _) in owed.iter().filter(|(_, of)| *of == session) {
            let told = wakes.iter().filter(|wake| wake.user.contains(task.as_str())).count();
            assert_eq!(told, 1, "{task} in {session}");
        }
    }
    let unseen = writer.query(
        "SELECT s.task_id FROM kanban_notify_subs s JOIN task_events e ON e.task_id = s.task_id \
         WHERE e.kind = 'completed' AND e.id > s.last_event_id",
        Value::Null,
    );
    assert_eq!(unseen.await, Vec::<Value>::new());
    assert_eq!(writer.integrity_check().await, "ok");
    assert!(ours.stop().await.success());
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b3_our_end_leaves_the_log_to_a_hermes_that_is_still_open() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let board = home.board();
    // After its first commit this process has no lock on the file any more: Hermes opens and closes
    // the file beside SQLite, and that drops them. Whoever closes next believes that he is the last.
    let mut open = Writer::start(&board).await;
    open.create_and_stay_open("first").await;
    let mut ours = Ours::new(&home);
    for killed in [false, true] {
        ours.start().await;
        ours.logged("board open").await;
        open.create_and_stay_open("while we run").await;
        let before = inode(&log_of(&board.path()));
        assert!(before.is_some());
        if killed {
            ours.kill().await;
        } else {
            assert!(ours.stop().await.success());
        }
        assert_eq!(inode(&log_of(&board.path())), before, "our end took the log away");
    }
    let last = open.create_and_stay_open("after our end").await;
    let mut reader = Writer::start(&board).await;
    let seen = reader.query("SELECT title FROM tasks WHERE id = ?", json!([last]));
    assert_eq!(seen.await, [json!({"title": "after our end"})], "written where nobody reads");
    assert_eq!(reader.integrity_check().await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn o4_hermes_gets_its_dispatcher_although_we_were_there_first() {
    let Some((_stub, home)) = stage(|home| home).await else { return };
    let mut ours = Ours::new(&home);
    ours.start().await;
    ours.logged("board open").await;
    let mut gateway = home.gateway().start().await;
    gateway.dispatching().await;
    eventually("our gateway sees who dispatches", SOON, async || {
        let setup = ours.status().setup;
        (setup.starts_with("beside") && setup.contains("dispatcher")).then_some(())
    })
    .await;
    // The same after a restart of Hermes alone.
    gateway.terminate().await;
    gateway.start_again().await;
    gateway.dispatching().await;
}
