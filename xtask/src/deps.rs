//! `cargo xtask deps`: the arrows between the members, proved on what Cargo resolves.

mod manifests;
mod sources;
mod trees;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::features::{FeatureSet, alone};
use crate::workspace::Workspace;
use crate::{cmd, test};

/// How far to go.
#[derive(Args)]
pub struct Options {
    /// Also compile each feature set, and the README example it promises, by itself.
    #[arg(long)]
    pub build: bool,
}

/// Crates that may be nowhere, whoever would bring them: a second HTTP client or SQL layer, and
/// whatever needs cmake or a system library to build.
///
/// These names have no positive control, because no part of the workspace has them.
const NOWHERE: [&str; 7] =
    ["reqwest", "rusqlite", "sqlx", "pq-sys", "native-tls", "openssl-sys", "aws-lc-sys"];

/// Checks manifests, resolved trees and sources; with `--build` compiles each set alone.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let locked = locked_names(workspace)?;
    let mut problems: Vec<String> = NOWHERE
        .iter()
        .filter(|name| locked.iter().any(|locked| locked == *name))
        .map(|name| format!("{name} is in the lock file, and may be in no member's tree"))
        .collect();
    problems.extend(manifests::check(&workspace.members));
    let rules = trees::rules(workspace);
    problems.extend(trees::check_names(&rules, &locked));
    for rule in &rules {
        let resolved = trees::resolve(workspace, rule)?;
        problems.extend(trees::check(rule, &resolved));
    }
    problems.extend(sources::check(workspace)?);
    if !problems.is_empty() {
        for problem in &problems {
            eprintln!("deps: {problem}");
        }
        bail!("{} dependency rules are broken", problems.len());
    }
    eprintln!("deps: {} trees, all manifests and gateway-bin's sources obey", rules.len());
    if options.build {
        build(workspace)?;
    }
    Ok(())
}

fn build(workspace: &Workspace) -> Result<()> {
    let sets = alone(workspace);
    for set in &sets {
        let line = format!("check --quiet {}", set.arguments());
        cmd::run(&mut cmd::cargo(workspace, &line))?;
    }
    for set in sets.iter().filter(|set| set.example) {
        let line = format!("test --quiet --doc {}", set.arguments());
        let (totals, passed) = test::stream(&mut cmd::cargo(workspace, &line))?;
        if !passed || totals.passed == 0 {
            let FeatureSet { package, features, .. } = set;
            bail!("the README of {package} has no example that works with [{features}] alone");
        }
    }
    Ok(())
}

/// The name of every package in the lock file.
fn locked_names(workspace: &Workspace) -> Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .current_dir(&workspace.root)
        .exec()
        .context("cargo metadata with dependencies")?;
    Ok(metadata.packages.iter().map(|package| package.name.to_string()).collect())
}
