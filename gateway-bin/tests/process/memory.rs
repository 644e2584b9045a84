//! However much a board holds, the program stays small, and what is to be told is told.

use std::collections::BTreeSet;

use gateway_adapters::receiver::{
    ReceiverConfig,
    push::{PushServer, telegram},
};
use kanban_store::board::RowKey;
use secrecy::ExposeSecret as _;

use crate::{
    process::Process,
    support::{cards::now, wait::eventually, world::World},
};

/// What the program may have held at the most, in KiB; half of it is what they have in fact.
const MOST_KIB: u64 = 96 * 1_024;

/// The peak of a process's memory, in KiB.
fn peak(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What the program may have held when nobody takes what ten thousand sessions are owed, in KiB. With all of
/// that in memory it is 72 MiB, and 95 after a restart; without, less than 48.
const MOST_OWED_KIB: u64 = 64 * 1_024;

/// Waits as long as a row's cursor moves.
async fn settled(world: &World, row: &RowKey, event: i64) {
    let mut cursor = world.cards.cursor(row);
    while cursor < event {
        cursor = eventually("the cursor moves", || {
            let now = world.cards.cursor(row);
            (now > cursor).then_some(now)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b2_a_board_of_any_size_is_served_in_little_memory() {
    let many = std::env::var_os("KANBAN_GATEWAY_TEST_CASES").is_some();
    let (events, told, payloads) = if many { (200_000, 50, 10_000) } else { (200_000, 400, 1_000) };
    let mut world = World::with(ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() }).await;
    world.set("wake.max_per_hour", "3600");
    let at = now();

    // One task with a life of its own; every so many events somebody is told.
    let (busy, busy_row) = world.cards.asked("Busy", "sess-busy");
    world.cards.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {events})
         INSERT INTO task_events (task_id, kind, payload, created_at) SELECT '{busy}', \
         iif(i % {told} = 0, 'crashed', 'unblocked'), NULL, {at} FROM n"
    ));
    // One text that no message can hold.
    let (huge, huge_row) = world.cards.asked("Huge", "sess-huge");
    world.cards.sql(&format!(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES ('{huge}', 'completed', \
         '{{\"summary\": \"' || printf('%.*c', 100000000, 'x') || '\"}}', {at})"
    ));
    // And many long ones.
    let (long, long_row) = world.cards.asked("Long", "sess-long");
    world.cards.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {payloads})
         INSERT INTO task_events (task_id, kind, payload, created_at) SELECT '{long}', 'blocked', \
         '{{\"reason\": \"reason ' || i || ' ' || printf('%.*c', 100000, 'x') || '\"}}', {at} FROM n"
    ));
    let last = world.cards.open().sequence().unwrap();

    let mut process = Process::run(&world);
    settled(&world, &busy_row, i64::from(events) + 1).await;
    settled(&world, &long_row, last).await;
    // Before it the third task was made.
    settled(&world, &huge_row, last - i64::from(payloads) - 1).await;
    let peak = peak(&process);
    process.terminate();
    assert!(process.ended().await.success(), "{}", process.log());

    let counts = world.operator().counts().unwrap();
    let delivered = i64::from(events / told + payloads + 1);
    assert_eq!(counts.legs.get("delivered"), Some(&delivered), "{counts:?}");
    assert_eq!((counts.legs.len(), counts.raises), (1, 0), "{counts:?}");
    let named: usize =
        world.receiver.wakes().iter().map(|wake| wake.text().matches("\n   Title: ").count()).sum();
    assert_eq!(i64::try_from(named).unwrap(), delivered, "each is named once");
    let huge = world.receiver.wakes().into_iter().find(|wake| wake.session() == Some("sess-huge"));
    let text = huge.unwrap().text().to_owned();
    assert!(text.contains("Only the beginning of its 100000015 bytes was read"), "{text}");
    println!("{events} events of one task, {payloads} payloads of 100 KB: peak {peak} KiB");
    assert!(peak < MOST_KIB, "{peak} KiB");
}

/// Nobody listens, and ever more is owed to ever more sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d4_what_is_owed_waits_in_the_ledger_and_not_in_memory() {
    let sessions = 10_000;
    let mut world = World::new().await;
    // A port on which nobody listens.
    world.server("default", "http://127.0.0.1:9", "receiver-key-0123456789");
    let at = now();
    let series = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})"
    );
    world.cards.sql(&format!(
        "BEGIN;
         {series} INSERT INTO tasks (id, title, assignee, status, created_at)
           SELECT printf('t_%08x', i), 'Build ' || i, 'writer', 'done', {at} FROM n;
         {series} INSERT INTO kanban_notify_subs
           (task_id, platform, chat_id, thread_id, created_at, last_event_id)
           SELECT printf('t_%08x', i), 'api_server', 'sess-' || i, '', {at}, 0 FROM n;
         {series} INSERT INTO task_events (task_id, kind, payload, created_at)
           SELECT printf('t_%08x', i), 'completed', '{{\"summary\": \"Done.\"}}', {at} FROM n;
         COMMIT"
    ));

    let mut first = Process::run(&world);
    let mut owed = 0;
    while owed < i64::from(sessions) {
        let mut operator = world.operator();
        owed = eventually("more is planned", || {
            let legs = operator.counts().unwrap().legs;
            let open = ["planned", "retrying"].map(|state| legs.get(state).copied().unwrap_or(0));
            let now: i64 = open.into_iter().sum();
            (now > owed).then_some(now)
        })
        .await;
    }
    let at_first = peak(&first);
    first.terminate();
    assert!(first.ended().await.success(), "{}", first.log());

    // The next one finds all of it open, and somebody who listens.
    let (url, key) = (world.receiver.url(), world.receiver.key());
    world.server("default", &url, key.expose_secret());
    let mut second = Process::run(&world);
    let mut told = BTreeSet::new();
    while told.len() < 500 {
        let wake = world.next_wake().await;
        let session = wake.session().unwrap().to_owned();
        assert!(told.insert(session), "told twice");
    }
    let then = peak(&second);
    second.terminate();
    assert!(second.ended().await.success(), "{}", second.log());
    println!("{sessions} sessions are owed something: peak {at_first} KiB, then {then} KiB");
    assert!(at_first < MOST_OWED_KIB, "{at_first} KiB");
    assert!(then < MOST_OWED_KIB, "{then} KiB");
}

/// What the program may have held when it sends 100 MB of files at once, in KiB: less than one of them.
const MOST_FILES_KIB: u64 = 48 * 1_024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d5_files_are_read_while_they_leave_and_not_held() {
    let platform = PushServer::start(telegram("1:FAKE")).await.unwrap();
    let mut world = World::new().await;
    world.set("telegram.token", "1:FAKE");
    world.set("telegram.url", &platform.url());
    world.set("artifact_bytes", "49000000");
    let mut rows = Vec::new();
    let mut process = Process::run(&world);
    for chat in ["1", "2"] {
        let path = world.folder().join(format!("{chat}.bin"));
        std::fs::File::create(&path).unwrap().set_len(48_000_000).unwrap();
        let task = world.cards.task("Large");
        let row = world.cards.subscribe(&task, "telegram", chat);
        let path = path.to_str().unwrap().to_owned();
        rows.push((row, world.cards.complete_with(&task, "done", &[path])));
    }
    for (row, event) in &rows {
        settled(&world, row, *event).await;
    }
    let peak = peak(&process);
    process.terminate();
    assert!(process.ended().await.success(), "{}", process.log());
    let sizes: Vec<usize> =
        platform.seen().iter().flat_map(|one| &one.files).map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(sizes, [48_000_000; 2]);
    println!("peak {peak} KiB");
    assert!(peak < MOST_FILES_KIB, "{peak} KiB");
}
