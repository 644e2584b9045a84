//! `cargo xtask ci`: every step of CI in order, stopping at the first failure.

use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::workspace::Workspace;
use crate::{clippy, deny, deps, doc, fmt, migrations, test, tidy};

/// What to leave out.
#[derive(Args)]
pub struct Options {
    /// Only the steps that run no test.
    #[arg(long = "static")]
    without_tests: bool,
}

/// Answers whether the tests passed; any other step that fails is an error with its name.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    for (name, step) in STATIC {
        timed(name, || step(workspace))
            .with_context(|| format!("step `{name}` failed; `cargo xtask {name}` runs it alone"))?;
    }
    if options.without_tests {
        return Ok(true);
    }
    // Last, so that what CI prints ends with the summary of the tests.
    timed("test", || test::run(workspace, &test::Options::default()))
}

type Step = fn(&Workspace) -> Result<()>;

const STATIC: [(&str, Step); 7] = [
    ("fmt", fmt::run),
    ("deps --build", |workspace| deps::run(workspace, &deps::Options { build: true })),
    ("tidy", tidy::run),
    ("clippy", clippy::run),
    ("doc", doc::run),
    ("migrations check", |workspace| migrations::run(workspace, &migrations::Action::CHECK)),
    ("deny", deny::run),
];

fn timed<T>(name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("── {name}");
    let begun = Instant::now();
    let outcome = step();
    // Standard error: on standard output the summary of the tests must stay last.
    eprintln!("── {name}: {} s", begun.elapsed().as_secs());
    outcome
}
