//! The real hermes-agent as a counterpart, with nothing faked but the model.
//!
//! ```ignore
//! let Some(hermes) = hermes::require() else { return };
//! let stub = StubModel::start().await;
//! let home = hermes.home(&stub.url()).build().await;
//! let gateway = home.gateway().start().await;
//! let reply = gateway.client().post_turn("s-1", "create task Paint the shed").await;
//! ```
//!
//! Everything lives in one temporary folder for each [`Home`]; every process is started with a
//! cleared environment, its proxies point at a dead port, and it is gone when the home is dropped.
#![cfg(test)]

mod client;
mod commands;
mod gateway;
mod home;
mod process;
mod release;
mod rules;
mod stub_model;
mod writer;

mod selftest;
mod selftest_process;

use std::path::{Path, PathBuf};

pub use client::{Client, Reply, Turn, answered};
pub use commands::{Board, Ran};
pub use gateway::{Gateway, GatewayBuilder};
pub use home::{Home, HomeBuilder, Profile};
pub use process::{eventually, free_port};
pub use release::{Commands, Release};
pub use rules::{Answer, Gate, Phase, Rule, Seen};
pub use stub_model::StubModel;
pub use writer::{Load, Summary, Writer};

/// Where `cargo xtask test` says the virtual environment is.
pub const VENV_VAR: &str = "KANBAN_GATEWAY_HERMES_VENV";

/// The one version these tests speak to.
pub const VERSION: &str = "0.19.0";

/// A usable installation of the package.
#[derive(Clone, Debug)]
pub struct Hermes {
    venv: PathBuf,
}

impl Hermes {
    /// Begins a home whose model is served at `model_url` (see [`StubModel::url`]).
    pub fn home(&self, model_url: &str) -> HomeBuilder {
        HomeBuilder::new(self.clone(), model_url)
    }

    /// A program of the virtual environment.
    pub fn program(&self, name: &str) -> PathBuf {
        self.venv.join("bin").join(name)
    }
}

/// The installation, or `None` after saying loudly that the calling test was skipped.
///
/// # Panics
/// With `CI=true`, where a skipped interop test would be a silent hole.
#[track_caller]
pub fn require() -> Option<Hermes> {
    let reason = match std::env::var_os(VENV_VAR) {
        None => format!("{VENV_VAR} is not set"),
        Some(path) => match usable(Path::new(&path)) {
            Ok(hermes) => return Some(hermes),
            Err(reason) => reason,
        },
    };
    skipped(VERSION, &reason)
}

/// Says loudly that the calling test is skipped.
#[track_caller]
fn skipped<T>(version: &str, reason: &str) -> Option<T> {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed test");
    let line = format!(
        "SKIPPED: {test}: hermes-agent {version} is not installed; run `cargo xtask test` ({reason})"
    );
    assert!(
        !std::env::var("CI").is_ok_and(|ci| ci == "true"),
        "in CI the package is required: {line}"
    );
    // Past the capture of the test harness, so that a skip is seen in a green run.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes());
    None
}

fn usable(venv: &Path) -> Result<Hermes, String> {
    let venv = std::path::absolute(venv).map_err(|e| format!("{}: {e}", venv.display()))?;
    for program in ["bin/python", "bin/hermes"] {
        if !venv.join(program).is_file() {
            return Err(format!("{} has no {program}", venv.display()));
        }
    }
    let lib =
        std::fs::read_dir(venv.join("lib")).map_err(|e| format!("{}: {e}", venv.display()))?;
    let found =
        lib.filter_map(Result::ok).map(|entry| entry.path().join("site-packages")).any(|site| {
            site.join(format!("hermes_agent-{VERSION}.dist-info")).is_dir()
                && site.join("aiohttp").is_dir()
        });
    if !found {
        return Err(format!("{} lacks hermes-agent {VERSION} or aiohttp", venv.display()));
    }
    Ok(Hermes { venv })
}
