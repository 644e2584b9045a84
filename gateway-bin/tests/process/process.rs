//! One running program.

use std::{
    panic::Location,
    process::{ExitStatus, Output, Stdio},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

use crate::support::{
    wait::{eventually, soon},
    world::World,
};

/// A process of the program; it is killed with this value.
pub struct Process {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    lines: watch::Receiver<usize>,
}

/// The program with these arguments, in an environment of this world and nothing else.
pub fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kanban-gateway"));
    command
        .args(arguments)
        .env_clear()
        .envs(world.variables())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs a command to its end.
pub async fn output(world: &World, arguments: &[&str]) -> Output {
    soon("the end of a command", command(world, arguments).output()).await.unwrap()
}

/// Runs a command that ends with this exit code; answers what it printed, errors behind the rest.
#[track_caller]
pub fn printed(world: &World, arguments: &[&str], code: i32) -> impl Future<Output = String> {
    let caller = Location::caller();
    let mut command = command(world, arguments);
    let shown = arguments.join(" ");
    async move {
        let output = soon("the end of a command", command.output()).await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{caller}: `{shown}` printed:\n{printed}");
        printed
    }
}

/// Runs a command that prints JSON.
#[track_caller]
pub fn json(world: &World, arguments: &[&str]) -> impl Future<Output = Value> {
    let printed = printed(world, arguments, 0);
    async move { serde_json::from_str(&printed.await).unwrap() }
}

impl Process {
    /// Starts `run`.
    pub fn run(world: &World) -> Self {
        Self::start(world, &["run"])
    }

    /// Starts `run` with SIGHUP ignored, as `nohup` does, or not, whoever started the tests.
    pub fn run_with_hangup(world: &World, ignored: bool) -> Self {
        let option = if ignored { "--ignore-signal=HUP" } else { "--default-signal=HUP" };
        let mut command = Command::new("/usr/bin/env");
        command
            .args([option, env!("CARGO_BIN_EXE_kanban-gateway"), "run"])
            .env_clear()
            .envs(world.variables())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Self::spawn(command.stdout(Stdio::null()))
    }

    pub fn start(world: &World, arguments: &[&str]) -> Self {
        Self::spawn(command(world, arguments).stdout(Stdio::null()))
    }

    /// Starts `run`; what it prints goes there.
    pub fn printing(world: &World, stdout: Stdio) -> Self {
        Self::spawn(command(world, &["run"]).stdout(stdout))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (tell, lines) = watch::channel(0);
        let ours = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = stderr.next_line().await {
                ours.lock().unwrap().push(line);
                tell.send_modify(|count| *count += 1);
            }
        });
        Self { child, log, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// The log so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// The lines of the log, also those that are still to come.
    pub fn lines(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.log)
    }

    /// Waits until the log has this text.
    pub async fn says(&mut self, text: &str) {
        let log = Arc::clone(&self.log);
        let has = move |_: &usize| log.lock().unwrap().iter().any(|line| line.contains(text));
        let said = soon("a line of the log", self.lines.wait_for(has)).await.is_ok();
        assert!(said, "it never said {text:?}:\n{}", self.log());
    }

    /// SIGKILL; it is gone when this returns.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGKILL for all of them at once: none lives on to take over what another leaves. They are gone when
    /// this returns.
    pub async fn kill_all(mut these: Vec<Self>) {
        for one in &mut these {
            one.child.start_kill().unwrap();
        }
        for mut one in these {
            one.child.wait().await.unwrap();
        }
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// A signal by its option of `kill`.
    pub fn signal(&self, signal: &str) {
        let pid = self.id().to_string();
        let kill = std::process::Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(kill.success());
    }

    /// SIGSTOP; every thread of it stands still when this returns.
    pub async fn suspend(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.id());
        let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
            // The state comes behind the name, which may have any character in it.
            let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
            stat.rsplit_once(") ")?.1.starts_with('T').then_some(())
        };
        eventually("it stands still", || {
            let mut tasks = std::fs::read_dir(&tasks).unwrap();
            tasks.all(|task| is_stopped(task).is_some()).then_some(())
        })
        .await;
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        soon("the end of the process", self.child.wait()).await.unwrap()
    }
}
