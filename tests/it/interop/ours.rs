//! The gateway under test: a process, so that it can be killed, and so that no lock of the test's own
//! process is in play.
//!
//! The process is this test program, started again with [`PROGRAM`] set: then [`program`] runs the
//! command line of the library. So it is always what was compiled just now, and nothing has to be
//! looked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use gateway_bin::config::{self, Env};
use gateway_bin::ops::{Context, dead, status};
use kanban_store::ledger::operator::{Counts, DeadLeg, Operator};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::support::hermes::{Home, eventually};

/// Set to the arguments for the program that the test binary is to be instead.
const PROGRAM: &str = "INTEROP_PROGRAM";

/// The gateway in a child process; in an ordinary test run there is nothing to do.
#[test]
fn program() {
    let Some(arguments) = std::env::var_os(PROGRAM) else {
        return;
    };
    let arguments = arguments.to_string_lossy().into_owned();
    let arguments = ["kanban-gateway"].into_iter().chain(arguments.split(' '));
    let env: Env = std::env::vars_os().filter(|(name, _)| name != PROGRAM).collect();
    let code = gateway_bin::cli::main(arguments.map(OsString::from), env);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
}

/// The gateway's set-up on a home, and its process while it runs.
#[derive(Debug)]
pub(super) struct Ours {
    home: Home,
    folder: PathBuf,
    vars: BTreeMap<String, String>,
    child: Option<Child>,
    log_from: usize,
}

impl Ours {
    /// What a user has who changes nothing, but with waits that suit a test.
    pub(super) fn new(home: &Home) -> Self {
        let folder = home.scratch().join("ours");
        fs::create_dir_all(&folder).expect("folder of the gateway");
        let mut ours =
            Self { home: home.clone(), vars: BTreeMap::new(), child: None, log_from: 0, folder };
        ours.vars.insert("HERMES_HOME".to_owned(), home.path().display().to_string());
        ours.vars.insert("HOME".to_owned(), ours.folder.display().to_string());
        let ledger = ours.ledger().display().to_string();
        ours.set("ledger", &ledger)
            .set("log.level", "info,kanban_notify=debug")
            .set("wake.settle", "200ms")
            .set("backoff.first", "200ms")
    }

    /// Sets a key of the configuration, as its variable.
    pub(super) fn set(mut self, key: &str, value: &str) -> Self {
        let name = key.replace('.', "__").to_uppercase();
        self.vars.insert(format!("KANBAN_GATEWAY_{name}"), value.to_owned());
        self
    }

    fn ledger(&self) -> PathBuf {
        self.folder.join("ledger.db")
    }

    /// `kanban-gateway run`, until it says that it is ready.
    pub(super) async fn start(&mut self) {
        assert!(self.child.is_none(), "the gateway still runs");
        self.log_from = self.whole_log().len();
        let file = |name: &str| -> File {
            let path = self.folder.join(name);
            OpenOptions::new().create(true).append(true).open(path).expect("output file")
        };
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let test = concat!(module_path!(), "::program").split_once("::").expect("a path").1;
        command
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env_clear()
            .envs(&self.vars)
            .env(PROGRAM, "run")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("log"))
            .kill_on_drop(true);
        self.child = Some(command.spawn().expect("the gateway starts"));
        self.logged(": ready").await;
    }

    /// kill -9.
    pub(super) async fn kill(&mut self) {
        let mut child = self.child.take().expect("the gateway runs");
        child.kill().await.expect("kill -9 of the gateway");
    }

    /// SIGTERM, and its end.
    pub(super) async fn stop(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the gateway runs");
        let pid = child.id().expect("the gateway runs").to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().await;
        assert!(sent.is_ok_and(|status| status.success()), "kill -TERM {pid}");
        tokio::time::timeout(Duration::from_secs(30), child.wait())
            .await
            .expect("the gateway ends when told to")
            .expect("the gateway can be waited for")
    }

    /// What it logged since it was started last.
    pub(super) fn log(&self) -> String {
        self.whole_log().get(self.log_from..).unwrap_or_default().to_owned()
    }

    fn whole_log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Waits until `needle` is in the log of this start.
    pub(super) async fn logged(&self, needle: &str) {
        let what = format!("{needle:?} in the log of our gateway");
        eventually(&what, Duration::from_secs(60), async || {
            self.log().contains(needle).then_some(())
        })
        .await;
    }

    /// The messages on its console, over all starts.
    pub(super) fn console(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join("stdout")).unwrap_or_default();
        // The test program itself prints there too, and not always whole lines.
        let json = |line: &str| serde_json::from_str(&line[line.find('{')?..]).ok();
        text.lines().filter_map(json).collect()
    }

    pub(super) fn context(&self) -> Context {
        let env: Env = self.vars.iter().collect();
        let config = config::load(None, &env).expect("the configuration").config;
        Context { config, env }
    }

    /// `kanban-gateway status`.
    pub(super) fn status(&self) -> status::Status {
        status::status(&self.context())
    }

    /// `kanban-gateway dead list`.
    pub(super) fn dead(&self) -> Vec<DeadLeg> {
        dead::list(&self.context(), false).expect("dead list")
    }

    /// `kanban-gateway dead retry`, of all.
    pub(super) fn retry_dead(&self) {
        dead::retry(&self.context(), &[]).expect("dead retry");
    }

    /// The ledger, for a look that costs little.
    pub(super) fn counts(&self) -> Counts {
        Operator::open(&self.ledger()).and_then(|mut ledger| ledger.counts()).expect("counts")
    }

    /// How many deliveries are in `state`.
    pub(super) fn legs(&self, state: &str) -> i64 {
        self.counts().legs.get(state).copied().unwrap_or(0)
    }

    /// Waits until `count` deliveries are delivered, whatever else is open.
    pub(super) async fn delivered_so_far(&self, count: i64) {
        let what = format!("{count} deliveries");
        eventually(&what, Duration::from_secs(60), async || {
            (self.legs("delivered") >= count).then_some(())
        })
        .await;
    }

    /// Waits until `count` deliveries are delivered, none is open, and their cursors are on the boards.
    pub(super) async fn delivered(&self, count: i64, within: Duration) {
        let delivered = self.settled(count, within).await;
        assert_eq!(delivered, count, "{:?}", self.counts());
    }

    /// The same for at least `count`; answers how many there are.
    pub(super) async fn settled(&self, count: i64, within: Duration) -> i64 {
        let what = format!("{count} deliveries settled");
        eventually(&what, within, async || {
            let counts = self.counts();
            let open = ["planned", "intended", "retrying", "unknown"];
            let open: i64 = open.iter().filter_map(|state| counts.legs.get(*state)).sum();
            let delivered = counts.legs.get("delivered").copied().unwrap_or(0);
            (open == 0 && delivered >= count && counts.raises == 0).then_some(delivered)
        })
        .await
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.whole_log();
            let lines: Vec<&str> = log.lines().collect();
            let from = lines.len().saturating_sub(60);
            println!("the last lines of our gateway's log:\n{}", lines[from..].join("\n"));
            if self.ledger().exists() {
                println!("{:?}", self.counts());
                for line in gateway_bin::ops::subs::list(&self.context(), None)
                    .into_iter()
                    .flat_map(|found| found.subs)
                {
                    println!("{line:?}");
                }
            }
        }
        // After the process, so that nothing of it is written into a folder that is being removed.
        drop(self.child.take());
        let _ = &self.home;
    }
}
