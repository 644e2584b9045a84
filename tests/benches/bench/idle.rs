//! What it costs to be there: idle time, memory, latency, the start.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;

use crate::{
    Sizes,
    deliver::{LONG, count_of, mib},
    fill::{Fill, connect, unix_now},
    report::{self, Figure, median, percentile},
    scene::Scene,
};

/// Rows to which nothing happens, each of a session of its own.
pub fn asleep(rows: usize) -> Fill {
    Fill { platform: "api_server", rows, sessions: rows, unseen: false, ours: true }
}

/// Processor time of gateways to which nothing happens: one with many rows, one with few, at the same time.
///
/// Whoever goes through rows while nothing happens needs time that grows with them.
pub fn idle(sizes: &Sizes) -> Vec<Figure> {
    let boards = 10;
    let (spans, span) = (sizes.pick(5, 1), Duration::from_secs(sizes.pick(30, 20)));
    let both = [10_000, 100].map(|rows| {
        let scene = Scene::new(boards);
        (0..boards).for_each(|board| scene.fill(board, asleep(rows)));
        let gateway = scene.start_warm();
        (scene, gateway)
    });
    // A commit is followed by a sweep within half a minute, a start by a look for aged rows after a
    // minute and then each hour. A quick run ends before that look, a full one begins after it.
    std::thread::sleep(Duration::from_secs(sizes.pick(80, 35)));
    let (mut a_minute, mut read) = ([Vec::new(), Vec::new()], [0, 0]);
    for _ in 0..spans {
        let before =
            both.each_ref().map(|(_, gateway)| (gateway.exact_cpu(), gateway.bytes_read()));
        std::thread::sleep(span);
        for (index, (_, gateway)) in both.iter().enumerate() {
            let used = gateway.exact_cpu() - before[index].0;
            a_minute[index].push(used.as_secs_f64() * 60.0 / span.as_secs_f64());
            read[index] += gateway.bytes_read() - before[index].1;
        }
    }
    both.into_iter().for_each(|(_, gateway)| gateway.stop());
    // What is done once in a while counts as well: the mean of all spans, not their median.
    let [many, few] = a_minute.each_ref().map(|all| all.iter().sum::<f64>() / count_of(all.len()));
    let [many_read, few_read] = read.map(|bytes| mib(bytes / 1_024));
    let minutes = count_of(spans) * span.as_secs_f64() / 60.0;
    vec![
        Figure::new("processor time a minute, idle, 100 000 rows on 10 boards", many, "s")
            .below(0.1)
            .spread(&a_minute[0]),
        Figure::new("the same with 1 000 rows on 10 boards", few, "s").spread(&a_minute[1]),
        Figure::new("no full scan: times that beside a hundredth of the rows", many / few, "")
            .below(1.5)
            .beside("processor time of the same seconds"),
        Figure::new("bytes read a minute, idle, 100 000 rows", many_read / minutes, "MiB")
            .beside(format!("{} MiB with 1 000 rows", report::number(few_read / minutes))),
    ]
}

/// Resident memory with nothing to do.
pub fn memory(sizes: &Sizes) -> Vec<Figure> {
    let all = [(1_000, 16.0), (100_000, 40.0)];
    let measured = all.into_iter().map(|(rows, most)| {
        let scene = Scene::new(1);
        scene.fill(0, asleep(rows));
        let held: Vec<f64> = (0..sizes.rounds)
            .map(|_| {
                let gateway = scene.start_warm();
                std::thread::sleep(Duration::from_secs(sizes.pick(10, 3)));
                let (now, _) = gateway.memory();
                gateway.stop();
                mib(now)
            })
            .collect();
        Figure::new(format!("resident memory, {rows} idle rows"), median(&held), "MiB")
            .below(most)
            .spread(&held)
    });
    measured.collect()
}

/// From just before a commit to the request's arrival.
pub fn latency(sizes: &Sizes) -> Vec<Figure> {
    let events = sizes.pick(1_000, 150);
    let scene = Scene::new(1);
    scene.fill(0, asleep(events + 1));
    let gateway = scene.start_warm();
    let mut board = connect(scene.board(0));
    let (mut millis, mut random) = (Vec::new(), 86_553_u64);
    for task in 2..=events + 1 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros(5_000 + (random >> 33) % 50_000));
        let before = scene.sink.count();
        board
            .batch_execute(&format!(
                "BEGIN IMMEDIATE; INSERT INTO task_events (task_id, kind, created_at)
                 VALUES ('t_{task:08x}', 'completed', {})",
                unix_now()
            ))
            .unwrap();
        let began = Instant::now();
        board.batch_execute("COMMIT").unwrap();
        scene.sink.wait_for(before + 1, LONG);
        let arrived = scene.sink.take().pop().unwrap().at;
        millis.push(arrived.saturating_duration_since(began).as_secs_f64() * 1_000.0);
    }
    gateway.stop();
    vec![
        Figure::new("commit to request received, median", median(&millis), "ms").below(3.0),
        Figure::new("commit to request received, p99", percentile(&millis, 99), "ms").below(15.0),
    ]
}

/// From the start of the process to the arrival of what was committed before.
pub fn start(sizes: &Sizes) -> Vec<Figure> {
    let rows = sizes.pick(100_000, 100_000);
    let (mut known, mut first) = (Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let scene = Scene::new(1);
        scene.fill(0, Fill { ours: false, ..asleep(rows) });
        scene.complete(0, 1, 1);
        let gateway = scene.start();
        scene.sink.wait_for(1, LONG);
        first.push(gateway.started.elapsed().as_secs_f64());
        scene.wait_owned(0);
        let owned = gateway.started.elapsed().as_secs_f64();
        println!(
            "  first wake after {:.2} s, all rows adopted after {owned:.2} s",
            first[first.len() - 1]
        );
        scene.wait_caught_up(0);
        gateway.stop();
        scene.complete(0, 2, 2);
        scene.sink.take();
        let gateway = scene.start();
        scene.sink.wait_for(1, LONG);
        known.push(gateway.started.elapsed().as_secs_f64() * 1_000.0);
        scene.wait_caught_up(0);
        gateway.stop();
    }
    vec![
        Figure::new(
            format!("start to first wake, known board of {rows} rows"),
            median(&known),
            "ms",
        )
        .below(50.0)
        .spread(&known),
        Figure::new(
            format!("start to first wake, first sight of {rows} rows"),
            median(&first),
            "s",
        )
        .below(3.0)
        .spread(&first),
    ]
}
