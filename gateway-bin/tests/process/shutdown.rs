//! SIGTERM, SIGINT, SIGHUP: no new claims, an end within the grace time, and nothing lost or doubled after it.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use gateway_adapters::receiver::ReceiverConfig;
use kanban_store::board::RowKey;

use crate::{
    process::Process,
    support::{cards::connect, tally::assert_each_told_once, wait::soon, world::World},
};

/// One wake in flight, three that wait for its place.
fn one_in_flight_and_three_waiting(world: &mut World, grace: &str) -> Vec<(RowKey, i64)> {
    world.set("concurrency.per_channel", "1");
    world.set("grace", grace);
    world.receiver.hold();
    let mut asked = Vec::new();
    for number in 0..4 {
        let (task, row) = world.cards.asked("Build the report", &format!("session-{number}"));
        asked.push((row, world.cards.complete(&task, "done once")));
    }
    asked
}

async fn all_told_once(world: &World, asked: &[(RowKey, i64)]) {
    for (row, event) in asked {
        world.settled(row, *event).await;
    }
    let expected: Vec<_> =
        asked.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_86_a_stop_with_a_wake_in_flight_ends_within_the_grace_and_loses_nothing() {
    let mut world = World::new().await;
    let asked = one_in_flight_and_three_waiting(&mut world, "1s");
    let mut first = Process::run(&world);
    world.next_wake().await;
    first.terminate();
    let told = Instant::now();
    assert!(first.ended().await.success(), "{}", first.log());
    let took = told.elapsed();
    assert!((Duration::from_millis(900)..Duration::from_secs(4)).contains(&took), "{took:?}");
    assert_eq!(world.receiver.wakes().len(), 1, "no claim after the signal");

    world.receiver.release_all();
    let mut second = Process::run(&world);
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
    assert_eq!(world.receiver.wakes().len(), 4, "the cut one was found answered, not sent again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_lets_what_is_in_flight_finish_and_settles_it() {
    let mut world = World::new().await;
    let asked = one_in_flight_and_three_waiting(&mut world, "60s");
    let mut first = Process::run(&world);
    let wake = world.next_wake().await;
    first.terminate();
    first.says("stopping").await;
    world.receiver.release_all();
    assert!(first.ended().await.success(), "{}", first.log());
    let sent = wake.session().unwrap();
    for (row, event) in &asked {
        let settled = world.cards.cursor(row) >= *event;
        assert_eq!(settled, row.chat == sent, "only what was in flight is settled: {row:?}");
    }
    assert_eq!(world.receiver.wakes().len(), 1);

    let mut second = Process::run(&world);
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once() {
    let mut world = World::new().await;
    let asked = one_in_flight_and_three_waiting(&mut world, "60s");
    let mut first = Process::run(&world);
    world.next_wake().await;
    first.terminate();
    first.says("stopping").await;
    first.terminate();
    assert_eq!(first.ended().await.code(), Some(1), "{}", first.log());
    world.receiver.release_all();

    let mut second = Process::run(&world);
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_a_stop_with_a_hundred_claims_in_flight_ends_within_the_grace_and_each_is_found_out() {
    const CLAIMS: usize = 100;
    let mut world = World::with(ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() }).await;
    world.set("concurrency.per_channel", "100");
    world.set("concurrency.total", "100");
    world.set("grace", "1s");
    world.receiver.hold();
    let asked: Vec<_> = (0..CLAIMS)
        .map(|number| {
            let (task, row) = world.cards.asked("Build the report", &format!("session-{number}"));
            (row, world.cards.complete(&task, "done once"))
        })
        .collect();
    let mut first = Process::run(&world);
    soon("all are in flight", world.receiver.until_running(CLAIMS)).await;
    first.terminate();
    let told = Instant::now();
    assert!(first.ended().await.success(), "{}", first.log());
    let took = told.elapsed();
    assert!((Duration::from_millis(900)..Duration::from_secs(6)).contains(&took), "{took:?}");
    assert!(asked.iter().all(|(row, event)| world.cards.cursor(row) < *event), "none is settled");

    world.receiver.release_all();
    let mut second = Process::run(&world);
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
    assert_eq!(world.receiver.wakes().len(), CLAIMS, "each was found answered, none sent again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_stops_as_a_termination_does_and_either_may_come_second() {
    let pairs = [
        ("-INT", "-TERM"),
        ("-TERM", "-INT"),
        ("-INT", "-INT"),
        ("-HUP", "-TERM"),
        ("-TERM", "-HUP"),
    ];
    for (first_signal, second_signal) in pairs {
        let mut world = World::new().await;
        let asked = one_in_flight_and_three_waiting(&mut world, "60s");
        let mut first = Process::run_with_hangup(&world, false);
        world.next_wake().await;
        first.signal(first_signal);
        first.says("stopping").await;
        first.signal(second_signal);
        assert_eq!(first.ended().await.code(), Some(1), "{}", first.log());
        world.receiver.release_all();

        let mut second = Process::run_with_hangup(&world, false);
        all_told_once(&world, &asked).await;
        second.signal(first_signal);
        assert!(second.ended().await.success());
    }
}

/// A terminal that is closed takes nobody with it whom `nohup` started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_that_is_ignored_at_the_start_stays_ignored() {
    let world = World::new().await;
    let mut run = Process::run_with_hangup(&world, true);
    for session in ["sess-before", "sess-after"] {
        let (task, row) = world.cards.asked("Build the report", session);
        let event = world.cards.complete(&task, "done once");
        world.settled(&row, event).await;
        run.signal("-HUP");
    }
    run.terminate();
    assert!(run.ended().await.success(), "{}", run.log());
    assert!(!run.log().contains("SIGHUP"), "{}", run.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_a_stop_while_the_ledger_is_locked_ends_within_the_grace_and_loses_nothing() {
    let mut world = World::new().await;
    let asked = one_in_flight_and_three_waiting(&mut world, "1s");
    let mut first = Process::run(&world);
    world.next_wake().await;
    // Somebody holds the ledger from before the answer until after the end.
    let mut lock = connect(&world.ledger());
    lock.batch_execute("BEGIN IMMEDIATE").unwrap();
    world.receiver.release_all();
    first.terminate();
    let told = Instant::now();
    assert!(first.ended().await.success(), "{}", first.log());
    let took = told.elapsed();
    assert!(took < Duration::from_secs(6), "{took:?}: {}", first.log());
    drop(lock);

    let mut second = Process::run(&world);
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
    assert_eq!(world.receiver.wakes().len(), 4, "what was in flight is found answered");
}
