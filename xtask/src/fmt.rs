//! `cargo xtask fmt`: all code is formatted as rustfmt would have it.

use anyhow::Result;

use crate::cmd;
use crate::workspace::Workspace;

/// Compares, and changes nothing.
pub fn run(workspace: &Workspace) -> Result<()> {
    cmd::run(&mut cmd::cargo(workspace, "fmt --all --check"))
}
