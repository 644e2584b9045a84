//! A real Matrix server, in a virtual environment of its own, made once and kept.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::venv::Environment;

/// The variable that tells the tests where the environment is.
pub const VARIABLE: &str = "KANBAN_GATEWAY_SYNAPSE_VENV";

/// Answers where the environment is, after making it if it is not there.
///
/// # Errors
///
/// No Python, no PyPI, or what is there does not work.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    let version = "1.163.2";
    let venv = Environment {
        folder: target.join(format!("synapse-venv-{version}")),
        package: "matrix-synapse",
        version,
        needs: "synapse.app.homeserver",
    };
    venv.prepare(&[])
}
