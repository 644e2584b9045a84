//! Boards full of rows, a gateway as a process of its own, and what the kernel says about it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use diesel::{RunQueryDsl as _, SqliteConnection, dsl::sql, sql_types::BigInt};
use kanban_store::write;
use tempfile::TempDir;

use crate::{
    arrivals::Arrivals,
    fill::{Fill, complete, connect},
    sink::Sink,
};

/// A home with boards, and the settings of a gateway that serves them.
pub struct Scene {
    folder: TempDir,
    settings: BTreeMap<String, String>,
    boards: Vec<PathBuf>,
    /// Where wakes go.
    pub sink: Sink,
}

/// A gateway that runs.
pub struct Gateway {
    child: Child,
    /// When it was started.
    pub started: Instant,
}

impl Scene {
    /// A home with so many boards, nothing in them.
    pub fn new(boards: usize) -> Self {
        Self::with(boards, Sink::start(false))
    }

    pub fn with(boards: usize, sink: Sink) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("hermes");
        let mut paths = Vec::new();
        for number in 0..boards {
            let path = match number {
                0 => home.join("kanban.db"),
                _ => home.join(format!("kanban/boards/b{number}/kanban.db")),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write::create_board(&path).unwrap();
            paths.push(path.canonicalize().unwrap());
        }
        let server = format!(
            "[{{ profile = \"default\", url = \"{}\", key = \"bench-key-0123456789\" }}]",
            sink.url()
        );
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let settings = BTreeMap::from([
            ("HOME".to_owned(), text(folder.path())),
            ("HERMES_HOME".to_owned(), text(&home)),
            ("KANBAN_GATEWAY_LEDGER".to_owned(), text(&folder.path().join("state/ledger.db"))),
            ("KANBAN_GATEWAY_API_SERVER".to_owned(), server),
        ]);
        Self { folder, settings, boards: paths, sink }
    }

    /// Sets a key of the configuration, such as `wake.settle`.
    pub fn set(&mut self, key: &str, value: &str) {
        let name = key.to_uppercase().replace('.', "__");
        self.settings.insert(format!("KANBAN_GATEWAY_{name}"), value.to_owned());
    }

    pub fn board(&self, number: usize) -> &Path {
        &self.boards[number]
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("state/ledger.db")
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("hermes")
    }

    /// Fills a board.
    pub fn fill(&self, number: usize, fill: Fill) {
        fill.write(&self.boards[number], number);
    }

    /// Completes the tasks `from..=to` of a board in one commit; answers when that commit was begun.
    pub fn complete(&self, number: usize, from: usize, to: usize) -> Instant {
        complete(&self.boards[number], from, to)
    }

    /// Starts the release build of the program.
    pub fn start(&self) -> Gateway {
        let started = Instant::now();
        let child = self.command(&["run"]).spawn().unwrap();
        Gateway { child, started }
    }

    /// Starts it with a standard output that is read.
    pub fn start_printing(&self) -> (Gateway, ChildStdout) {
        let started = Instant::now();
        let mut child = self.command(&["run"]).stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        (Gateway { child, started }, output)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("KANBAN_GATEWAY_BENCH_BIN").unwrap());
        command
            .args(arguments)
            .env_clear()
            .envs(&self.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(log) = std::env::var_os("KANBAN_GATEWAY_BENCH_LOG") {
            let file = fs::OpenOptions::new().create(true).append(true).open(log);
            command.stderr(file.unwrap());
        }
        command
    }

    /// Starts it and waits until the boards are served: until an event of now has arrived.
    ///
    /// The event is the completion of the first task of the first board.
    pub fn start_warm(&self) -> Gateway {
        let gateway = self.start();
        self.warm(&self.sink);
        gateway
    }

    /// Waits until a gateway that was started serves the boards, as seen where its messages arrive.
    pub fn warm(&self, arrivals: &Arrivals) {
        let before = arrivals.count();
        self.complete(0, 1, 1);
        arrivals.wait_for(before + 1, Duration::from_secs(120));
    }

    /// Waits until every row of a board has an owner.
    pub fn wait_owned(&self, number: usize) {
        let mut board = connect(&self.boards[number]);
        wait("rows are adopted", || {
            count(&mut board, "kanban_notify_subs WHERE notifier_profile IS NULL") == 0
        });
    }

    /// Waits until every cursor of a board is at its task's newest event.
    pub fn wait_caught_up(&self, number: usize) {
        let mut board = connect(&self.boards[number]);
        wait("cursors are raised", || count(&mut board, BEHIND) == 0);
    }
}

/// Rows that have something above their cursor. The events that a board was filled with are settled; there
/// is one for each task.
const BEHIND: &str = "task_events e JOIN kanban_notify_subs s ON s.task_id = e.task_id
    WHERE e.id > (SELECT count(*) FROM tasks) AND e.id > s.last_event_id AND e.kind = 'completed'";

fn count(board: &mut SqliteConnection, what: &str) -> i64 {
    let all = sql::<BigInt>(&format!("(SELECT count(*) FROM {what})"));
    diesel::select(all).get_result(board).unwrap()
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "not within two minutes: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Gateway {
    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Processor time so far.
    pub fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // The kernel counts in hundredths of a second on every Linux.
        Duration::from_millis(ticks * 10)
    }

    /// Processor time of the threads that are there now, to the nanosecond.
    pub fn exact_cpu(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanos = threads.map(|thread| {
            let stat = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            stat.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        });
        Duration::from_nanos(nanos.sum())
    }

    /// Waits until it does next to nothing.
    pub fn wait_calm(&self) {
        let span = Duration::from_millis(250);
        loop {
            let before = self.exact_cpu();
            std::thread::sleep(span);
            if self.exact_cpu() - before < span / 100 {
                return;
            }
        }
    }

    /// Bytes that it has asked the kernel for so far, from files and all else.
    pub fn bytes_read(&self) -> u64 {
        let io = self.proc("io");
        let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        line.parse().unwrap()
    }

    fn status(&self, name: &str) -> u64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Resident memory now, and the most so far, in KiB.
    pub fn memory(&self) -> (u64, u64) {
        (self.status("VmRSS"), self.status("VmHWM"))
    }

    pub fn threads(&self) -> u64 {
        self.status("Threads")
    }

    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// SIGTERM, and its end.
    pub fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    /// SIGKILL, and its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // After `stop` or `kill` there is nobody any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
