//! How fast messages go to one push channel: the console, whose standard output a reader takes in.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Sizes,
    arrivals::{Arrival, Arrivals},
    ceiling::per_second,
    deliver::{LONG, fast, micros_each},
    fill::Fill,
    rates::Rates,
    report::{Figure, median},
    scene::Scene,
};

/// Chats that share the messages.
const CHATS: usize = 64;

/// Pings a second to 64 chats, each about a task of its own.
///
/// The console has no network in it. Its own limit is a loop that writes the same lines to a pipe; the
/// plain hyper loop is what a channel over HTTP could reach at most.
pub fn pings(sizes: &Sizes) -> Vec<Figure> {
    let count = sizes.pick(20_000, 3_000);
    let (mut rates, mut micros) = (Rates::new(sizes), Vec::new());
    let (mut pipe, mut of_pipe) = (Vec::new(), Vec::new());
    for _ in 0..sizes.rounds {
        let mut scene = Scene::new(1);
        fast(&mut scene);
        scene.fill(
            0,
            Fill {
                platform: "console",
                rows: count + 1,
                sessions: CHATS,
                unseen: false,
                ours: true,
            },
        );
        let (gateway, output) = scene.start_printing();
        let lines = read_lines(output);
        scene.warm(&lines);
        scene.wait_caught_up(0);
        lines.take();
        let before = gateway.cpu();
        let began = scene.complete(0, 2, count + 1);
        let ours = per_second(count, lines.wait_for(count, LONG) - began);
        scene.wait_caught_up(0);
        micros.push(micros_each(gateway.cpu() - before, count));
        gateway.stop();
        let lines = lines.take();
        let plain = lines_a_second(&lines);
        pipe.push(plain);
        of_pipe.push(100.0 * ours / plain);
        let bytes = lines.iter().map(|line| line.bytes).sum::<usize>() / lines.len();
        rates.round(ours, &scene.sink, count, bytes);
    }
    let mut figures = rates.figures(
        "pings to 64 chats of the console",
        "necessary, not sufficient: the console sends nothing over HTTP",
    );
    figures.extend([
        Figure::new("processor time for a ping, cursor included", median(&micros), "µs"),
        Figure::new("plain loop that writes the same lines to a pipe", median(&pipe), "/s")
            .spread(&pipe),
        Figure::new(
            "pings to 64 chats of the console, of the plain pipe loop",
            median(&of_pipe),
            "%",
        )
        .beside("no target: nothing vouches for those lines"),
    ]);
    figures
}

/// Takes lines in on a thread of its own, until the other end is closed.
fn read_lines(from: impl Read + Send + 'static) -> Arc<Arrivals> {
    let lines = Arc::new(Arrivals::new(true));
    let ours = Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            ours.push(Instant::now(), line.into());
        }
    });
    lines
}

/// The same lines, each written by itself, to the same reader.
fn lines_a_second(lines: &[Arrival]) -> f64 {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let read = read_lines(reader);
    let lines: Vec<Vec<u8>> = lines.iter().map(|line| [&line.text[..], b"\n"].concat()).collect();
    let began = Instant::now();
    for line in &lines {
        writer.write_all(line).unwrap();
    }
    per_second(lines.len(), read.wait_for(lines.len(), Duration::from_secs(60)) - began)
}
