//! The figures of docs/PERFORMANCE.md: whole processes, real files, HTTP on loopback, in one run.
//!
//! `cargo xtask bench` builds the program and runs this.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what goes wrong ends the measurement, at the line where it went wrong"
)]

mod ceiling;
mod deliver;
mod idle;
mod peer;
mod report;
mod scene;
mod sink;
mod soak;

use std::path::Path;

use report::Figure;

/// How much is measured.
pub struct Sizes {
    quick: bool,
    /// How often what varies is measured.
    rounds: usize,
}

impl Sizes {
    fn pick<T>(&self, whole: T, quick: T) -> T {
        if self.quick { quick } else { whole }
    }
}

type Scenario = (&'static str, fn(&Sizes) -> Vec<Figure>);

const SCENARIOS: [Scenario; 11] = [
    ("machine", machine),
    ("idle", idle::idle),
    ("memory", idle::memory),
    ("latency", idle::latency),
    ("peer", peer::latency),
    ("wakes", deliver::wakes),
    ("backlog", deliver::backlog),
    ("writer", deliver::writer),
    ("growth", idle::growth),
    ("start", idle::start),
    ("gathering", deliver::gathering),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let only: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if let Some(minutes) = arguments.iter().find_map(|argument| argument.strip_prefix("--soak=")) {
        println!("soak …");
        return soak::soak(minutes.parse().unwrap());
    }
    let sizes = Sizes { quick, rounds: if quick { 1 } else { 5 } };
    let mut figures = Vec::new();
    for (name, scenario) in SCENARIOS {
        if only.is_empty() || only.iter().any(|wanted| *wanted == name) {
            println!("{name} …");
            figures.extend(scenario(&sizes));
        }
    }
    report::print(&figures);
    if let Some(path) = std::env::var_os("KANBAN_GATEWAY_BENCH_REPORT") {
        report::write(Path::new(&path), &figures);
    }
}

fn machine(_: &Sizes) -> Vec<Figure> {
    let (one, many) = ceiling::commit_millis();
    vec![
        Figure::new("commit of one row, FULL sync, plain diesel", one, "ms"),
        Figure::new("commit of 256 rows", many, "ms"),
    ]
}
