//! Where files of tasks may be taken from: what the configuration and Hermes say, each time they are looked at.

use gateway_adapters::files::{FileGuard, Places};

use crate::{
    config::{Config, Env},
    hermes::{HermesHome, Media},
};

/// A guard for these settings.
pub(super) fn guard(config: &Config, env: &Env) -> FileGuard {
    let (config, env) = (config.clone(), env.clone());
    FileGuard::new(move || places(&config, &env))
}

fn places(config: &Config, env: &Env) -> Places {
    let hermes = HermesHome::resolve(&config.hermes_home, env);
    let media = Media::read(&hermes.root, env);
    let strict = config.files.strict || media.strict;
    let mut allowed = config.files.roots.clone();
    allowed.extend(media.allowed);
    if !strict {
        allowed.extend(media.work);
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
