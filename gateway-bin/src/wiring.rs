//! The only place where concrete types meet ports.

mod files;
mod outlook;
mod push;
mod way;
mod wording;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use gateway_adapters::{
    api_server::{ApiServer, ApiServerConfig, ApiServerLimits},
    console::Console,
    http::{HttpClient, HttpClientConfig},
    push::platform,
};
use kanban_notify::{
    driver::{Driver, Ports},
    engine::Engine,
    ids::ChannelName,
    key::Identity,
    policy::{Ability, Policy, World},
    ports::{Change, Changes, Channel, Channels, Clock, Wording},
};
use kanban_store::ports::{BoardChanges, BoardSet, LedgerPort, Pace};

use crate::{
    config::{Config, ConfigError, Env},
    gateway::{Options, StartError},
    hermes::{Generation, Hermes, HermesHome, Proc, WorldWatch},
    supervisor::{Found, Supervisor},
    watch::FolderWatch,
};
pub(crate) use outlook::{Outlook, check, find_boards, hermes_now, outlook, push_settings};
use push::PushMaker;
pub(crate) use push::Unusable;
pub(crate) use way::{InTheWay, in_the_way};

/// How long the bytes of a claim are kept at most once it is over.
const KEEP_BODIES: Duration = Duration::from_secs(86_400);

/// Why a gateway had to stop.
pub(crate) type Lost = Arc<kanban_store::StoreError>;

/// Everything the driver needs.
pub(crate) struct Parts {
    pub(crate) changes: WatchedChanges,
    pub(crate) grace: Duration,
    /// Resolves with the reason when the ledger is of no use any more (law D10).
    pub(crate) lost: BoxFuture<'static, Lost>,
    engine: EngineParts,
    ports: Ports,
}

struct EngineParts {
    policy: Policy,
    identity: Identity,
    world: World,
    wording: Option<Arc<dyn Wording>>,
}

impl Parts {
    /// A driver over these parts.
    pub(crate) fn driver(&self) -> Driver {
        let EngineParts { policy, identity, world, wording } = &self.engine;
        let engine = Engine::new(policy.clone(), identity.clone(), world.clone());
        let engine = match wording {
            Some(wording) => engine.with_wording(Arc::clone(wording)),
            None => engine,
        };
        Driver::new(engine, self.ports.clone())
    }
}

/// Joins everything that the configuration and Hermes' home name.
pub(crate) fn join(
    config: Config,
    env: Env,
    options: Options,
    clock: Arc<dyn Clock>,
) -> Result<(Parts, Supervisor), StartError> {
    let home = HermesHome::resolve(&config.hermes_home, &env);
    let watch = WorldWatch::new(home, env.clone(), Proc::system());
    if watch.hermes().is_profile(&config.owner) {
        return Err(StartError::OwnerIsProfile(config.owner));
    }
    let client = client(&config)?;
    let maker = ChannelMaker {
        push: PushMaker::new(client.clone(), env.clone()),
        client,
        config: config.clone(),
        extra: options.channels,
        console: console(&config, options.console)?,
        told: Mutex::default(),
    };
    let channels = Arc::new(ChannelMap::default());
    let world = maker.usable_world(watch.hermes(), Generation::Unknown, &channels)?;
    let wording = wording::of(&config)?;
    let policy = config.policy(options.accept);
    maker.agree(watch.hermes(), &policy, &world)?;
    let ledger = Arc::new(
        LedgerPort::open(&config.ledger)
            .map_err(|error| StartError::Ledger(config.ledger.clone(), error))?,
    );
    for migration in ledger.migrated() {
        tracing::info!(migration, "ledger migrated");
    }
    let folders = FolderWatch::new(|_| {});
    let hears = {
        let mut folders = folders;
        folders.add(config.ledger.parent().unwrap_or(&config.ledger)).works()
    };
    let pace = if hears { Pace { poll: config.poll, ..Pace::WATCHED } } else { Pace::UNWATCHED };
    let (boards, changes) = BoardSet::new(ledger.clone(), pace);
    let nudged = boards.clone();
    let folders = FolderWatch::new(move |path| nudged.nudge_path(path));

    let generation = Arc::new(AtomicU8::new(0));
    let ports = Ports {
        boards: Arc::new(boards.clone()),
        planner: ledger.clone(),
        claims: ledger.clone(),
        backlog: ledger.clone(),
        channels: channels.clone(),
        files: Arc::new(files::guard(&config, &env)),
        clock,
    };
    let keep = config.keep_outcomes;
    let identity = Identity::new(ledger.identity().id().to_owned(), ledger.identity().secret());
    let changes = WatchedChanges { inner: changes, generation: Arc::clone(&generation) };
    let parts = Parts {
        changes,
        grace: config.grace,
        lost: lost(Arc::clone(&ledger)),
        engine: EngineParts { policy: policy.clone(), identity, world: world.clone(), wording },
        ports,
    };
    let mut supervisor = Supervisor {
        config,
        env,
        policy,
        boards: boards_of(boards),
        folders,
        deaf: BTreeSet::new(),
        watch,
        world,
        make: Box::new(move |hermes, generation| maker.usable_world(hermes, generation, &channels)),
        generation,
        served: BTreeMap::new(),
        tidy: tidy(ledger, keep),
    };
    supervisor.discover().map_err(StartError::Boards)?;
    Ok((parts, supervisor))
}

fn lost(ledger: Arc<LedgerPort>) -> BoxFuture<'static, Lost> {
    Box::pin(async move { ledger.lost().await })
}

/// What the supervisor does with the set of boards.
fn boards_of(boards: BoardSet) -> Arc<dyn crate::supervisor::BoardsInService> {
    Arc::new(boards)
}

impl crate::supervisor::BoardsInService for BoardSet {
    fn add(&self, found: &Found) -> std::io::Result<bool> {
        BoardSet::add(self, &found.path, &found.slug)
    }

    fn remove(&self, path: &std::path::Path) {
        BoardSet::remove(self, path);
    }

    fn announce(&self, world: World) {
        BoardSet::announce(self, Change::World(world));
    }

    fn opened(&self) -> Option<usize> {
        let all = self.status();
        let tried = all.iter().all(|board| board.id.is_some() || board.degraded.is_some());
        tried.then(|| {
            let open = all.iter().filter(|board| board.id.is_some() && board.degraded.is_none());
            open.count()
        })
    }

    fn nudge(&self, path: &std::path::Path) {
        self.nudge_path(path);
    }
}

/// Forgets what is long over, now and then (law D10).
fn tidy(ledger: Arc<LedgerPort>, keep: Duration) -> crate::supervisor::Tidy {
    Arc::new(move || {
        let ledger = Arc::clone(&ledger);
        Box::pin(async move {
            if let Err(error) = ledger.prune(keep, keep.min(KEEP_BODIES)).await {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::warn!(error, "pruning the ledger failed");
            }
        })
    })
}

/// A client that keeps as many connections as requests may be under way.
fn client(config: &Config) -> Result<HttpClient, StartError> {
    let standard = HttpClientConfig::default();
    let idle_per_host = standard.idle_per_host.max(config.concurrency.0);
    HttpClient::new(&HttpClientConfig { idle_per_host, ..standard }).map_err(no_channel)
}

fn console(
    config: &Config,
    writer: Option<gateway_adapters::console::Writer>,
) -> Result<Option<Arc<dyn Channel>>, StartError> {
    if !config.console {
        return Ok(None);
    }
    let name = ChannelName("console".to_owned());
    let console = match writer {
        Some(writer) => Console::to(name, writer),
        None => Console::stdout(name),
    };
    Ok(Some(Arc::new(console.map_err(no_channel)?)))
}

fn no_channel(error: gateway_adapters::AdapterError) -> StartError {
    StartError::Channel(Box::new(error))
}

/// Makes channels of what Hermes and the configuration name.
struct ChannelMaker {
    client: HttpClient,
    config: Config,
    push: PushMaker,
    extra: Vec<(ChannelName, Ability, Arc<dyn Channel>)>,
    console: Option<Arc<dyn Channel>>,
    /// What was told of platforms that cannot be used, so that it is told once.
    told: Mutex<BTreeSet<(&'static str, String)>>,
}

impl ChannelMaker {
    /// Whether nobody told us to serve a push platform: its credentials were only found in Hermes' files.
    /// While Hermes serves it, its rows are Hermes' (law O1).
    fn is_only_found(&self, name: &str) -> bool {
        let extra = self.extra.iter().any(|(channel, ..)| channel.as_str() == name);
        platform(name).is_some() && !self.config.push.contains_key(name) && !extra
    }

    /// Refuses to answer for rows that a live notifier serves too, unless that is wanted (law O4).
    fn agree(&self, hermes: &Hermes, policy: &Policy, world: &World) -> Result<(), StartError> {
        let mut ownership = hermes.ownership(policy, world).into_iter();
        let contested = ownership.find(|one| one.contested && !self.is_only_found(&one.platform));
        contested.map_or(Ok(()), |one| Err(StartError::Contested(one.line)))
    }

    /// The world as it is now, where all works that we were told to use; what was only found is told and
    /// left out.
    fn usable_world(
        &self,
        hermes: &Hermes,
        generation: Generation,
        map: &ChannelMap,
    ) -> Result<World, StartError> {
        let (world, unusable) = self.world(hermes, generation, map)?;
        let found = all_usable(unusable)?;
        let found: BTreeSet<_> =
            found.into_iter().map(|one| (one.platform, one.problem.to_string())).collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for (platform, error) in found.difference(&told) {
            tracing::warn!(
                platform,
                error,
                "a platform cannot be used as it is set; it is not served"
            );
        }
        *told = found;
        Ok(world)
    }

    /// The world as it is now, and the platforms that cannot be used; the channels in `map` are replaced
    /// by those that can be made.
    fn world(
        &self,
        hermes: &Hermes,
        generation: Generation,
        map: &ChannelMap,
    ) -> Result<(World, Vec<Unusable>), StartError> {
        let mut made: BTreeMap<ChannelName, (Ability, Arc<dyn Channel>)> = BTreeMap::new();
        for server in hermes.api_servers(&self.config.api_servers) {
            let name = ChannelName::api_server(&server.profile);
            let limits =
                ApiServerLimits { turn: self.config.wake_timeout, ..ApiServerLimits::default() };
            let config = ApiServerConfig {
                name: name.clone(),
                base: server.url,
                key: server.key,
                key_from: server.key_from,
                model: server.model,
                limits,
            };
            let channel = ApiServer::new(self.client.clone(), config).map_err(no_channel)?;
            // The key cache lives 300 s and in memory: only the history tells for sure (law W6).
            let ability = Ability { deduplicates: false, readable: true };
            made.insert(name, (ability, Arc::new(channel)));
        }
        if let Some(console) = &self.console {
            let name = ChannelName("console".to_owned());
            made.insert(name, (Ability::default(), Arc::clone(console)));
        }
        let (push, unusable) = self.push.make(&self.config.push, hermes);
        for (platform, ability, channel) in push {
            made.insert(platform.channel(), (ability, channel));
        }
        for (name, ability, channel) in &self.extra {
            made.insert(name.clone(), (*ability, Arc::clone(channel)));
        }
        let abilities = made.iter().map(|(name, (ability, _))| (name.clone(), *ability)).collect();
        map.replace(made.into_iter().map(|(name, (_, channel))| (name, channel)).collect());
        let mut world = hermes.world(generation, abilities, self.config.alongside.clone());
        world.up_since = hermes.up_since(&self.config.api_servers);
        Ok((world, unusable))
    }
}

/// The channels by name; replaced as a whole when the world changes.
#[derive(Default)]
struct ChannelMap(RwLock<BTreeMap<ChannelName, Arc<dyn Channel>>>);

impl ChannelMap {
    fn replace(&self, channels: BTreeMap<ChannelName, Arc<dyn Channel>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = channels;
    }
}

impl Channels for ChannelMap {
    fn get(&self, name: &ChannelName) -> Option<Arc<dyn Channel>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// The boards' news, noting on the way what generation of Hermes writes the files.
pub(crate) struct WatchedChanges {
    inner: BoardChanges,
    generation: Arc<AtomicU8>,
}

#[async_trait]
impl Changes for WatchedChanges {
    async fn next(&mut self) -> Option<Change> {
        let change = self.inner.next().await;
        if let Some(Change::Opened(start)) = &change {
            let seen = if start.has_delivery_mode { 2 } else { 1 };
            self.generation.fetch_max(seen, Ordering::Relaxed);
        }
        change
    }
}

/// The generation that the boards opened so far tell of.
pub(crate) fn generation(seen: &AtomicU8) -> Generation {
    match seen.load(Ordering::Relaxed) {
        0 => Generation::Unknown,
        1 => Generation::Old,
        _ => Generation::Newer,
    }
}

/// Refuses what we were told to use and cannot; answers with the rest.
fn all_usable(unusable: Vec<Unusable>) -> Result<Vec<Unusable>, StartError> {
    let (wanted, found): (Vec<_>, Vec<_>) = unusable.into_iter().partition(|one| one.is_wanted);
    let mut problems: Vec<_> = wanted.into_iter().map(|one| one.problem).collect();
    // What several of them need is told once.
    problems.dedup();
    if problems.is_empty() { Ok(found) } else { Err(ConfigError { problems }.into()) }
}
