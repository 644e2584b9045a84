//! Virtual environments of Python, made once, checked and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cmd;

/// The interpreters to try; the plain name first, because it is the one people look after.
const PYTHONS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python"];

/// What the packages declare as `Requires-Python`.
const MINORS: std::ops::RangeInclusive<u32> = 11..=13;

/// How pip is called.
pub const PIP: [&str; 3] = ["-m", "pip", "--disable-pip-version-check"];

/// A virtual environment with one version of one package.
pub struct Environment {
    /// Where it is.
    pub folder: PathBuf,
    /// The package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// A module that must be there for the tests.
    pub needs: &'static str,
}

impl Environment {
    /// Makes it, with the package and `more` from PyPI, unless it is there; answers its folder.
    ///
    /// # Errors
    ///
    /// No Python, no PyPI, or what is there does not work.
    pub fn prepare(self, more: &[&str]) -> Result<PathBuf> {
        if let Some(above) = self.folder.parent() {
            fs::create_dir_all(above).with_context(|| above.display().to_string())?;
        }
        // Two runs at once would build into the same folder.
        let mut lock = self.folder.clone().into_os_string();
        lock.push(".lock");
        let lock = fs::File::create(lock)?;
        lock.lock().context("waiting for another run that makes the environment")?;
        self.provide(|| {
            let python = find_python()?;
            cmd::capture(Command::new(python).args(["-m", "venv"]).arg(&self.folder))?;
            let install = ["install", "--quiet", "--prefer-binary", &self.requirement()];
            cmd::capture(self.python().args(PIP).args(install).args(more)).map(drop)
        })?;
        Ok(self.folder)
    }

    /// Makes it with `install`, unless it is there and works.
    ///
    /// # Errors
    ///
    /// What `install` says, or that it does not work afterwards.
    pub fn provide(&self, install: impl FnOnce() -> Result<()>) -> Result<()> {
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
        fs::write(&unfinished, format!("{}\n", self.requirement()))?;
        fs::rename(unfinished, self.marker())?;
        if !self.is_whole() {
            bail!("{} does not work after its installation", folder.display());
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        let ask = format!(
            "import importlib.metadata as m, {}; print(m.version('{}'))",
            self.needs, self.package
        );
        // The marker alone would not notice that the interpreter behind it has been removed.
        self.marker().is_file()
            && cmd::capture(self.python().args(["-c", &ask]))
                .is_ok_and(|version| version.trim() == self.version)
    }

    /// Written last, so that an interrupted installation is begun again.
    fn marker(&self) -> PathBuf {
        self.folder.join("installed")
    }

    /// What pip is asked for.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.package, self.version)
    }

    fn python(&self) -> Command {
        Command::new(interpreter(&self.folder))
    }
}

/// The Python of an environment.
pub fn interpreter(venv: &Path) -> PathBuf {
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
