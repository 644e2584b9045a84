//! How fast: wakes to distinct sessions, a backlog at the start, a writer beside us, gathering.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;

use crate::{
    Sizes,
    ceiling::{self, per_second},
    peer,
    report::{Figure, median},
    scene::{Fill, Scene, connect, unix_now},
    sink::Sink,
};

/// Requests in flight at once, for us and for the plain loop.
const CONCURRENCY: usize = 64;
const LONG: Duration = Duration::from_secs(300);

fn fast(scene: &mut Scene) {
    scene.set("concurrency.per_channel", &CONCURRENCY.to_string());
    scene.set("concurrency.total", &CONCURRENCY.to_string());
}

/// Wakes a second, each to a session of its own, beside the plain loop.
pub fn wakes(sizes: &Sizes) -> Vec<Figure> {
    let count = sizes.pick(20_000, 3_000);
    let (mut ours, mut plain, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut micros = Vec::new();
    for _ in 0..sizes.rounds {
        let mut scene = Scene::new(1);
        fast(&mut scene);
        scene.fill(
            0,
            Fill {
                platform: "api_server",
                rows: count + 1,
                sessions: count + 1,
                unseen: false,
                ours: true,
            },
        );
        let gateway = scene.start_warm();
        scene.wait_caught_up(0);
        scene.sink.take();
        let (began, before) = (Instant::now(), gateway.cpu());
        scene.complete(0, 2, count + 1);
        scene.sink.wait_for(count, LONG);
        let rate = per_second(count, began.elapsed());
        let last = Instant::now();
        scene.wait_caught_up(0);
        assert!(last.elapsed() < Duration::from_secs(5), "cursors follow: {:?}", last.elapsed());
        micros.push((gateway.cpu() - before).as_secs_f64() * 1e6 / count_of(count));
        gateway.stop();
        let ceiling = ceiling::requests_a_second(scene.sink.addr(), CONCURRENCY, count);
        ours.push(rate);
        plain.push(ceiling);
        ratios.push(100.0 * rate / ceiling);
    }
    let mut figures = vec![
        Figure::new("wakes to distinct sessions", median(&ours), "/s"),
        Figure::new("processor time for each, cursor included", median(&micros), "µs"),
        Figure::new("plain hyper loop, same receiver", median(&plain), "/s"),
        Figure::new("wakes, of the plain loop", median(&ratios), "%").at_least(25.0),
    ];
    if let Some(theirs) = peer::deliveries(sizes.pick(2_000, 500)) {
        figures.push(Figure::new("hermes-agent 0.19.0: deliveries", theirs, "/s"));
        let times = median(&ours) / theirs;
        figures.push(Figure::new("wakes, times its deliveries", times, "").at_least(50.0));
    }
    figures
}

/// A backlog that nobody has seen, at the start.
pub fn backlog(sizes: &Sizes) -> Vec<Figure> {
    let count = sizes.pick(100_000, 10_000);
    let mut scene = Scene::new(1);
    fast(&mut scene);
    scene.fill(
        0,
        Fill { platform: "api_server", rows: count, sessions: count, unseen: true, ours: true },
    );
    let gateway = scene.start();
    scene.sink.wait_for(count, Duration::from_secs(900));
    let rate = per_second(count, gateway.started.elapsed());
    let (_, most) = gateway.memory();
    scene.wait_caught_up(0);
    gateway.stop();
    assert_eq!(scene.sink.count(), count, "nothing is told twice");
    vec![
        Figure::new(format!("backlog of {count} at the start"), rate, "/s"),
        Figure::new("its most resident memory", mib(most), "MiB").below(64.0),
    ]
}

/// What a writer that commits as fast as it can loses by us.
pub fn writer(sizes: &Sizes) -> Vec<Figure> {
    let span = Duration::from_secs(sizes.pick(5, 2));
    let scene = Scene::new(1);
    scene.fill(
        0,
        Fill { platform: "api_server", rows: 10_000, sessions: 10_000, unseen: false, ours: true },
    );
    let (mut alone, mut losses) = (Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let before = commits(&scene, span);
        let gateway = scene.start_warm();
        let beside = commits(&scene, span);
        gateway.stop();
        alone.push(before);
        losses.push(100.0 * (1.0 - beside / before));
    }
    vec![
        Figure::new("a writer alone", median(&alone), "commits/s"),
        Figure::new("what it loses beside us", median(&losses), "%").below(10.0),
    ]
}

/// Heartbeats as fast as they go, and now and then something to be told.
fn commits(scene: &Scene, span: Duration) -> f64 {
    let mut board = connect(scene.board(0));
    let (began, mut count) = (Instant::now(), 0_usize);
    while began.elapsed() < span {
        let (kind, task) = match count % 500 {
            0 => ("completed", 1 + count / 500),
            _ => ("heartbeat", 1 + count % 10_000),
        };
        board
            .batch_execute(&format!(
                "BEGIN IMMEDIATE;
                 UPDATE tasks SET last_heartbeat_at = {now} WHERE id = '{task}';
                 INSERT INTO task_events (task_id, kind, created_at) VALUES ('{task}', '{kind}', {now});
                 COMMIT",
                now = unix_now(),
                task = format_args!("t_{task:08x}"),
            ))
            .unwrap();
        count += 1;
    }
    per_second(count, began.elapsed())
}

/// 1 000 tasks of one session that are completed within two seconds.
pub fn gathering(_: &Sizes) -> Vec<Figure> {
    let mut scene = Scene::with(1, Sink::start(true));
    scene.set("wake.max_per_hour", "3600");
    let tasks = 1_000;
    scene.fill(
        0,
        Fill { platform: "api_server", rows: tasks + 1, sessions: 1, unseen: false, ours: true },
    );
    let gateway = scene.start_warm();
    scene.sink.take();
    let began = Instant::now();
    for task in 2..=tasks + 1 {
        scene.complete(0, task, task);
        let due = Duration::from_millis(u64::try_from(2 * task).unwrap());
        std::thread::sleep(due.saturating_sub(began.elapsed()));
    }
    scene.wait_caught_up(0);
    gateway.stop();
    let texts: Vec<String> = scene
        .sink
        .take()
        .iter()
        .map(|arrival| String::from_utf8_lossy(&arrival.text).into_owned())
        .collect();
    for task in 2..=tasks + 1 {
        let id = format!("t_{task:08x}");
        let named: usize = texts.iter().map(|text| text.matches(&id).count()).sum();
        assert_eq!(named, 1, "{id}");
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    vec![
        Figure::new("turns for 1 000 tasks of one session in 2 s", count_of(texts.len()), "turns")
            .beside(format!("{bytes} bytes in all, each task named once")),
    ]
}

pub fn mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap()) / 1_024.0
}

pub fn count_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
