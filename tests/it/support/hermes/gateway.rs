//! `hermes gateway run`: a real process, with its API server, notifier and dispatcher.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Child;

use super::process::{eventually, signal};
use super::{Client, Home, Profile};

/// Longest start seen is a few seconds; a loaded CI machine gets more.
const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(60);

/// How a gateway process is started.
#[derive(Clone, Debug)]
pub struct GatewayBuilder {
    home: Home,
    profile: Option<String>,
    folder: PathBuf,
    client: Client,
    env: Vec<(String, String)>,
}

impl GatewayBuilder {
    pub(super) fn new(home: &Home, profile: Option<&Profile>) -> Self {
        Self {
            home: home.clone(),
            profile: profile.map(|profile| profile.name().to_owned()),
            folder: profile.map_or_else(|| home.path(), Profile::path).to_owned(),
            client: profile.map_or_else(|| home.client(), Profile::client),
            env: Vec::new(),
        }
    }

    /// One more variable in its environment, such as `HERMES_PROFILE`.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without notifier and dispatcher, for tests that are about something else.
    #[must_use]
    pub fn quiet(self) -> Self {
        self.env("HERMES_KANBAN_DISPATCH_IN_GATEWAY", "0")
    }

    /// Starts it and waits until it serves.
    pub async fn start(self) -> Gateway {
        let child = self.spawn();
        let mut gateway = Gateway { how: self, child, log_from: 0 };
        gateway.log_from = gateway.log_size();
        gateway.ready().await;
        gateway
    }

    fn has_api_server(&self) -> bool {
        std::fs::read_to_string(self.folder.join(".env"))
            .is_ok_and(|env| env.contains("API_SERVER_KEY="))
    }

    fn output_path(&self) -> PathBuf {
        let name = self.profile.as_deref().unwrap_or("default");
        self.home.scratch().join(format!("gateway-{name}.out"))
    }

    fn spawn(&self) -> Child {
        // Six starts in two minutes make Hermes sleep before the next; tests restart more often.
        let _ = std::fs::remove_file(self.folder.join("gateway-starts.log"));
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.output_path())
            .expect("output file of the gateway");
        let errors = output.try_clone().expect("output file of the gateway");
        let mut command = self.home.command("hermes");
        if let Some(profile) = &self.profile {
            command.args(["-p", profile]);
        }
        command
            .args(["gateway", "run"])
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        command.spawn().expect("hermes gateway run starts")
    }
}

/// A running gateway process; killed when dropped.
#[derive(Debug)]
pub struct Gateway {
    how: GatewayBuilder,
    child: Child,
    log_from: u64,
}

impl Gateway {
    /// Its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Speaks to its API server.
    pub fn client(&self) -> Client {
        self.how.client.clone()
    }

    /// `gateway_state.json` as it is now.
    pub fn state(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.how.folder.join("gateway_state.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Everything it logged since it was started last.
    pub fn log(&self) -> String {
        let mut text = Vec::new();
        if let Ok(mut file) = File::open(self.log_path()) {
            let _ = file.seek(SeekFrom::Start(self.log_from));
            let _ = file.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Every warning and error that anything in its process logged, over all starts.
    pub fn warnings(&self) -> String {
        let text = std::fs::read(self.how.folder.join("logs/errors.log")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// What it printed, over all starts.
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.how.output_path()).unwrap_or_default()
    }

    /// Waits until `needle` is in the log of this start.
    pub async fn logged(&self, needle: &str, within: Duration) {
        eventually(&format!("{needle:?} in the log of the gateway"), within, async || {
            self.log().contains(needle).then_some(())
        })
        .await;
    }

    /// Waits until notifier and dispatcher have begun their rounds (5 s after the start).
    pub async fn dispatching(&self) {
        self.logged("kanban dispatcher: embedded in gateway", START).await;
    }

    /// SIGTERM, then waits for its end. A turn that is held keeps the process alive after its
    /// server is gone: use [`Gateway::signal`], [`Gateway::server_gone`], open the gate, and then
    /// [`Gateway::ended`].
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended().await
    }

    /// kill -9, then waits for its end.
    pub async fn kill(&mut self) -> ExitStatus {
        self.signal("KILL");
        self.ended().await
    }

    /// Sends a signal (`TERM`, `KILL`, `STOP`, `CONT`) to this process alone.
    pub fn signal(&self, name: &str) {
        if let Some(pid) = self.pid() {
            assert!(signal(name, pid), "kill -{name} {pid}");
        }
    }

    /// Waits until its API server no longer listens.
    pub async fn server_gone(&self) {
        let client = self.client();
        eventually("the API server is gone", STOP, async || {
            (!client.healthy().await).then_some(())
        })
        .await;
    }

    /// Waits for its end, bounded.
    pub async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(STOP, self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("the gateway did not end:\n{}", self.tail()))
            .expect("the gateway can be waited for")
    }

    /// Starts it again on the same port with the same home; it must have ended.
    pub async fn start_again(&mut self) {
        assert!(self.pid().is_none(), "the gateway still runs");
        self.log_from = self.log_size();
        self.child = self.how.spawn();
        self.ready().await;
    }

    async fn ready(&mut self) {
        let api = self.how.has_api_server();
        let end = tokio::time::Instant::now() + START;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("the gateway ended while starting: {status}\n{}", self.tail());
            }
            let running = self.state().is_some_and(|state| {
                state["pid"].as_u64() == self.pid().map(u64::from)
                    && state["gateway_state"] == "running"
            });
            if running && (!api || self.how.client.healthy().await) {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "the gateway is not ready\n{}", self.tail());
            // sleep: a starting process gives no signal.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn log_path(&self) -> PathBuf {
        self.how.folder.join("logs/gateway.log")
    }

    fn log_size(&self) -> u64 {
        size(&self.log_path())
    }

    fn tail(&self) -> String {
        let all = self.output() + &self.log();
        let lines: Vec<&str> = all.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(60)).copied().collect::<Vec<_>>().join("\n")
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}
