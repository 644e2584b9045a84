//! What there is at this moment, for commands that only look.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use gateway_adapters::push::{Platform, Settings};
use kanban_notify::{
    ids::ChannelName,
    policy::World,
    ports::{Channel, Channels as _},
};
use kanban_store::board::discovery;

use super::{
    ChannelMaker, ChannelMap, all_usable, client, console,
    push::{self, PushMaker, Unusable},
};
use crate::{
    config::{Config, Env},
    gateway::StartError,
    hermes::{Generation, Hermes, HermesHome, Proc, WorldWatch, board_variables},
    supervisor::Found,
};

/// Hermes as it is at this moment.
pub(crate) fn hermes_now(config: &Config, env: &Env) -> Hermes {
    let home = HermesHome::resolve(&config.hermes_home, env);
    WorldWatch::new(home, env.clone(), Proc::system()).hermes().clone()
}

/// The world, and what is missing in it.
#[derive(Default)]
pub(crate) struct Outlook {
    /// The world.
    pub(crate) world: World,
    /// Platforms that something is set for and that cannot be served with it.
    pub(crate) unusable: Vec<Unusable>,
    channels: ChannelMap,
}

impl Outlook {
    /// The channel called `name`, as `run` would have it.
    pub(crate) fn channel(&self, name: &ChannelName) -> Option<Arc<dyn Channel>> {
        self.channels.get(name)
    }
}

/// The outlook with Hermes as it is.
pub(crate) fn outlook(config: &Config, env: &Env, hermes: &Hermes) -> Result<Outlook, StartError> {
    let channels = ChannelMap::default();
    let (world, unusable) = looking(config, env)?.world(hermes, Generation::Unknown, &channels)?;
    Ok(Outlook { world, unusable, channels })
}

/// Refuses what `run` would refuse of the configuration, and answers with what it would only tell of.
pub(crate) fn check(config: &Config, env: &Env) -> Result<Vec<Unusable>, StartError> {
    let hermes = hermes_now(config, env);
    if hermes.is_profile(&config.owner) {
        return Err(StartError::OwnerIsProfile(config.owner.clone()));
    }
    let maker = looking(config, env)?;
    let (world, unusable) = maker.world(&hermes, Generation::Unknown, &ChannelMap::default())?;
    let found = all_usable(unusable)?;
    maker.agree(&hermes, &config.policy(false), &world)?;
    Ok(found)
}

/// What is set for a push platform, by us or else in Hermes' files.
pub(crate) fn push_settings(config: &Config, hermes: &Hermes, platform: &Platform) -> Settings {
    push::settings(platform, &config.push, hermes)
}

fn looking(config: &Config, env: &Env) -> Result<ChannelMaker, StartError> {
    let client = client(config)?;
    Ok(ChannelMaker {
        push: PushMaker::new(client.clone(), env.clone()),
        client,
        config: config.clone(),
        extra: Vec::new(),
        console: console(config, None)?,
        told: Mutex::default(),
    })
}

/// Every board that the configuration and Hermes' home name.
pub(crate) fn find_boards(
    config: &Config,
    env: &Env,
) -> Result<Vec<Found>, kanban_store::StoreError> {
    let variables = board_variables(&config.hermes_home, env);
    let mut found: Vec<Found> = discovery::discover(&variables)?
        .into_iter()
        .filter(|board| board.present && !board.archived)
        .map(|board| Found { path: board.path, slug: board.slug })
        .collect();
    for path in &config.boards {
        let board = Found { path: discovery::real(path), slug: slug_of(path) };
        if found.iter().all(|known| known.path != board.path) {
            found.push(board);
        }
    }
    Ok(found)
}

/// A board that is named by its path alone is called after its folder or file.
fn slug_of(path: &Path) -> String {
    let stem = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let folder =
        path.parent().and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
    match (stem.as_deref(), folder) {
        (Some("kanban"), Some(folder)) => folder,
        (Some(stem), _) => stem.to_owned(),
        (None, _) => path.display().to_string(),
    }
}
