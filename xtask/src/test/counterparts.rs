//! Receivers for push platforms and vendors' clients, which others have written, in a virtual environment.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::venv::Environment;

/// The variable that tells the tests where they are.
pub const VARIABLE: &str = "KANBAN_GATEWAY_COUNTERPARTS_VENV";

/// Answers where they are, after installing them if they are not there.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    let venv = Environment {
        folder: target.join("counterparts-venv"),
        package: "standardwebhooks",
        version: "1.1.0",
        needs: "aiosmtpd.controller, svix.webhooks, telegram.ext, slack_sdk.webhook, discord.http",
    };
    venv.prepare(&[
        "aiosmtpd==1.4.6",
        "svix==2.9.1",
        "python-telegram-bot==22.8",
        "slack_sdk==3.48.0",
        "discord.py==2.7.1",
    ])
}
