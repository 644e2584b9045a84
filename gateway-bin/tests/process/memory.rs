//! However much a board holds, the program stays small, and what is to be told is told.

use gateway_adapters::receiver::ReceiverConfig;
use kanban_store::board::RowKey;

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
