//! Where files of tasks may be taken from: what the configuration and Hermes say, each time they are looked at.

use std::path::{Path, PathBuf};

use gateway_adapters::files::{FileGuard, Places};

use crate::{
    config::{Config, Env},
    hermes::{HermesHome, board_variables},
};

/// A guard for these settings.
pub(super) fn guard(config: &Config, env: &Env) -> FileGuard {
    let (config, env) = (config.clone(), env.clone());
    FileGuard::new(move || places(&config, &env))
}

fn places(config: &Config, env: &Env) -> Places {
    let hermes = HermesHome::resolve(&config.hermes_home, env);
    let variable = board_variables(&config.hermes_home, env);
    let folders = |name: &str| -> Vec<PathBuf> {
        let text = variable(name).unwrap_or_default();
        let folders = text.split([':', ',']).map(str::trim).filter(|folder| !folder.is_empty());
        folders.map(|folder| env.expand(Path::new(folder))).collect()
    };
    let is_on = |name| {
        let value: String = variable(name).unwrap_or_default();
        ["1", "true", "yes", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
    };
    let strict = config.files.strict || is_on("HERMES_MEDIA_DELIVERY_STRICT");
    let mut allowed = config.files.roots.clone();
    allowed.extend(folders("HERMES_MEDIA_ALLOW_DIRS"));
    if !strict {
        allowed.extend(folders("HERMES_KANBAN_WORKSPACES_ROOT"));
        allowed.extend(folders("HERMES_KANBAN_ATTACHMENTS_ROOT"));
    }
    let mut kept = config.files.kept.clone();
    kept.push(config.ledger.clone());
    kept.extend(config.boards.clone());
    let mut places = Places {
        user: env.home(),
        homes: hermes.profiles().into_iter().map(|profile| profile.path).collect(),
        allowed,
        kept,
        strict,
    };
    places.homes.extend([hermes.home, hermes.root, hermes.kanban_home]);
    match super::find_boards(config, env) {
        Ok(boards) => places.kept.extend(boards.into_iter().map(|board| board.path)),
        // Where nobody knows what is a board, everything could be one.
        Err(_) => (places.strict, places.allowed) = (true, Vec::new()),
    }
    places
}
