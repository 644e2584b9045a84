//! Which real programs took part in a run, with the versions that are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::hermes::RELEASES;
use super::results::Results;
use super::venv::interpreter;
use crate::cmd;

/// The environments of a run; `None` where one could not be had.
pub struct Environments<'a> {
    /// Hermes.
    pub hermes: Option<&'a PathBuf>,
    /// A folder with one for each earlier release of Hermes.
    pub releases: Option<&'a PathBuf>,
    /// Receivers and vendors' clients.
    pub counterparts: Option<&'a PathBuf>,
    /// The Matrix server.
    pub synapse: Option<&'a PathBuf>,
}

/// Packages of the counterparts, and what the tests with each have in their path.
const COUNTERPARTS: [(&str, &str); 6] = [
    ("aiosmtpd", "::counterparts::email::"),
    ("standardwebhooks", "::counterparts::signed_webhook::"),
    ("svix", "::counterparts::signed_webhook::"),
    ("python-telegram-bot", "::counterparts::telegram::"),
    ("slack_sdk", "::counterparts::slack::"),
    ("discord.py", "::counterparts::discord::"),
];

/// One line, or nothing where none took part.
pub fn line(results: &Results, environments: &Environments<'_>) -> Result<Option<String>> {
    let mut told = Vec::new();
    let mut tell = |venv: &Path, package: &str, tests: usize| -> Result<()> {
        if tests > 0 {
            told.push(format!("{package} {} ({tests} tests)", version(venv, package)?));
        }
        Ok(())
    };
    if let Some(venv) = environments.hermes {
        let earlier = RELEASES.iter().map(|release| results.passed(&tests_with(release)));
        let newest = results.passed("::interop::").saturating_sub(earlier.sum());
        tell(venv, "hermes-agent", newest)?;
    }
    if let Some(releases) = environments.releases {
        for release in RELEASES {
            tell(&releases.join(release), "hermes-agent", results.passed(&tests_with(release)))?;
        }
    }
    if let Some(venv) = environments.synapse {
        tell(venv, "matrix-synapse", results.passed("::synapse::"))?;
    }
    if let Some(venv) = environments.counterparts {
        for (package, part) in COUNTERPARTS {
            tell(venv, package, results.passed(part))?;
        }
    }
    let is_any = !told.is_empty();
    Ok(is_any.then(|| format!("real counterparts: {}", told.join(", "))))
}

/// What the tests with an earlier release of Hermes have in their path.
fn tests_with(release: &str) -> String {
    format!("::interop::{}", super::tests_of(release))
}

/// As the package itself says.
fn version(venv: &Path, package: &str) -> Result<String> {
    let ask = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
    let said = cmd::capture(Command::new(interpreter(venv)).args(["-c", ask, package]))?;
    Ok(said.trim().to_owned())
}
