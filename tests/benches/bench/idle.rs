//! What it costs to be there: idle time, memory, latency, the start, and how cost grows.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;

use crate::{
    Sizes,
    deliver::{count_of, mib},
    report::{Figure, median, percentile},
    scene::{Fill, Scene, connect, unix_now},
};

const LONG: Duration = Duration::from_secs(300);

fn asleep(rows: usize) -> Fill {
    Fill { platform: "api_server", rows, sessions: rows, unseen: false, ours: true }
}

/// Processor time of a gateway to which nothing happens.
pub fn idle(sizes: &Sizes) -> Vec<Figure> {
    let (boards, rows) = (10, sizes.pick(10_000, 10_000));
    let scene = Scene::new(boards);
    (0..boards).for_each(|board| scene.fill(board, asleep(rows)));
    let gateway = scene.start_warm();
    // What the start and the last delivery leave to be done has its time.
    std::thread::sleep(Duration::from_secs(10));
    let span = Duration::from_secs(sizes.pick(60, 20));
    let before = gateway.cpu();
    std::thread::sleep(span);
    let used = gateway.cpu() - before;
    gateway.stop();
    let a_minute = used.as_secs_f64() * 60.0 / span.as_secs_f64();
    vec![
        Figure::new("processor time a minute, idle, 100 000 rows on 10 boards", a_minute, "s")
            .below(0.1),
    ]
}

/// Resident memory with nothing to do.
pub fn memory(sizes: &Sizes) -> Vec<Figure> {
    let all = [(1_000, 16.0), (100_000, 40.0)];
    let measured = all.into_iter().map(|(rows, most)| {
        let scene = Scene::new(1);
        scene.fill(0, asleep(rows));
        let gateway = scene.start_warm();
        std::thread::sleep(Duration::from_secs(sizes.pick(10, 3)));
        let (now, _) = gateway.memory();
        gateway.stop();
        Figure::new(format!("resident memory, {rows} idle rows"), mib(now), "MiB").below(most)
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
        .below(50.0),
        Figure::new(
            format!("start to first wake, first sight of {rows} rows"),
            median(&first),
            "s",
        )
        .below(3.0),
    ]
}

/// Time for each event of a commit of 1 000, beside ever more rows to which nothing happens.
pub fn growth(sizes: &Sizes) -> Vec<Figure> {
    let mut all = vec![1_000, 10_000, 100_000];
    if !sizes.quick {
        all.push(1_000_000);
    }
    let batch = 500;
    let mut figures = Vec::new();
    let mut smallest = None;
    for rows in all {
        let scene = Scene::new(1);
        scene.fill(0, asleep(rows));
        let gateway = scene.start_warm();
        scene.wait_caught_up(0);
        let mut micros = Vec::new();
        for round in 0..sizes.rounds.max(5) {
            scene.sink.take();
            let from = 1 + round * batch % rows;
            let began = Instant::now();
            scene.complete(0, from, from + batch - 1);
            scene.sink.wait_for(batch, LONG);
            micros.push(began.elapsed().as_secs_f64() * 1e6 / count_of(batch));
            scene.wait_caught_up(0);
        }
        gateway.stop();
        let time = median(&micros);
        let base = *smallest.get_or_insert(time);
        figures.push(Figure::new(format!("time for an event, {rows} rows"), time, "µs"));
        figures.push(Figure::new("  times that beside 1 000 rows", time / base, "").below(1.5));
    }
    figures
}
