//! The figures of docs/PERFORMANCE.md: whole processes, real files, HTTP on loopback, in one run.
//!
//! `cargo xtask bench` builds the program and runs this.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what goes wrong ends the measurement, at the line where it went wrong"
)]

mod arrivals;
mod ceiling;
mod deliver;
mod fill;
mod gathering;
mod growth;
mod idle;
mod peer;
mod pings;
mod rates;
mod report;
mod scene;
mod sink;
mod soak;
mod told;
mod writer;

use report::{Figure, Report, median};
use sink::Sink;

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

const SCENARIOS: [Scenario; 12] = [
    ("machine", machine),
    ("idle", idle::idle),
    ("memory", idle::memory),
    ("latency", idle::latency),
    ("peer", peer::latency),
    ("wakes", deliver::wakes),
    ("pings", pings::pings),
    ("backlog", deliver::backlog),
    ("writer", writer::writer),
    ("growth", growth::growth),
    ("start", idle::start),
    ("gathering", gathering::gathering),
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
    let mut report = Report::new(quick, sizes.rounds);
    for (name, scenario) in SCENARIOS {
        if only.is_empty() || only.iter().any(|wanted| *wanted == name) {
            println!("{name} …");
            report.add(name, scenario(&sizes));
        }
    }
    println!("{}", report.markdown());
    for (variable, text) in [
        ("KANBAN_GATEWAY_BENCH_REPORT", report.json()),
        ("KANBAN_GATEWAY_BENCH_MARKDOWN", report.markdown()),
    ] {
        if let Some(path) = std::env::var_os(variable) {
            std::fs::write(path, text).unwrap();
        }
    }
}

/// A machine that is busy with something else shows it here.
fn machine(sizes: &Sizes) -> Vec<Figure> {
    let (mut one, mut many, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let sink = Sink::start(false);
    for _ in 0..sizes.rounds {
        let (commit, commit_of_many) = ceiling::commit_millis();
        one.push(commit);
        many.push(commit_of_many);
        plain.push(ceiling::requests_a_second(sink.addr(), 1, sizes.pick(20_000, 5_000), 600));
    }
    vec![
        Figure::new("commit of one row, FULL sync, plain diesel", median(&one), "ms").spread(&one),
        Figure::new("commit of 256 rows", median(&many), "ms").spread(&many),
        Figure::new("plain hyper loop, 600 bytes, one connection", median(&plain), "/s")
            .spread(&plain),
    ]
}
