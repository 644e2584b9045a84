//! Keeps an eye on the world: boards that appear and vanish, Hermes that comes and goes (laws O4, B6).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, atomic::AtomicU8},
    time::Duration,
};

use kanban_notify::{
    policy::{Policy, World},
    ports::Clock,
};

use crate::{
    config::{Config, Env},
    gateway::StartError,
    hermes::{Generation, Hermes, WorldWatch},
    watch::{FolderWatch, Hearing},
    wiring,
};

/// How often the world is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How many looks lie before the first tidying of the ledger: a gateway that never lives for an hour
/// must not let it grow for ever.
const FIRST_TIDY: u32 = 10;
/// The most looks between two tidyings.
const TIDY_AFTER: u64 = 3_600;

/// A board by name and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) slug: String,
}

/// What is done with boards here.
pub(crate) trait BoardsInService: Send + Sync {
    /// Serves one more board; false when it is served already.
    fn add(&self, found: &Found) -> std::io::Result<bool>;
    /// Serves a board no more.
    fn remove(&self, path: &Path);
    /// Tells the engine of another world.
    fn announce(&self, world: World);
    /// How many boards could be opened; `None` while some have not been tried yet.
    fn opened(&self) -> Option<usize>;
    /// Something may have changed in a folder of boards.
    fn nudge(&self, path: &Path);
}

/// Makes the channels and the domain's world of what Hermes is like.
pub(crate) type MakeWorld = Box<dyn Fn(&Hermes, Generation) -> Result<World, StartError> + Send>;

/// Work on the ledger that is not urgent.
pub(crate) type Tidy = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The eye.
pub(crate) struct Supervisor {
    pub(crate) config: Config,
    pub(crate) env: Env,
    pub(crate) policy: Policy,
    pub(crate) boards: Arc<dyn BoardsInService>,
    pub(crate) folders: FolderWatch,
    /// Folders that cannot be watched, for saying so once.
    pub(crate) deaf: BTreeSet<PathBuf>,
    pub(crate) watch: WorldWatch,
    pub(crate) world: World,
    pub(crate) make: MakeWorld,
    pub(crate) generation: Arc<AtomicU8>,
    /// Boards in service, by path.
    pub(crate) served: BTreeMap<PathBuf, Found>,
    pub(crate) tidy: Tidy,
}

impl Supervisor {
    /// Looks once a second, for ever.
    pub(crate) async fn run(mut self, clock: Arc<dyn Clock>) {
        let mut seen = Generation::Unknown;
        let mut tidy_in = FIRST_TIDY;
        loop {
            clock.sleep_until(clock.now().after(EVERY)).await;
            let generation = wiring::generation(&self.generation);
            if self.watch.poll() || generation != seen {
                seen = generation;
                self.world_changed(generation);
            }
            if let Err(error) = self.discover() {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "boards cannot be looked for");
            }
            tidy_in = tidy_in.saturating_sub(1);
            if tidy_in == 0 {
                (self.tidy)().await;
                tidy_in = self.tidy_after();
            }
        }
    }

    /// How many looks lie between two tidyings: an hour, or as long as outcomes are kept.
    fn tidy_after(&self) -> u32 {
        let looks = self.config.keep_outcomes.as_secs().clamp(1, TIDY_AFTER);
        u32::try_from(looks).unwrap_or(u32::MAX)
    }

    /// How many boards are in service.
    pub(crate) fn boards(&self) -> usize {
        self.served.len()
    }

    /// Asks how many boards could be opened.
    pub(crate) fn opened(&self) -> Arc<dyn Fn() -> Option<usize> + Send + Sync> {
        let boards = Arc::clone(&self.boards);
        Arc::new(move || boards.opened())
    }

    /// Says how Hermes and we share the work.
    pub(crate) fn announce(&self) {
        let hermes = self.watch.hermes();
        let generation = wiring::generation(&self.generation);
        let setup = hermes.setup_line(&self.policy.owner, generation);
        tracing::info!(setup, "this is how Hermes and we share the work");
        for platform in hermes.ownership(&self.policy, &self.world) {
            tracing::info!(
                platform = platform.platform,
                ownership = platform.line,
                "this is whose rows are whose"
            );
        }
        for problem in hermes.problems() {
            tracing::warn!(error = problem, "something of Hermes cannot be used");
        }
    }

    fn world_changed(&mut self, generation: Generation) {
        match (self.make)(self.watch.hermes(), generation) {
            Ok(world) => {
                // Where it is the same, a channel may still be another: with another key, elsewhere.
                self.boards.announce(world.clone());
                if world != self.world {
                    self.world = world;
                    self.announce();
                }
            }
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::error!(error, "channels cannot be made; they stay as they were");
            }
        }
    }

    /// Takes boards into service that appeared, and out of it those that were archived or removed.
    pub(crate) fn discover(&mut self) -> Result<(), kanban_store::StoreError> {
        let found = wiring::find_boards(&self.config, &self.env)?;
        for board in &found {
            if self.served.contains_key(&board.path) {
                continue;
            }
            match self.boards.add(board) {
                Ok(_) => {
                    tracing::info!(board.slug, board.path = %board.path.display(), "serving a board");
                    self.served.insert(board.path.clone(), board.clone());
                }
                Err(error) => {
                    tracing::error!(board.slug, error = error.to_string(), "no thread for a board");
                }
            }
        }
        // A file that is only missing is waited for; one that is archived is served no more.
        let gone: Vec<PathBuf> = self
            .served
            .keys()
            .filter(|path| !found.iter().any(|board| board.path == **path) && path.exists())
            .cloned()
            .collect();
        for path in gone {
            self.boards.remove(&path);
            if let Some(board) = self.served.remove(&path) {
                tracing::info!(board.slug, "a board was archived and is served no more");
            }
        }
        self.listen();
        Ok(())
    }

    /// Hears of the folder of each board, and of none else. A folder that was made anew is another one
    /// to the kernel, although it has the same name.
    fn listen(&mut self) {
        let wanted = self.served.keys().filter_map(|board| board.parent().map(Path::to_owned));
        let wanted: BTreeSet<PathBuf> = wanted.filter(|folder| folder.is_dir()).collect();
        for folder in self.folders.watched().difference(&wanted).cloned().collect::<Vec<_>>() {
            self.folders.remove(&folder);
        }
        for folder in &wanted {
            if !self.folders.holds(folder) {
                self.hear(folder);
            }
        }
        self.deaf.retain(|folder| wanted.contains(folder));
    }

    fn hear(&mut self, folder: &Path) {
        match self.folders.add(folder) {
            Hearing::Events => {
                if self.deaf.remove(folder) {
                    tracing::info!("changes of a board are heard again");
                }
                // For what was written before.
                self.boards.nudge(folder);
            }
            Hearing::Deaf(reason) => {
                if self.deaf.insert(folder.to_owned()) {
                    tracing::warn!(
                        error = reason,
                        "changes of a board are not heard, only looked for"
                    );
                }
            }
        }
    }
}
