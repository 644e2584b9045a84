//! Real programs from PyPI, as processes that tell in lines of JSON what reaches them, or what they are answered.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::wait::soon;

/// Where `cargo xtask test` says the packages are.
pub const VENV_VAR: &str = "KANBAN_GATEWAY_COUNTERPARTS_VENV";

/// The Python that has the packages, or `None` after saying loudly that the calling test is skipped.
///
/// # Panics
/// With `CI=true`, where a skipped test would be a silent hole.
#[track_caller]
pub fn python() -> Option<PathBuf> {
    let python = std::env::var_os(VENV_VAR).map(|venv| Path::new(&venv).join("bin/python"));
    if let Some(python) = python.filter(|python| python.is_file()) {
        return Some(python);
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed test");
    let line =
        format!("SKIPPED: {test}: {VENV_VAR} names no environment; run `cargo xtask test`\n");
    assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "in CI it is required: {line}");
    // Past the capture of the test harness, so that a skip is seen in a green run.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    None
}

/// Runs a script to its end, and answers the lines that it told.
///
/// # Panics
/// Where it fails, with what it said.
pub async fn told(python: &Path, script: &str, arguments: &[&str], home: &Path) -> Vec<Value> {
    let mut command = command(python, script, arguments, home);
    let output = soon("the end of a client", command.stderr(Stdio::piped()).output()).await;
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn command(python: &Path, script: &str, arguments: &[&str], home: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-c", script])
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", home)
        .env("HERMES_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A running receiver. Dropping it ends it.
pub struct Counterpart {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The port that it listens at.
    pub port: u64,
}

impl Counterpart {
    /// Starts a script whose first line tells its port.
    pub async fn start(python: &Path, script: &str, arguments: &[&str], home: &Path) -> Self {
        let mut child = command(python, script, arguments, home).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut counterpart = Self { child, lines, port: 0 };
        counterpart.port = counterpart.next().await["port"].as_u64().unwrap();
        counterpart
    }

    /// What it tells next.
    pub async fn next(&mut self) -> Value {
        let line = soon("a line of the receiver", self.lines.next_line()).await.unwrap();
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    /// What it told that nobody has asked for, after its end.
    pub async fn rest(mut self) -> Vec<Value> {
        self.child.start_kill().unwrap();
        let mut rest = Vec::new();
        while let Ok(Some(line)) = self.lines.next_line().await {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        rest
    }
}
