//! `cargo xtask test`: every test there is, and one line that sums them up.

mod contract;
mod counterparts;
mod faults;
pub mod hermes;
mod results;
mod summary;
mod synapse;
mod venv;
mod versions;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;

use crate::cmd;
use crate::workspace::Workspace;
pub use results::Results;
pub use summary::Totals;

/// Which tests to run.
#[derive(Args, Default)]
pub struct Options {
    /// Leave out the tests against the real Hermes package.
    #[arg(long)]
    no_hermes: bool,
    /// Leave out the tests against a real Matrix server.
    #[arg(long)]
    no_synapse: bool,
    /// Only list the fault cases that the tests run: case, fault, verdict, outcome, law or report.
    #[arg(long, conflicts_with = "filter")]
    list_faults: bool,
    /// Run only tests whose path contains one of these.
    filter: Vec<String>,
}

/// Tests against the real package have one of these in their path.
const HERMES: [&str; 2] = ["interop::", "support::hermes::selftest"];

/// Tests against a real Matrix server have this in their path.
const SYNAPSE: &str = "synapse::";

/// Answers whether all tests passed; the last line printed is the total.
pub fn run(workspace: &Workspace, options: &Options) -> Result<bool> {
    if options.list_faults {
        faults::list(workspace)?;
        return Ok(true);
    }
    let venv = wanted(prepare(workspace, options))?;
    let releases = match &venv {
        Ok(venv) => Some(wanted(hermes::prepare_releases(&workspace.target, venv))?),
        Err(_) => None,
    };
    let counterparts = wanted(counterparts::prepare(&workspace.target))?;
    let synapse = wanted(match options.no_synapse {
        true => Err(anyhow!("--no-synapse was given")),
        false => synapse::prepare(&workspace.target),
    })?;
    let mut command = cmd::cargo(workspace, "test --workspace --all-features --no-fail-fast --");
    command.args(&options.filter);
    let mut missing = Vec::new();
    let all = ("THE REAL HERMES PACKAGE", HERMES.map(str::to_owned).to_vec());
    provide(&mut command, hermes::VARIABLE, &venv, all, &mut missing);
    if let Some(releases) = &releases {
        let theirs = ("EARLIER RELEASES OF HERMES", hermes::RELEASES.map(tests_of).to_vec());
        provide(&mut command, hermes::RELEASES_VARIABLE, releases, theirs, &mut missing);
    }
    let receivers = ("RECEIVERS FOR PUSH PLATFORMS", vec!["counterparts::".to_owned()]);
    provide(&mut command, counterparts::VARIABLE, &counterparts, receivers, &mut missing);
    let theirs = ("A REAL MATRIX SERVER", vec![SYNAPSE.to_owned()]);
    provide(&mut command, synapse::VARIABLE, &synapse, theirs, &mut missing);
    missing.iter().for_each(|text| banner(text));
    let folder = contract::folder(&workspace.target)?;
    command.env(contract::VARIABLE, &folder);
    let (totals, results, passed) = stream(&mut command)?;
    missing.iter().for_each(|text| banner(text));
    if !passed && totals.failed == 0 {
        eprintln!("error: the tests did not build, or a test program died; see above");
    }
    let environments = versions::Environments {
        hermes: venv.as_ref().ok(),
        releases: releases.as_ref().and_then(|releases| releases.as_ref().ok()),
        counterparts: counterparts.as_ref().ok(),
        synapse: synapse.as_ref().ok(),
    };
    if let Some(line) = versions::line(&results, &environments)? {
        println!("{line}");
    }
    let owners = contract::owners(&folder)?;
    let is_whole = show_contract(workspace, &results, &owners, options.filter.is_empty())?;
    // Without a filter of the caller's, what was filtered out are the tests left out above.
    println!("{}", totals.line(options.filter.is_empty()));
    Ok(passed && is_whole)
}

/// Shows the table of the push platforms' contract, and answers whether nothing is missing in it.
///
/// With a filter only what ran is in it, and nothing can be missing.
fn show_contract(
    workspace: &Workspace,
    results: &Results,
    owners: &contract::Owners,
    is_all: bool,
) -> Result<bool> {
    let docs = workspace.text("docs/PLATFORMS.md")?.unwrap_or_default();
    let listed = if is_all { contract::listed(&docs) } else { Vec::new() };
    let contract::Table { text, gaps } = contract::table(results, owners, &listed);
    print!("{text}");
    if !is_all {
        return Ok(true);
    }
    for gap in &gaps {
        eprintln!("error: the contract of push platforms: {gap}");
    }
    Ok(gaps.is_empty())
}

/// In CI what is missing is a failure; elsewhere its tests are left out.
fn wanted(prepared: Result<PathBuf>) -> Result<Result<PathBuf>> {
    match prepared {
        Err(reason) if std::env::var("CI").is_ok_and(|value| value == "true") => {
            Err(reason.context("CI=true: the tests against the real counterparts must run"))
        }
        prepared => Ok(prepared),
    }
}

/// Tells the tests where something is, or leaves out those that need it.
fn provide(
    command: &mut Command,
    variable: &str,
    folder: &Result<PathBuf>,
    (what, tests): (&str, Vec<String>),
    missing: &mut Vec<String>,
) {
    match folder {
        Ok(folder) => {
            command.env(variable, folder);
        }
        Err(reason) => {
            command.env_remove(variable);
            command.args(tests.iter().flat_map(|path| ["--skip", path]));
            missing.push(format!("THE TESTS AGAINST {what} ARE SKIPPED\n{reason:#}"));
        }
    }
}

/// What the tests against one release have in their path.
fn tests_of(version: &str) -> String {
    format!("generations::v{}", version.replace('.', "_"))
}

/// Passes the output on as it comes, and gathers what it tells of the tests.
pub fn stream(command: &mut Command) -> Result<(Totals, Results, bool)> {
    let shown = cmd::show(command);
    eprintln!("$ {shown}");
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let (mut totals, mut results) = (Totals::default(), Results::default());
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut stdout = std::io::stdout().lock();
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            stdout.write_all(&line)?;
            stdout.flush()?;
            let text = String::from_utf8_lossy(&line);
            totals.add(&text);
            results.add(&text);
            line.clear();
        }
    }
    let status = child.wait().with_context(|| format!("waiting for `{shown}`"))?;
    Ok((totals, results, status.success()))
}

fn prepare(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    if options.no_hermes {
        bail!("--no-hermes was given");
    }
    hermes::prepare(&workspace.target)
}

fn banner(text: &str) {
    eprintln!("======================================================================");
    eprintln!("{text}");
    eprintln!("They need Python 3.11 to 3.13 with venv, and PyPI once.");
    eprintln!("======================================================================");
}
