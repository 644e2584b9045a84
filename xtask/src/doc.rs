//! `cargo xtask doc`: the documentation builds without a warning.

use anyhow::Result;

use crate::cmd;
use crate::workspace::Workspace;

/// Private items too, because maintainers read those.
pub fn run(workspace: &Workspace) -> Result<()> {
    let line = "doc --workspace --all-features --no-deps --document-private-items";
    cmd::run(cmd::cargo(workspace, line).env("RUSTDOCFLAGS", "-D warnings"))
}
