//! A temporary Hermes home: config.yaml, .env, and the environment of its processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, LazyLock};

use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::process::{free_port, living_in, signal};
use super::{Board, Client, GatewayBuilder, Hermes, Ran};

/// How many homes there may be at once: each stands for a Hermes that takes most of a core while it
/// starts, and tests that wait for it should not wait for all the others too. A test that wants a
/// second home drops its first, or two such tests would wait for each other.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Semaphore::new((cores / 2).max(2))
});

/// What a home is made with. The defaults are those of a user's machine.
#[derive(Debug)]
pub struct HomeBuilder {
    hermes: Hermes,
    model_url: String,
    max_concurrent_runs: u32,
    dispatch_interval_seconds: Option<u32>,
    max_turns: Option<u32>,
    model_attempts: u32,
    kanban: String,
    config: String,
}

impl HomeBuilder {
    pub(super) fn new(hermes: Hermes, model_url: &str) -> Self {
        Self {
            hermes,
            model_url: model_url.to_owned(),
            max_concurrent_runs: 10,
            dispatch_interval_seconds: None,
            max_turns: None,
            model_attempts: 1,
            kanban: String::new(),
            config: String::new(),
        }
    }

    /// How many turns run at once before 429; 0 is no limit. Default 10, Hermes' own.
    #[must_use]
    pub fn max_concurrent_runs(mut self, runs: u32) -> Self {
        self.max_concurrent_runs = runs;
        self
    }

    /// Seconds between two passes of the dispatcher (default: Hermes' 60).
    #[must_use]
    pub fn dispatch_interval_seconds(mut self, seconds: u32) -> Self {
        self.dispatch_interval_seconds = Some(seconds);
        self
    }

    /// How many model calls one turn may make (default: Hermes' own, many).
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// How often Hermes asks a failing model before the turn fails (default 1; Hermes' is 3).
    #[must_use]
    pub fn model_attempts(mut self, attempts: u32) -> Self {
        self.model_attempts = attempts;
        self
    }

    /// One more line in the `kanban:` section.
    #[must_use]
    pub fn kanban_setting(mut self, line: &str) -> Self {
        self.kanban.push_str(&format!("  {line}\n"));
        self
    }

    /// More YAML at the end of config.yaml.
    #[must_use]
    pub fn config(mut self, yaml: &str) -> Self {
        self.config.push_str(yaml);
        self.config.push('\n');
        self
    }

    fn yaml(&self) -> String {
        let mut yaml = format!(
            "model:\n  default: stub-model\n  provider: custom\n  base_url: {}\n  \
             api_key: stub-key\n  context_length: 131072\n\
             memory:\n  memory_enabled: false\n  user_profile_enabled: false\n\
             security:\n  tirith_enabled: false\n\
             toolsets: [kanban]\nplatform_toolsets:\n  api_server: [kanban]\n  cli: [kanban]\n\
             agent:\n  api_max_retries: {}\n",
            self.model_url, self.model_attempts
        );
        if let Some(turns) = self.max_turns {
            yaml.push_str(&format!("  max_turns: {turns}\n"));
        }
        yaml.push_str("kanban:\n  auto_decompose: false\n");
        if let Some(seconds) = self.dispatch_interval_seconds {
            yaml.push_str(&format!("  dispatch_interval_seconds: {seconds}\n"));
        }
        yaml.push_str(&self.kanban);
        yaml.push_str(&format!(
            "gateway:\n  api_server:\n    max_concurrent_runs: {}\n",
            self.max_concurrent_runs
        ));
        yaml.push_str(&self.config);
        yaml
    }

    /// Writes the home and makes its default board with `hermes kanban init`.
    pub async fn build(self) -> Home {
        let place = PLACES.acquire().await.expect("never closed");
        let root = tempfile::Builder::new().prefix("hermes-home-").tempdir().expect("temp folder");
        // Canonical, because processes are found by the path in their environment.
        let base = root.path().canonicalize().expect("temp folder");
        let home = base.join("hermes");
        for folder in [&home, &base.join("user")] {
            fs::create_dir(folder).expect("folder in the home");
        }
        let yaml = self.yaml();
        let server = Server::write(&home, &yaml);
        let home = Home {
            inner: Arc::new(Inner {
                hermes: self.hermes,
                base,
                home,
                yaml,
                server,
                _root: root,
                _place: place,
            }),
        };
        home.hermes(&["kanban", "init"]).await.success();
        home
    }
}

#[derive(Debug)]
struct Server {
    port: u16,
    key: String,
}

impl Server {
    fn write(folder: &Path, yaml: &str) -> Self {
        let port = free_port();
        let key = format!("stub-api-server-key-{port:05}");
        fs::write(folder.join("config.yaml"), yaml).expect("config.yaml");
        let env = format!(
            "API_SERVER_ENABLED=true\nAPI_SERVER_HOST=127.0.0.1\nAPI_SERVER_PORT={port}\n\
             API_SERVER_KEY={key}\n"
        );
        fs::write(folder.join(".env"), env).expect(".env");
        Self { port, key }
    }
}

/// A Hermes home in a temporary folder. Clones share it; the last one removes it.
#[derive(Clone, Debug)]
pub struct Home {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    hermes: Hermes,
    base: PathBuf,
    home: PathBuf,
    yaml: String,
    server: Server,
    _root: TempDir,
    _place: SemaphorePermit<'static>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for pid in living_in(&self.home) {
            signal("KILL", pid);
        }
    }
}

impl Home {
    /// `HERMES_HOME`.
    pub fn path(&self) -> &Path {
        &self.inner.home
    }

    /// A folder beside the home, for the files of the test itself.
    pub fn scratch(&self) -> &Path {
        &self.inner.base
    }

    /// The port of the root home's API server.
    pub fn port(&self) -> u16 {
        self.inner.server.port
    }

    /// The key of the root home's API server.
    pub fn key(&self) -> &str {
        &self.inner.server.key
    }

    /// `http://127.0.0.1:<port>`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Speaks to the root home's API server.
    pub fn client(&self) -> Client {
        Client::new(self.port(), self.key())
    }

    /// Begins the gateway process of the root home.
    pub fn gateway(&self) -> GatewayBuilder {
        GatewayBuilder::new(self, None)
    }

    /// The default board, `<home>/kanban.db`.
    pub fn board(&self) -> Board {
        Board::new(self, "default")
    }

    /// A named board that somebody made.
    pub fn board_called(&self, slug: &str) -> Board {
        Board::new(self, slug)
    }

    /// Makes a named board with `hermes kanban boards create`.
    pub async fn create_board(&self, slug: &str) -> Board {
        self.hermes(&["kanban", "boards", "create", slug]).await.success();
        self.board_called(slug)
    }

    /// Adds `<home>/profiles/<name>` with the same configuration and an API server of its own.
    pub fn add_profile(&self, name: &str) -> Profile {
        let folder = self.path().join("profiles").join(name);
        fs::create_dir_all(&folder).expect("profile folder");
        let server = Server::write(&folder, &self.inner.yaml);
        Profile { home: self.clone(), name: name.to_owned(), folder, server }
    }

    /// Runs `hermes <arguments>` in this home.
    pub async fn hermes(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command("hermes");
        command.args(arguments).stdin(Stdio::null());
        let output = command.output().await.expect("hermes starts");
        Ran::new(arguments, &output)
    }

    /// A program of the virtual environment, with nothing inherited but what it needs.
    pub(super) fn command(&self, program: &str) -> Command {
        let inner = &self.inner;
        let mut command = Command::new(inner.hermes.program(program));
        let bin = inner.hermes.program("");
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("HOME", inner.base.join("user"))
            .env("TMPDIR", &inner.base)
            .env("LANG", "C.UTF-8")
            .env("HERMES_HOME", &inner.home)
            .current_dir(&inner.base)
            .kill_on_drop(true);
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            // Port 9 of the loopback: nobody there, so nothing reaches the network.
            command.env(proxy, "http://127.0.0.1:9");
            command.env(proxy.to_lowercase(), "http://127.0.0.1:9");
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "127.0.0.1,localhost");
        }
        command
    }
}

/// A named profile with its own gateway and API server, on the same boards.
#[derive(Debug)]
pub struct Profile {
    home: Home,
    name: String,
    folder: PathBuf,
    server: Server,
}

impl Profile {
    /// Its folder below `profiles`.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port of its API server.
    pub fn port(&self) -> u16 {
        self.server.port
    }

    /// Takes its API server away: a gateway that only dispatches.
    pub fn without_api_server(&self) {
        fs::write(self.folder.join(".env"), "").expect(".env");
    }

    /// Speaks to its API server.
    pub fn client(&self) -> Client {
        Client::new(self.server.port, &self.server.key)
    }

    /// Begins its gateway, `hermes -p <name> gateway run`.
    pub fn gateway(&self) -> GatewayBuilder {
        GatewayBuilder::new(&self.home, Some(self))
    }
}
