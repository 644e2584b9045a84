//! The real Hermes package, each version in a virtual environment of its own, made once and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::cmd;

/// The variable that tells the tests where the environment is.
pub const VARIABLE: &str = "KANBAN_GATEWAY_HERMES_VENV";

/// The variable that tells the tests where the earlier releases are, each in a folder of its name.
pub const RELEASES_VARIABLE: &str = "KANBAN_GATEWAY_HERMES_RELEASES";

/// Earlier releases whose boards are tried: one of each shape that the file has had.
pub const RELEASES: [&str; 4] = ["0.13.0", "0.15.2", "0.17.0", "0.18.2"];

const HERMES: &str = "hermes-agent";

const VERSION: &str = "0.19.0";

/// The interpreters to try; the plain name first, because it is the one people look after.
const PYTHONS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python"];

/// What the package declares as `Requires-Python`.
const MINORS: std::ops::RangeInclusive<u32> = 11..=13;

const PIP: [&str; 3] = ["-m", "pip", "--disable-pip-version-check"];

/// Answers where the environment is, after making it if it is not there.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    let venv = Environment {
        folder: target.join(format!("hermes-venv-{VERSION}")),
        name: HERMES,
        version: VERSION,
        needs: "aiohttp",
    };
    // Two runs at once would build into the same folder.
    let lock = fs::File::create(target.join(format!("hermes-venv-{VERSION}.lock")))?;
    lock.lock().context("waiting for another run that makes the environment")?;
    venv.provide(|| {
        // Its API server wants aiohttp, which the package declares only for its chat platforms.
        venv.install(&["aiohttp"])
    })?;
    Ok(venv.folder)
}

/// The variable that tells the tests where the receivers for push platforms are.
pub const COUNTERPARTS_VARIABLE: &str = "KANBAN_GATEWAY_COUNTERPARTS_VENV";

/// Answers where the receivers for push platforms are, after installing them if they are not there.
pub fn prepare_counterparts(target: &Path) -> Result<PathBuf> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    let venv = Environment {
        folder: target.join("counterparts-venv"),
        name: "standardwebhooks",
        version: "1.1.0",
        needs: "aiosmtpd.controller, svix.webhooks",
    };
    let lock = fs::File::create(target.join("counterparts-venv.lock"))?;
    lock.lock().context("waiting for another run that makes the environment")?;
    venv.provide(|| venv.install(&["aiosmtpd==1.4.6", "svix==2.9.1"]))?;
    Ok(venv.folder)
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
    let release = Environment { folder, name: HERMES, version, needs: "hermes_cli.kanban" };
    release
        .provide(|| {
            let bare = ["-m", "venv", "--without-pip"];
            cmd::capture(Command::new(interpreter(full)).args(bare).arg(&release.folder))?;
            let mut pip = Command::new(interpreter(full));
            pip.args(PIP).arg("--python").arg(interpreter(&release.folder));
            pip.args(["install", "--quiet", "--no-deps", "--no-compile", &release.package()]);
            cmd::capture(&mut pip).map(drop)
        })
        .with_context(|| format!("hermes-agent {version}"))
}

/// A virtual environment with one version of a package.
struct Environment {
    folder: PathBuf,
    /// The package.
    name: &'static str,
    version: &'static str,
    /// A module that must be there for the tests.
    needs: &'static str,
}

impl Environment {
    /// Makes it with `install`, unless it is there and works.
    fn provide(&self, install: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_whole() {
            return Ok(());
        }
        let folder = &self.folder;
        eprintln!("making {}; this happens once", folder.display());
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        install()?;
        let unfinished = self.marker().with_extension("part");
        fs::write(&unfinished, format!("{}\n", self.package()))?;
        fs::rename(unfinished, self.marker())?;
        if !self.is_whole() {
            bail!("{} does not work after its installation", folder.display());
        }
        Ok(())
    }

    /// Makes it anew, with these packages besides.
    fn install(&self, others: &[&str]) -> Result<()> {
        let python = find_python()?;
        cmd::capture(Command::new(python).args(["-m", "venv"]).arg(&self.folder))?;
        let mut pip = self.python();
        pip.args(PIP).args(["install", "--quiet", &self.package()]).args(others);
        cmd::capture(&mut pip).map(drop)
    }

    fn is_whole(&self) -> bool {
        let Self { name, needs, .. } = self;
        let ask = format!("import importlib.metadata as m, {needs}; print(m.version('{name}'))");
        // The marker alone would not notice that the interpreter behind it has been removed.
        self.marker().is_file()
            && cmd::capture(self.python().args(["-c", &ask]))
                .is_ok_and(|version| version.trim() == self.version)
    }

    /// Written last, so that an interrupted installation is begun again.
    fn marker(&self) -> PathBuf {
        self.folder.join("installed")
    }

    fn package(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }

    fn python(&self) -> Command {
        Command::new(interpreter(&self.folder))
    }
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
