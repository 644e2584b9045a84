//! Two processes on one ledger: each lane is one's alone, and the dead one's are taken over (law D9).

use std::time::{Duration, Instant};

use gateway_adapters::receiver::ReceiverConfig;
use kanban_store::board::RowKey;

use crate::{
    process::{Process, output, printed},
    support::{
        cards::{assert_sound, connect},
        tally::assert_each_told_once,
        wait::{eventually, soon},
        world::World,
    },
};

async fn world() -> World {
    World::with(ReceiverConfig { max_runs: 0, ..ReceiverConfig::default() }).await
}

/// Completed tasks, each with a session of its own.
fn work(world: &World, from: usize, count: usize) -> Vec<(RowKey, i64)> {
    let asked = (from..from + count).map(|number| {
        let (task, row) = world.cards.asked("Build the report", &format!("session-{number}"));
        let event = world.cards.complete(&task, "done once");
        (row, event)
    });
    asked.collect()
}

async fn all_told_once(world: &World, asked: &[(RowKey, i64)]) {
    for (row, event) in asked {
        world.settled(row, *event).await;
    }
    let expected: Vec<_> =
        asked.iter().map(|(row, _)| (row.chat.clone(), row.task.clone())).collect();
    assert_each_told_once(&world.receiver, &expected);
    assert_sound(world.cards.path());
    assert_sound(&world.ledger());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_what_a_killed_instance_held_is_taken_over_at_once_and_sent_once() {
    let world = world().await;
    let mut first = Process::run(&world);
    first.says("ready").await;
    let mut second = Process::run(&world);
    second.says("ready").await;
    world.receiver.hold();
    let asked = work(&world, 0, 40);
    // Four at a time are each instance's share: more than four means that both have some.
    soon("both have claims", world.receiver.until_running(8)).await;
    let mut operator = world.operator();
    let holders = |operator: &mut kanban_store::ledger::Operator| {
        let lanes = operator.lanes().unwrap();
        lanes.into_iter().map(|lane| lane.instance).collect::<Vec<_>>()
    };
    let pid = i64::from(first.id());
    let instances = operator.instances().unwrap();
    let dead = instances.iter().find(|instance| instance.pid == pid).unwrap().id.clone();
    assert!(holders(&mut operator).contains(&dead));

    first.kill().await;
    let killed = Instant::now();
    eventually("the dead instance holds nothing", || {
        (!holders(&mut operator).contains(&dead)).then_some(())
    })
    .await;
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(5), "taken over after {took:?}");
    world.receiver.release_all();
    all_told_once(&world, &asked).await;
    second.terminate();
    assert!(second.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_is_told_of_at_its_start_and_where_a_key_is_refused() {
    let mut world = world().await;
    let url = world.receiver.url();
    world.server("default", &url, "wrong-key-0123456789");
    work(&world, 0, 1);
    let mut first = Process::run(&world);
    first.says("credential refused; the channel rests until it is right").await;
    assert!(!first.log().contains("another process delivers"), "{}", first.log());
    let alone = printed(&world, &["status"], 3).await;
    assert!(!alone.contains("they need the same keys"), "{alone}");
    let mut second = Process::run(&world);
    second.says("another process delivers from this ledger too; both need the same keys").await;
    second.says("ready").await;
    let said = printed(&world, &["status"], 3).await;
    assert!(
        said.contains("2 processes deliver from this ledger: they need the same keys"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_report_61_two_instances_share_a_board_and_one_dies_over_and_over() {
    let world = world().await;
    let mut second = Process::run(&world);
    second.says("ready").await;
    let mut asked = Vec::new();
    for round in 0..10 {
        let mut first = Process::run(&world);
        first.says("ready").await;
        let before = world.receiver.wakes().len();
        asked.extend(work(&world, round * 10, 10));
        eventually("some of it is under way", || {
            (world.receiver.wakes().len() >= before + 3).then_some(())
        })
        .await;
        first.kill().await;
    }
    all_told_once(&world, &asked).await;
    let check = second.log();
    assert!(!check.contains("panicked"), "{check}");
    second.terminate();
    assert!(second.ended().await.success());
    assert_eq!(world.receiver.wakes().len(), 100, "no request was repeated either");
}

/// No clock decides: who is suspended still holds what it has, and nobody sends that a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_what_a_suspended_instance_holds_waits_for_it_and_the_rest_goes_on() {
    let world = world().await;
    let mut first = Process::run(&world);
    first.says("ready").await;
    world.receiver.hold();
    let mut asked = work(&world, 0, 4);
    soon("it has four", world.receiver.until_running(4)).await;
    // While the test has the write locks, nobody is stopped in a transaction: that would keep everybody
    // out.
    let locks = [&world.ledger(), world.cards.path()].map(|path| {
        let mut lock = connect(path);
        diesel::connection::SimpleConnection::batch_execute(&mut lock, "BEGIN IMMEDIATE").unwrap();
        lock
    });
    first.signal("-STOP");
    drop(locks);
    world.receiver.release_all();
    let mut second = Process::run(&world);
    second.says("ready").await;
    let others = work(&world, 4, 20);
    for (row, event) in &others {
        world.settled(row, *event).await;
    }
    assert_eq!(world.receiver.wakes().len(), 24, "what is held is not sent by another");
    assert_eq!(world.operator().lanes().unwrap().len(), 4);
    first.signal("-CONT");
    asked.extend(others);
    all_told_once(&world, &asked).await;
    for mut process in [first, second] {
        process.terminate();
        assert!(process.ended().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_once_beside_run_is_one_more_instance() {
    let world = world().await;
    let mut run = Process::run(&world);
    run.says("ready").await;
    world.receiver.hold();
    let asked = work(&world, 0, 8);
    soon("run is at work", world.receiver.until_running(4)).await;
    let once = tokio::spawn({
        let mut command = crate::process::command(&world, &["once"]);
        async move { command.output().await.unwrap() }
    });
    soon("both are at work", world.receiver.until_running(8)).await;
    world.receiver.release_all();
    let once = soon("once ends", once).await.unwrap();
    assert!(once.status.success(), "{}", String::from_utf8_lossy(&once.stderr));
    all_told_once(&world, &asked).await;
    // With nothing to do it ends at once.
    assert!(output(&world, &["once"]).await.status.success());
    run.terminate();
    assert!(run.ended().await.success());
    all_told_once(&world, &asked).await;
}

/// The lock decides who delivers, no process id: it may be a zombie's, or somebody else's by now.
#[tokio::test]
async fn d9_status_takes_nobody_for_alive_whose_lock_is_free() {
    let world = world().await;
    let (task, _) = world.cards.asked("Build the report", "sess-abc");
    world.cards.complete(&task, "done once");
    let mut run = Process::run(&world);
    run.says("delivered").await;
    printed(&world, &["status"], 0).await;
    // A pid that nobody has any more does not make a living instance dead: it may be another namespace's.
    let pid_is = |pid: u32| {
        let sql = format!("UPDATE instances SET pid = {pid}");
        diesel::connection::SimpleConnection::batch_execute(&mut connect(&world.ledger()), &sql)
            .unwrap();
    };
    let pid = run.id();
    pid_is(u32::MAX);
    printed(&world, &["status"], 0).await;
    pid_is(pid);
    // Killed and not reaped: its entry in /proc stays. Its other threads have the lock until they are gone.
    run.signal("-KILL");
    let (stat, threads) = (format!("/proc/{pid}/stat"), format!("/proc/{pid}/task"));
    eventually("nothing but a zombie is left", || {
        let alone = std::fs::read_dir(&threads).unwrap().count() == 1;
        (alone && std::fs::read_to_string(&stat).unwrap().contains(") Z ")).then_some(())
    })
    .await;
    let down = printed(&world, &["status"], 4).await;
    assert!(!down.contains("\nprocess "), "{down}");
    let planned = printed(&world, &["replay", "--task", &task], 0).await;
    assert!(planned.contains("no process delivers now"), "{planned}");
    pid_is(std::process::id());
    printed(&world, &["status"], 4).await;
    run.kill().await;
}
