//! A small world: Hermes' home with boards, a receiver, and a configuration whose waits are short.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use gateway_adapters::receiver::{Receiver, ReceiverConfig, Recorded};
use gateway_bin::{
    Gateway, Options, Running,
    config::{self, Config, Env},
    ops::Context,
};
use kanban_store::{board::RowKey, ledger::Operator, write};
use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use super::{
    cards::{Cards, now},
    wait::{eventually, soon},
};

/// Everything around a gateway.
pub struct World {
    folder: TempDir,
    settings: BTreeMap<String, String>,
    servers: Vec<(String, String, String)>,
    /// The API server of the profile `default`.
    pub receiver: Receiver,
    /// The board `default`.
    pub cards: Cards,
}

impl World {
    pub async fn new() -> Self {
        Self::with(ReceiverConfig::default()).await
    }

    pub async fn with(receiver: ReceiverConfig) -> Self {
        Self::on(receiver, |path| write::create_board(path).unwrap()).await
    }

    /// A world whose board `default` is made by somebody else, at the path that is given.
    pub async fn on(receiver: ReceiverConfig, make: impl FnOnce(&Path)) -> Self {
        if let Ok(level) = std::env::var("KGW_TEST_LOG") {
            let log = config::Log { format: config::LogFormat::Human, level };
            drop(gateway_bin::telemetry::init(&log, false));
        }
        let folder = tempfile::tempdir().unwrap();
        let receiver = Receiver::start(receiver).await.unwrap();
        let path = folder.path().join("hermes").join("kanban.db");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        make(&path);
        let mut world = Self {
            cards: Cards::at(&path.canonicalize().unwrap()),
            folder,
            settings: BTreeMap::new(),
            servers: Vec::new(),
            receiver,
        };
        for (key, value) in [
            ("wake.settle", "50ms"),
            ("backoff.first", "100ms"),
            ("backoff.longest", "1s"),
            ("console.enabled", "false"),
            ("log.level", "debug"),
        ] {
            world.set(key, value);
        }
        let (url, key) = (world.receiver.url(), world.receiver.key());
        world.server("default", &url, key.expose_secret());
        world
    }

    /// Sets a key of the configuration, such as `wake.settle`.
    pub fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(key.to_owned(), value.to_owned());
    }

    /// Names the API server of a profile.
    pub fn server(&mut self, profile: &str, url: &str, key: &str) {
        self.servers.retain(|(known, ..)| known != profile);
        self.servers.push((profile.to_owned(), url.to_owned(), key.to_owned()));
    }

    /// A second board, by its name.
    pub fn board(&self, slug: &str) -> Cards {
        let path = self.hermes().join("kanban/boards").join(slug).join("kanban.db");
        write::create_board(&path).unwrap();
        let about = format!(r#"{{"slug": "{slug}", "name": "{slug}", "created_at": {}}}"#, now());
        std::fs::write(path.with_file_name("board.json"), about).unwrap();
        Cards::at(&path.canonicalize().unwrap())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn hermes(&self) -> PathBuf {
        self.folder.path().join("hermes")
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("state").join("ledger.db")
    }

    /// The variables that a process in this world would be given.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut vars = BTreeMap::from([
            ("HOME".to_owned(), text(self.folder.path())),
            ("HERMES_HOME".to_owned(), text(&self.hermes())),
            ("KANBAN_GATEWAY_LEDGER".to_owned(), text(&self.ledger())),
        ]);
        for (key, value) in &self.settings {
            let name = key.to_uppercase().replace('.', "__");
            vars.insert(format!("KANBAN_GATEWAY_{name}"), value.clone());
        }
        let servers = self.servers.iter().map(|(profile, url, key)| {
            format!("{{ profile = \"{profile}\", url = \"{url}\", key = \"{key}\" }}")
        });
        let servers: Vec<String> = servers.collect();
        vars.insert("KANBAN_GATEWAY_API_SERVER".into(), format!("[{}]", servers.join(", ")));
        vars
    }

    pub fn env(&self) -> Env {
        self.variables().into_iter().collect()
    }

    pub fn config(&self) -> Config {
        config::load(None, &self.env()).unwrap().config
    }

    /// What use cases are given.
    pub fn context(&self) -> Context {
        Context { config: self.config(), env: self.env() }
    }

    pub fn gateway(&self, options: Options) -> Gateway {
        Gateway::build(self.config(), self.env(), options).unwrap()
    }

    pub fn start(&self) -> Running {
        self.gateway(Options::default()).start()
    }

    pub fn operator(&self) -> Operator {
        Operator::open(&self.ledger()).unwrap()
    }

    /// The next wake that the receiver of `default` was sent.
    #[track_caller]
    pub fn next_wake(&self) -> impl Future<Output = Arc<Recorded>> {
        soon("a wake", self.receiver.next_wake())
    }

    /// Waits until a row's cursor is at an event or above it.
    #[track_caller]
    pub fn settled(&self, row: &RowKey, event: i64) -> impl Future<Output = ()> {
        let cards = self.cards.clone();
        let row = row.clone();
        eventually("the cursor has reached the event", move || {
            (cards.cursor(&row) >= event).then_some(())
        })
    }

    /// Waits until the ledger has a leg of this state, and answers how many.
    #[track_caller]
    pub fn legs(&self, state: &str, count: i64) -> impl Future<Output = ()> {
        let mut operator = self.operator();
        let what = format!("{count} legs are {state}");
        async move {
            eventually(&what, || {
                let legs = operator.counts().unwrap().legs;
                (legs.get(&*state).copied().unwrap_or(0) == count).then_some(())
            })
            .await;
        }
    }
}
