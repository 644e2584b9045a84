//! How fast wakes go to distinct sessions, and a backlog at the start.

use std::time::Duration;

use crate::{
    Sizes,
    arrivals::Arrival,
    ceiling::{CONCURRENCY, per_second},
    fill::Fill,
    rates::Rates,
    report::{Figure, median},
    scene::Scene,
};

pub const LONG: Duration = Duration::from_secs(300);

/// As many requests in flight as the plain loop has.
pub fn fast(scene: &mut Scene) {
    scene.set("concurrency.per_channel", &CONCURRENCY.to_string());
    scene.set("concurrency.total", &CONCURRENCY.to_string());
}

/// Wakes a second, each to a session of its own, beside the plain loop.
pub fn wakes(sizes: &Sizes) -> Vec<Figure> {
    let count = sizes.pick(20_000, 3_000);
    let (mut rates, mut micros, mut cursors) = (Rates::new(sizes), Vec::new(), Vec::new());
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
        let before = gateway.cpu();
        let began = scene.complete(0, 2, count + 1);
        let last = scene.sink.wait_for(count, LONG);
        scene.wait_caught_up(0);
        cursors.push(last.elapsed().as_secs_f64());
        micros.push(micros_each(gateway.cpu() - before, count));
        gateway.stop();
        rates.round(per_second(count, last - began), &scene.sink, count, bytes(&scene.sink.take()));
    }
    let mut figures = rates.figures("wakes to distinct sessions", "");
    figures.extend([
        Figure::new("processor time for a wake, cursor included", median(&micros), "µs"),
        Figure::new("last wake to last cursor", median(&cursors), "s").below(1.0).spread(&cursors),
    ]);
    figures
}

/// A backlog that nobody has seen, from the start of the process to the last request.
pub fn backlog(sizes: &Sizes) -> Vec<Figure> {
    let count = sizes.pick(100_000, 10_000);
    let (mut rates, mut most) = (Rates::new(sizes), Vec::new());
    for _ in 0..sizes.rounds {
        let mut scene = Scene::new(1);
        fast(&mut scene);
        scene.fill(
            0,
            Fill { platform: "api_server", rows: count, sessions: count, unseen: true, ours: true },
        );
        let gateway = scene.start();
        let last = scene.sink.wait_for(count, Duration::from_secs(900));
        let rate = per_second(count, last - gateway.started);
        most.push(mib(gateway.memory().1));
        scene.wait_caught_up(0);
        gateway.stop();
        let arrivals = scene.sink.take();
        assert_eq!(arrivals.len(), count, "nothing is told twice");
        rates.round(rate, &scene.sink, count, bytes(&arrivals));
    }
    let mut figures = rates.figures(&format!("backlog of {count} unseen events"), "");
    let name = format!("most resident memory, backlog of {count}");
    figures.push(Figure::new(name, median(&most), "MiB").below(64.0).spread(&most));
    figures
}

/// Bytes of each, in the middle.
fn bytes(arrivals: &[Arrival]) -> usize {
    arrivals.iter().map(|arrival| arrival.bytes).sum::<usize>() / arrivals.len()
}

/// Microseconds of processor time for each of so many.
pub fn micros_each(used: Duration, count: usize) -> f64 {
    used.as_secs_f64() * 1e6 / count_of(count)
}

pub fn mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap()) / 1_024.0
}

pub fn count_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
