//! Everything that a delivery depends on, looked at once: each finding with what to do. Sends no message and
//! changes nothing.

mod channels;
mod places;
mod sharing;

use serde::Serialize;

use super::{Context, status};

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing to do.
    Ok,
    /// It works, or will by itself, and needs a look.
    Warn,
    /// It does not work until somebody does something.
    Fail,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What kind of thing it is about: `configuration`, `clock`, `ledger`, `board`, `watching`, `hermes`,
    /// `rows`, `process`, `channel` or `deliveries`.
    pub area: &'static str,
    /// Which one; empty where there is only one.
    pub subject: String,
    /// How it stands.
    pub level: Level,
    /// The same in words.
    pub said: String,
    /// What to do; empty where there is nothing.
    pub next: String,
}

/// All findings.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of them.
    pub level: Level,
    /// Whether a process delivers.
    pub delivering: bool,
    /// Each of them.
    pub checks: Vec<Check>,
}

/// Looks at everything; what needs the network is left out where it is not wanted.
pub async fn doctor(ctx: &Context, offline: bool) -> Report {
    let status = status::status(ctx);
    let mut checks = vec![sharing::configuration(ctx), places::clock(ctx, &status)];
    checks.extend(places::ledger(ctx));
    checks.extend(places::boards(&status));
    checks.push(places::watching(ctx, &status));
    checks.extend(sharing::hermes(ctx, &status));
    checks.push(sharing::processes(&status));
    checks.extend(channels::channels(ctx, offline).await);
    checks.extend(sharing::deliveries(&status));
    Report {
        level: checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok),
        delivering: !status.instances.is_empty(),
        checks,
    }
}

impl Check {
    fn new(area: &'static str, subject: impl Into<String>, said: impl Into<String>) -> Self {
        let (subject, said) = (subject.into(), said.into());
        Self { area, subject, level: Level::Ok, said, next: String::new() }
    }

    /// The same as something that needs a look, or more.
    fn needs(self, level: Level, next: impl Into<String>) -> Self {
        Self { level, next: next.into(), ..self }
    }
}
