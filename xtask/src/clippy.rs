//! `cargo xtask clippy`: lints with warnings denied, over everything and over each part.

use anyhow::Result;

use crate::cmd;
use crate::features::alone;
use crate::workspace::Workspace;

/// The whole workspace with all features, then each feature set as if nothing else existed.
pub fn run(workspace: &Workspace) -> Result<()> {
    let whole = "clippy --workspace --all-targets --all-features -- -D warnings";
    cmd::run(&mut cmd::cargo(workspace, whole))?;
    for set in alone(workspace) {
        let line = format!("clippy --quiet {} -- -D warnings", set.arguments());
        cmd::run(&mut cmd::cargo(workspace, &line))?;
    }
    Ok(())
}
