//! The real Hermes package in a virtual environment of its own, made once and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cmd;

/// The variable that tells the tests where the environment is.
pub const VARIABLE: &str = "KANBAN_GATEWAY_HERMES_VENV";

const VERSION: &str = "0.19.0";

/// The interpreters to try; the plain name first, because it is the one people look after.
const PYTHONS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python"];

/// What the package declares as `Requires-Python`.
const MINORS: std::ops::RangeInclusive<u32> = 11..=13;

/// Answers where the environment is, after making it if it is not there.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    let venv = target.join(format!("hermes-venv-{VERSION}"));
    // Two runs at once would build into the same folder.
    let lock = fs::File::create(target.join(format!("hermes-venv-{VERSION}.lock")))?;
    lock.lock().context("waiting for another run that makes the environment")?;
    if !is_whole(&venv) {
        make(&venv)?;
    }
    Ok(venv)
}

/// Written last, so that an interrupted installation is begun again.
fn marker(venv: &Path) -> PathBuf {
    venv.join("installed")
}

fn is_whole(venv: &Path) -> bool {
    let ask = "import importlib.metadata as m, aiohttp; print(m.version('hermes-agent'))";
    // The marker alone would not notice that the interpreter behind it has been removed.
    marker(venv).is_file()
        && cmd::capture(Command::new(interpreter(venv)).args(["-c", ask]))
            .is_ok_and(|version| version.trim() == VERSION)
}

fn make(venv: &Path) -> Result<()> {
    let python = find_python()?;
    eprintln!("making {} with {python}; this happens once", venv.display());
    if venv.exists() {
        fs::remove_dir_all(venv).with_context(|| venv.display().to_string())?;
    }
    cmd::capture(Command::new(python).args(["-m", "venv"]).arg(venv))?;
    let package = format!("hermes-agent=={VERSION}");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    // Its API server wants aiohttp, which the package declares only for its chat platforms.
    cmd::capture(Command::new(interpreter(venv)).args(pip).args([&package, "aiohttp"]))?;
    let unfinished = marker(venv).with_extension("part");
    fs::write(&unfinished, format!("{package}\n"))?;
    fs::rename(unfinished, marker(venv))?;
    if !is_whole(venv) {
        bail!("{} does not work after its installation", venv.display());
    }
    Ok(())
}

fn interpreter(venv: &Path) -> PathBuf {
    venv.join("bin").join("python")
}

fn find_python() -> Result<&'static str> {
    // Debian takes ensurepip away from Python, and then `-m venv` fails half-way.
    let ask = "import sys, venv, ensurepip; print(sys.version_info[0], sys.version_info[1])";
    PYTHONS
        .into_iter()
        .find(|python| {
            cmd::capture(Command::new(python).args(["-c", ask]))
                .is_ok_and(|version| is_supported(&version))
        })
        .context("no Python 3.11 to 3.13 with venv and ensurepip on the PATH")
}

fn is_supported(version: &str) -> bool {
    match version.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["3", minor] => minor.parse().is_ok_and(|minor: u32| MINORS.contains(&minor)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_supported;

    #[test]
    fn only_pythons_the_package_accepts_are_taken() {
        for version in ["3 11\n", "3 13"] {
            assert!(is_supported(version), "{version}");
        }
        for version in ["3 10", "3 14", "2 11", "", "3"] {
            assert!(!is_supported(version), "{version}");
        }
    }
}
