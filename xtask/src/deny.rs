//! `cargo xtask deny`: bans, licences and sources, by cargo-deny and `deny.toml`.

use anyhow::Result;

use crate::cmd;
use crate::workspace::Workspace;

/// Says so, and passes, where cargo-deny is not installed: nobody should have to build it.
pub fn run(workspace: &Workspace) -> Result<()> {
    if cmd::capture(&mut cmd::cargo(workspace, "deny --version")).is_err() {
        eprintln!("============================================================");
        eprintln!("cargo-deny is not installed: bans, licences and sources are");
        eprintln!("NOT CHECKED. `cargo install --locked cargo-deny` brings it.");
        eprintln!("============================================================");
        return Ok(());
    }
    // Without the flag a misspelt wrapper in deny.toml would only be a warning.
    let line = "deny --all-features check -D unused-wrapper bans licenses sources";
    cmd::run(&mut cmd::cargo(workspace, line))
}
