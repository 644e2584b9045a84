//! The notifier of the real hermes-agent package on the same boards, where the package is installed.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::{
    Sizes,
    ceiling::per_second,
    fill::Fill,
    idle::asleep,
    report::{Figure, median},
    scene::Scene,
};

const LONG: Duration = Duration::from_secs(120);

struct Peer {
    child: Child,
    lines: Receiver<Value>,
}

/// The Python of an environment with hermes-agent in it, if the caller names one.
fn python() -> Option<PathBuf> {
    let venv = PathBuf::from(std::env::var_os("KANBAN_GATEWAY_HERMES_VENV")?);
    Some(venv.join("bin/python"))
}

impl Peer {
    fn start(python: &PathBuf, scene: &Scene) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bench/peer.py");
        let mut child = Command::new(python)
            .arg(script)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", scene.folder())
            .env("HERMES_HOME", scene.home())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (tell, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Nobody listens any more when the measurement is over.
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, lines }
    }

    /// The time of the next line of a sort.
    fn next(&self, sort: &str) -> f64 {
        loop {
            let line = self.lines.recv_timeout(LONG).unwrap();
            if let Some(at) = line[sort].as_f64() {
                return at;
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It has no other way to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pushed(rows: usize, unseen: bool) -> Scene {
    let scene = Scene::new(1);
    scene.fill(0, Fill { platform: "telegram", rows, sessions: 64, unseen, ours: false });
    scene
}

/// Its deliveries a second: from the start of a pass over unseen events to the last message.
pub fn deliveries(rows: usize) -> Option<f64> {
    let python = python()?;
    let scene = pushed(rows, true);
    let peer = Peer::start(&python, &scene);
    let began = peer.next("pass");
    let last = (0..rows).map(|_| peer.next("sent")).fold(began, f64::max);
    Some(per_second(rows, Duration::from_secs_f64(last - began)))
}

/// From just before a commit to the message: theirs and ours, in turn, at the same random times.
pub fn latency(sizes: &Sizes) -> Vec<Figure> {
    let Some(python) = python() else {
        return Vec::new();
    };
    let events = sizes.pick(40, 8);
    let (theirs, ours) = (pushed(events, false), Scene::new(1));
    ours.fill(0, asleep(events + 1));
    let gateway = ours.start_warm();
    ours.wait_caught_up(0);
    let peer = Peer::start(&python, &theirs);
    peer.next("pass");
    let (mut their_millis, mut our_millis) = (Vec::new(), Vec::new());
    for task in 1..=events {
        let random = u64::try_from(task).unwrap() * 7_919 % 5_000;
        std::thread::sleep(Duration::from_millis(random));
        let began = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        theirs.complete(0, task, task);
        their_millis.push((peer.next("sent") - began) * 1_000.0);
        ours.sink.take();
        let began = ours.complete(0, task + 1, task + 1);
        let arrived = ours.sink.wait_for(1, LONG);
        our_millis.push((arrived - began).as_secs_f64() * 1_000.0);
    }
    gateway.stop();
    let (their_median, our_median) = (median(&their_millis), median(&our_millis));
    vec![
        Figure::new("hermes-agent 0.19.0: commit to send, median", their_median, "ms")
            .spread(&their_millis),
        Figure::new("ours, in turn with it", our_median, "ms").spread(&our_millis),
        Figure::new("how many times sooner", their_median / our_median, ""),
    ]
}
