//! `cargo xtask bench` and `cargo xtask soak`: the release build, measured from outside.

use std::{path::PathBuf, process::Command};

use anyhow::Result;
use clap::Args;

use crate::{cmd, test::hermes, workspace::Workspace};

/// What is measured.
#[derive(Args)]
pub struct Options {
    /// Smaller sizes, one round: about a minute, for a first impression.
    #[arg(long)]
    quick: bool,
    /// Also write the table to this file, for docs/PERFORMANCE.md.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Only these: machine, idle, memory, latency, peer, wakes, pings, backlog, writer, growth, start,
    /// gathering; or `micro` for the single steps, with Criterion, and a filter for them after it.
    only: Vec<String>,
}

/// How long.
#[derive(Args)]
pub struct SoakOptions {
    /// Minutes, each with a restart at its end.
    #[arg(long, default_value_t = 15)]
    minutes: u32,
}

/// Measures, prints a table, and leaves the figures in the build folder.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if let [first, filter @ ..] = options.only.as_slice()
        && first == "micro"
    {
        return micro(workspace, options.quick, filter);
    }
    let mut bench = prepare(workspace)?;
    match hermes::prepare(&workspace.target) {
        Ok(venv) => {
            bench.env(hermes::VARIABLE, venv);
        }
        Err(error) => eprintln!("WITHOUT THE REAL HERMES NOTIFIER BESIDE US: {error:#}"),
    }
    let report = workspace.target.join("bench.json");
    bench.env("KANBAN_GATEWAY_BENCH_REPORT", &report);
    if let Some(file) = &options.markdown {
        bench.env("KANBAN_GATEWAY_BENCH_MARKDOWN", std::path::absolute(file)?);
    }
    bench.args(options.quick.then_some("--quick")).args(&options.only);
    cmd::run(&mut bench)?;
    println!("the same figures as JSON: {}", workspace.relative(&report).display());
    Ok(())
}

/// Measures the single steps that the whole is made of.
fn micro(workspace: &Workspace, quick: bool, filter: &[String]) -> Result<()> {
    let mut bench = cmd::cargo(workspace, "bench -p tests --bench micro --");
    cmd::run(bench.args(quick.then_some("--quick")).args(filter))
}

/// Runs for a quarter of an hour; fails where something grows, or is lost.
pub fn soak(workspace: &Workspace, options: &SoakOptions) -> Result<()> {
    cmd::run(prepare(workspace)?.arg(format!("--soak={}", options.minutes)))
}

fn prepare(workspace: &Workspace) -> Result<Command> {
    cmd::run(&mut cmd::cargo(workspace, "build --release -p gateway-bin"))?;
    let mut bench = cmd::cargo(workspace, "bench -p tests --bench bench --");
    bench.env("KANBAN_GATEWAY_BENCH_BIN", workspace.target.join("release/kanban-gateway"));
    Ok(bench)
}
