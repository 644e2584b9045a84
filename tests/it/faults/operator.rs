//! Faults that were reported of programs of this kind, as the one who runs it meets them; the number is the
//! report's.

use std::{collections::BTreeSet, os::unix::fs::MetadataExt as _, path::Path};

use gateway_adapters::receiver::{RawAct, RawServer, ReceiverConfig};
use gateway_bin::{
    Options, Running,
    ops::{
        dead::{self, Selection},
        status::{self, Health},
    },
};
use kanban_store::board::RowKey;

use crate::support::{
    cards::now,
    push::{Does, Push},
    wait::eventually,
    world::World,
};

fn start(world: &World, push: &Push, name: &str) -> Running {
    let options = Options { channels: vec![push.channel(name)], ..Options::default() };
    world.gateway(options).start()
}

/// Writes an event of any kind; answers its id.
fn event(world: &World, task: &str, kind: &str) -> i64 {
    let values = format!("('{task}', '{kind}', {})", now());
    world
        .cards
        .sql(&format!("INSERT INTO task_events (task_id, kind, created_at) VALUES {values}"));
    world.cards.open().sequence().unwrap()
}

#[tokio::test]
async fn d1_report_2_a_refusal_that_looks_like_success_is_none_and_the_gaps_grow() {
    let world = World::new().await;
    let push = Push::start().await;
    push.play("C1", [Does::Refuse, Does::Refuse]);
    let task = world.cards.task("Build the report");
    let row = world.cards.subscribe(&task, "slack", "C1");
    let running = start(&world, &push, "slack");
    let event = world.cards.complete(&task, "done once");
    for number in 1..=3 {
        assert!(world.cards.cursor(&row) < event, "before try {number}");
        push.next().await;
    }
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!((push.shown("C1").len(), push.tries("C1")), (1, 3));
    let [leg] = world.operator().latest("default", 9).unwrap().try_into().unwrap();
    let tried = world.operator().dead_show(leg.id).unwrap().unwrap();
    let sent: Vec<i64> = tried.attempts.iter().map(|attempt| attempt.sent_at).collect();
    let (first, second) = (sent[1] - sent[0], leg.last_attempt_at.unwrap() - sent[1]);
    // A quarter of spread on each side of 100 and 200 ms.
    assert!(first >= 75_000 && second >= 150_000, "{first} {second}");
}

#[tokio::test]
async fn s1_report_19_a_row_for_nobody_is_a_dead_letter_and_stays_listed() {
    let world = World::new().await;
    let push = Push::start().await;
    let task = world.cards.task("Build the report");
    world.cards.sql(&format!(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at)
         VALUES ('{task}', 'feishu', '', {})",
        now()
    ));
    let row = RowKey {
        task: task.clone(),
        platform: "feishu".to_owned(),
        chat: String::new(),
        thread: String::new(),
    };
    let running = start(&world, &push, "feishu");
    let event = world.cards.complete(&task, "done once");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    assert_eq!(push.tries(""), 0);
    let [dead] = dead::list(&world.context(), false).unwrap().try_into().unwrap();
    assert_eq!((dead.event, dead.state.as_str(), &dead.task), (event, "parked", &task));
    assert!(dead.reason.contains("chat id is empty"), "{}", dead.reason);
    assert!(world.cards.row(&row).is_some(), "nothing but its task's end ends a subscription");
}

#[tokio::test]
async fn d11_report_51_a_dead_letter_outlives_its_row_and_its_card() {
    let script = "400:2,200".parse().unwrap();
    let world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let first = event(&world, &task, "blocked");
    world.settled(&row, first).await;
    let second = event(&world, &task, "crashed");
    world.settled(&row, second).await;
    // The board forgets the row and the card; the letter has what it needs.
    world.cards.unsubscribe(&row);
    world.cards.sql(&format!("DELETE FROM task_events; DELETE FROM tasks WHERE id = '{task}'"));
    let parked = dead::list(&world.context(), false).unwrap();
    let told: Vec<(i64, &str, &str, &str)> = parked
        .iter()
        .map(|leg| (leg.event, &*leg.event_kind, &*leg.title, &*leg.verdict))
        .collect();
    let title = "Build the report";
    let expected = [(first, "blocked", title, "payload"), (second, "crashed", title, "payload")];
    assert_eq!(told, expected);
    let times = parked.iter().map(|leg| leg.first_attempt_at <= leg.last_attempt_at);
    assert!(
        times.clone().all(|sane| sane) && parked.iter().all(|leg| leg.last_attempt_at.is_some())
    );
    assert!(parked.iter().all(|leg| !leg.reason.is_empty()), "{parked:?}");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn d11_report_51_a_retry_sends_what_was_parked_in_its_order() {
    let script = "400:2,200".parse().unwrap();
    let world = World::with(ReceiverConfig { script, ..ReceiverConfig::default() }).await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    for kind in ["blocked", "crashed"] {
        let event = event(&world, &task, kind);
        world.settled(&row, event).await;
    }
    world.legs("parked", 2).await;
    let done = dead::retry(&world.context(), &[]).unwrap();
    assert!(done.len() == 2 && done.iter().all(|decision| decision.done), "{done:?}");
    world.legs("delivered", 2).await;
    running.stop().await.unwrap();
    let told: String = world.receiver.wakes().iter().skip(2).map(|wake| wake.text()).collect();
    let at = ["is blocked", "lost its worker"].map(|words| told.find(words).unwrap());
    assert!(at.is_sorted(), "{told}");
    assert!(dead::list(&world.context(), true).unwrap().is_empty());
}

#[tokio::test]
async fn report_22_kinds_of_a_later_hermes_are_counted_and_shown_and_harm_nobody() {
    let world = World::new().await;
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    for kind in ["handed_over", "block_loop_detected", "heartbeat", "handed_over", "x'); DROP"] {
        event(&world, &task, &kind.replace('\'', "''"));
    }
    let last = world.cards.complete(&task, "done once");
    world.settled(&row, last).await;
    let status = status::status(&world.context());
    running.stop().await.unwrap();
    let unknown: Vec<(&str, &str, i64)> = status
        .unknown_kinds
        .iter()
        .map(|kind| (kind.board.as_str(), kind.kind.as_str(), kind.events))
        .collect();
    assert_eq!(unknown, [("default", "handed_over", 2), ("default", "x'); DROP", 1)]);
    assert_eq!(status.unknown_kinds[0].newest_event, last - 2);
    assert_eq!((status.health, &status.reasons), (Health::Healthy, &Vec::new()));
    let told: String = world.receiver.wakes().iter().map(|wake| wake.text()).collect();
    assert!(told.contains("blocked again") && told.contains("was completed"), "{told}");
}

/// The first shape of the file: whose a row is, and what it wants, has no column.
const OLDEST: &str = "
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT, assignee TEXT,
  status TEXT NOT NULL, created_at INTEGER NOT NULL, result TEXT);
CREATE TABLE task_events (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL,
  kind TEXT NOT NULL, payload TEXT, created_at INTEGER NOT NULL);
CREATE TABLE kanban_notify_subs (task_id TEXT NOT NULL, platform TEXT NOT NULL,
  chat_id TEXT NOT NULL, thread_id TEXT NOT NULL DEFAULT '', user_id TEXT,
  created_at INTEGER NOT NULL, last_event_id INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (task_id, platform, chat_id, thread_id));
PRAGMA journal_mode = WAL;";

#[tokio::test]
async fn b1_report_34_rows_without_a_mode_wake_sessions_and_ping_chats() {
    let make = |path: &Path| {
        let mut made = diesel::Connection::establish(path.to_str().unwrap())
            .map(|connection: diesel::SqliteConnection| connection)
            .unwrap();
        diesel::connection::SimpleConnection::batch_execute(&mut made, OLDEST).unwrap();
    };
    let world = World::on(ReceiverConfig::default(), make).await;
    let push = Push::start().await;
    let now = now();
    world.cards.sql(&format!(
        "INSERT INTO tasks (id, title, status, created_at) VALUES ('t_1', 'Build it', 'running', {now});
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at)
         VALUES ('t_1', 'api_server', 'sess-a', {now}), ('t_1', 'telegram', '1000', {now})"
    ));
    let before = world.cards.schema();
    let running = start(&world, &push, "telegram");
    let event = event(&world, "t_1", "completed");
    for (platform, chat) in [("api_server", "sess-a"), ("telegram", "1000")] {
        let (platform, chat) = (platform.to_owned(), chat.to_owned());
        let row = RowKey { task: "t_1".to_owned(), platform, chat, thread: String::new() };
        world.settled(&row, event).await;
    }
    running.stop().await.unwrap();
    assert_eq!(world.cards.schema(), before);
    assert_eq!((world.receiver.sessions(), push.shown("1000").len()), (vec!["sess-a".into()], 1));
    assert!(push.shown("sess-a").is_empty() && world.receiver.wakes().len() == 1);
}

#[tokio::test]
async fn d8_report_69_a_long_wait_that_was_asked_for_is_kept_across_a_restart() {
    let behind = World::new().await;
    let asked = RawAct::respond("429 Too Many Requests", "retry-after: 1000\r\n", "{}");
    let posts = vec![vec![RawAct::ReadRequest, asked]];
    let server = RawServer::in_front_of(behind.receiver.addr(), posts, vec![]).await.unwrap();
    let mut world = World::new().await;
    world.server("default", &server.url(), "any-key");
    let healthy = Push::start().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    let running = world.start();
    let began = kanban_store::ledger::now();
    world.cards.complete(&task, "done once");
    world.legs("retrying", 1).await;
    running.stop().await.unwrap();

    // It is started again, has read everything and told others, and leaves that one alone.
    let other = world.cards.task("Build another");
    let row = world.cards.subscribe(&other, "telegram", "C1");
    let running = start(&world, &healthy, "telegram");
    let event = world.cards.complete(&other, "done too");
    world.settled(&row, event).await;
    running.stop().await.unwrap();
    let posts = server.requests().iter().filter(|request| request.starts_with("POST")).count();
    assert_eq!((posts, healthy.shown("C1").len()), (1, 1));
    let [waiting] = world.operator().waiting_list().unwrap().try_into().unwrap();
    assert!(waiting.due_at - began >= 1_000_000_000, "{} {began}", waiting.due_at);
}

/// The locks of this process on a board's files, as the kernel lists them.
fn locks(board: &Path) -> BTreeSet<String> {
    let me = format!(" {} ", std::process::id());
    let inodes: Vec<String> = ["", "-wal", "-shm"]
        .iter()
        .filter_map(|part| std::fs::metadata(format!("{}{part}", board.display())).ok())
        .map(|file| format!(":{} ", file.ino()))
        .collect();
    let all = std::fs::read_to_string("/proc/locks").unwrap();
    let ours = all.lines().filter(|line| {
        line.contains(&me) && inodes.iter().any(|inode| line.contains(inode.as_str()))
    });
    ours.filter_map(|line| line.split_once(": ").map(|(_, lock)| lock.to_owned())).collect()
}

/// Closing any other descriptor of the file would drop them, and SQLite would not know.
#[tokio::test]
async fn b3_report_59_the_locks_on_a_board_are_there_as_long_as_it_is_served() {
    let world = World::new().await;
    let path = world.cards.path().to_owned();
    let running = world.start();
    let tell = async |number: usize| {
        let (task, row) = world.cards.asked("Build the report", &format!("sess-{number}"));
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
    };
    tell(0).await;
    // Those that a pass takes come and go.
    let mut held = locks(&path);
    eventually("the locks of an idle board", || {
        let again = locks(&path);
        let same = again == held && !again.is_empty();
        held = again;
        same.then_some(())
    })
    .await;
    for number in 1..=50 {
        tell(number).await;
        status::status(&world.context());
    }
    eventually("the same locks as before", || held.is_subset(&locks(&path)).then_some(())).await;
    // What this test is about: it would see the loss.
    drop(std::fs::File::open(&path).unwrap());
    assert!(!held.is_subset(&locks(&path)), "{held:?}");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn f4_report_88_what_is_too_old_is_listed_and_not_told_and_the_rest_is() {
    let mut world = World::new().await;
    world.set("max_age", "6h");
    world.set("expire_without_asking", "1000");
    let (task, row) = world.cards.asked("Build the report", "sess-abc");
    let at = now();
    world.cards.sql(&format!("UPDATE kanban_notify_subs SET created_at = {}", at - 90_000));
    let rows: Vec<String> = (0..110)
        .map(|number| {
            let age = if number < 100 { 54_000 } else { 60 };
            format!("('{task}', 'blocked', {})", at - age)
        })
        .collect();
    let rows = rows.join(", ");
    world.cards.sql(&format!("INSERT INTO task_events (task_id, kind, created_at) VALUES {rows}"));
    let newest = world.cards.open().sequence().unwrap();
    let running = world.start();
    world.settled(&row, newest).await;
    world.legs("expired", 100).await;
    running.stop().await.unwrap();
    assert_eq!(dead::list(&world.context(), false).unwrap().len(), 100);
    let told: String = world.receiver.wakes().iter().map(|wake| wake.text()).collect();
    assert_eq!(told.matches("is blocked").count(), 10);
    assert!(world.receiver.wakes().len() <= 2, "a session hears of them in one turn or two");
    let replayable = Selection { task: Some(task), ..Selection::default() };
    let (found, _) = dead::replay(&world.context(), &replayable, true).unwrap();
    assert_eq!(found.iter().filter(|leg| leg.state == "expired").count(), 100);
}
