//! The real Hermes package, each version in a virtual environment of its own, made once and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use super::venv::{Environment, PIP, interpreter};
use crate::cmd;

/// The variable that tells the tests where the environment is.
pub const VARIABLE: &str = "KANBAN_GATEWAY_HERMES_VENV";

/// The variable that tells the tests where the earlier releases are, each in a folder of its name.
pub const RELEASES_VARIABLE: &str = "KANBAN_GATEWAY_HERMES_RELEASES";

/// Earlier releases whose boards are tried: one of each shape that the file has had.
pub const RELEASES: [&str; 4] = ["0.13.0", "0.15.2", "0.17.0", "0.18.2"];

const PACKAGE: &str = "hermes-agent";
const VERSION: &str = "0.19.0";

/// Answers where the environment is, after making it if it is not there.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    let venv = Environment {
        folder: target.join(format!("hermes-venv-{VERSION}")),
        package: PACKAGE,
        version: VERSION,
        needs: "aiohttp",
    };
    // Its API server wants aiohttp, which the package declares only for its chat platforms.
    venv.prepare(&["aiohttp"])
}

/// Answers where the earlier releases are, after making those that are not there, all at once.
///
/// Their kanban commands need nothing but the package itself, and `full` has a pip for all.
pub fn prepare_releases(target: &Path, full: &Path) -> Result<PathBuf> {
    let folder = target.join("hermes-releases");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let lock = fs::File::create(target.join("hermes-releases.lock"))?;
    lock.lock().context("waiting for another run that makes the environments")?;
    thread::scope(|scope| {
        let making = RELEASES.map(|version| {
            let folder = folder.join(version);
            scope.spawn(move || release(folder, version, full))
        });
        making.into_iter().try_for_each(|made| {
            made.join().unwrap_or_else(|_| Err(anyhow!("making an environment panicked")))
        })
    })?;
    Ok(folder)
}

fn release(folder: PathBuf, version: &'static str, full: &Path) -> Result<()> {
    let release = Environment { folder, package: PACKAGE, version, needs: "hermes_cli.kanban" };
    release
        .provide(|| {
            let bare = ["-m", "venv", "--without-pip"];
            cmd::capture(Command::new(interpreter(full)).args(bare).arg(&release.folder))?;
            let mut pip = Command::new(interpreter(full));
            pip.args(PIP).arg("--python").arg(interpreter(&release.folder));
            pip.args(["install", "--quiet", "--no-deps", "--no-compile", &release.requirement()]);
            cmd::capture(&mut pip).map(drop)
        })
        .with_context(|| format!("hermes-agent {version}"))
}
