//! The table at the end, and the same as JSON.

use std::{fmt::Write as _, path::Path};

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

    fn met(&self) -> Option<bool> {
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
        let met = match self.met() {
            None => "",
            Some(true) => "yes",
            Some(false) => "NO",
        };
        let value = format!("{} {}", number(self.value), self.unit);
        [self.name.clone(), value, target, met.to_owned(), self.beside.clone()]
    }

    fn json(&self) -> Value {
        let (below, at_least) = match self.target {
            None => (None, None),
            Some(Target::Below(most)) => (Some(most), None),
            Some(Target::AtLeast(least)) => (None, Some(least)),
        };
        json!({
            "name": self.name, "value": self.value, "unit": self.unit, "below": below,
            "at_least": at_least, "met": self.met(), "beside": self.beside,
        })
    }
}

/// Prints one figure as soon as it is there, and writes all of them to a file.
pub fn print(figures: &[Figure]) {
    let head = ["figure", "measured", "target", "met", "beside"].map(str::to_owned);
    let rows: Vec<[String; 5]> =
        std::iter::once(head).chain(figures.iter().map(Figure::row)).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push('|');
        for (column, cell) in row.iter().enumerate() {
            let pad = width(column) - cell.chars().count();
            let _ = write!(text, " {cell}{} |", " ".repeat(pad));
        }
        text.push('\n');
        if index == 0 {
            let lines: Vec<String> = (0..5).map(|column| "-".repeat(width(column) + 2)).collect();
            let _ = writeln!(text, "|{}|", lines.join("|"));
        }
    }
    println!("{text}");
}

pub fn write(path: &Path, figures: &[Figure]) {
    let all: Vec<Value> = figures.iter().map(Figure::json).collect();
    let text = serde_json::to_string_pretty(&json!({ "figures": all })).unwrap();
    std::fs::write(path, text + "\n").unwrap();
}

/// Three significant digits, which is more than a machine like this is worth.
fn number(value: f64) -> String {
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
