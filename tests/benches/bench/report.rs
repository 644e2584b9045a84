//! The table at the end, and the same as JSON and as Markdown.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Target {
    Below(f64),
    AtLeast(f64),
}

/// One measured figure.
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub target: Option<Target>,
    /// What it was measured against, in words.
    pub beside: String,
}

impl Figure {
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, target: None, beside: String::new() }
    }

    pub fn below(mut self, target: f64) -> Self {
        self.target = Some(Target::Below(target));
        self
    }

    pub fn at_least(mut self, target: f64) -> Self {
        self.target = Some(Target::AtLeast(target));
        self
    }

    pub fn beside(mut self, words: impl Into<String>) -> Self {
        self.beside = words.into();
        self
    }

    /// Says between which the measured values lay, if there are several.
    pub fn spread(self, values: &[f64]) -> Self {
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        if values.len() < 2 {
            return self;
        }
        self.beside(format!("{} to {} in {}", number(least), number(most), values.len()))
    }

    fn reached(&self) -> Option<bool> {
        self.target.map(|target| match target {
            Target::Below(most) => self.value < most,
            Target::AtLeast(least) => self.value >= least,
        })
    }

    fn row(&self) -> [String; 5] {
        let target = match self.target {
            None => String::new(),
            Some(Target::Below(most)) => format!("< {}", number(most)),
            Some(Target::AtLeast(least)) => format!(">= {}", number(least)),
        };
        let reached = match self.reached() {
            None => "",
            Some(true) => "yes",
            Some(false) => "NO",
        };
        let value = format!("{} {}", number(self.value), self.unit);
        [self.name.clone(), value, target, reached.to_owned(), self.beside.clone()]
    }

    fn json(&self) -> Value {
        let (below, at_least) = match self.target {
            None => (None, None),
            Some(Target::Below(most)) => (Some(most), None),
            Some(Target::AtLeast(least)) => (None, Some(least)),
        };
        json!({
            "name": self.name, "value": self.value, "unit": self.unit, "below": below,
            "at_least": at_least, "reached": self.reached(), "beside": self.beside,
        })
    }
}

/// All figures of a run, in order, each with the scenario that it is of.
pub struct Report {
    quick: bool,
    rounds: usize,
    cores: usize,
    /// How many processes wanted a core on average in the minute before the run.
    load_before: f64,
    figures: Vec<(&'static str, Figure)>,
}

impl Report {
    /// An empty one, at the beginning of a run.
    pub fn new(quick: bool, rounds: usize) -> Self {
        let cores = std::thread::available_parallelism().unwrap().get();
        Self { quick, rounds, cores, load_before: load(), figures: Vec::new() }
    }

    pub fn add(&mut self, scenario: &'static str, figures: Vec<Figure>) {
        self.figures.extend(figures.into_iter().map(|figure| (scenario, figure)));
    }

    /// What ran where, and a table.
    pub fn markdown(&self) -> String {
        let head =
            ["scenario", "figure", "measured", "target", "reached", "beside"].map(str::to_owned);
        let figures = self.figures.iter().map(|(scenario, figure)| {
            let [name, value, target, reached, beside] = figure.row();
            [(*scenario).to_owned(), name, value, target, reached, beside]
        });
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(figures).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let mut text = format!(
            "{} cores, load {} when it began; {}, medians of {}.\n\n",
            self.cores,
            number(self.load_before),
            if self.quick { "quick run" } else { "full run" },
            self.rounds,
        );
        for (index, row) in rows.iter().enumerate() {
            text.push('|');
            for (column, cell) in row.iter().enumerate() {
                let pad = width(column) - cell.chars().count();
                let _ = write!(text, " {cell}{} |", " ".repeat(pad));
            }
            text.push('\n');
            if index == 0 {
                let lines: Vec<String> =
                    (0..row.len()).map(|column| "-".repeat(width(column) + 2)).collect();
                let _ = writeln!(text, "|{}|", lines.join("|"));
            }
        }
        text
    }

    pub fn json(&self) -> String {
        let figures = self.figures.iter().map(|(scenario, figure)| {
            let mut all = figure.json();
            all["scenario"] = json!(scenario);
            all
        });
        let report = json!({
            "cores": self.cores, "load_before": self.load_before, "quick": self.quick,
            "rounds": self.rounds, "figures": figures.collect::<Vec<Value>>(),
        });
        serde_json::to_string_pretty(&report).unwrap() + "\n"
    }
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Three significant digits, which is more than a machine like this is worth.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}
