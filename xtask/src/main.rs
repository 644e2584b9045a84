//! What CI and maintainers run: `cargo xtask --help` lists it.

mod bench;
mod ci;
mod clippy;
mod cmd;
mod deny;
mod deps;
mod doc;
mod features;
mod fmt;
mod migrations;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Tasks of this workspace; each step of CI is one of them, under the same name.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test, the ones against the real Hermes package included.
    Test(test::Options),
    /// Measure the release build beside the machine's own limits and the real Hermes notifier.
    Bench(bench::Options),
    /// Run the release build for a quarter of an hour under load, and see that nothing grows.
    Soak(bench::SoakOptions),
    /// Run everything CI runs, stopping at the first failure.
    Ci(ci::Options),
    /// Check that all code is formatted.
    Fmt,
    /// Prove which member may depend on what, for each feature set by itself.
    Deps(deps::Options),
    /// Check the house rules that no compiler knows.
    Tidy,
    /// Lint the workspace, then each feature set by itself, with warnings denied.
    Clippy,
    /// Build the documentation, private items included, with warnings denied.
    Doc,
    /// Make, run and check the migrations of the ledger.
    #[command(subcommand)]
    Migrations(migrations::Action),
    /// Check bans, licences and sources with cargo-deny, where it is installed.
    Deny,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        // The task has said what failed; its last line must stay the last line.
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<bool> {
    let workspace = Workspace::load()?;
    match task {
        Task::Test(options) => return test::run(&workspace, options),
        Task::Ci(options) => return ci::run(&workspace, options),
        Task::Bench(options) => bench::run(&workspace, options)?,
        Task::Soak(options) => bench::soak(&workspace, options)?,
        Task::Fmt => fmt::run(&workspace)?,
        Task::Deps(options) => deps::run(&workspace, options)?,
        Task::Tidy => tidy::run(&workspace)?,
        Task::Clippy => clippy::run(&workspace)?,
        Task::Doc => doc::run(&workspace)?,
        Task::Migrations(action) => migrations::run(&workspace, action)?,
        Task::Deny => deny::run(&workspace)?,
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
