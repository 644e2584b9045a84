//! One release of the package, of which only the kanban commands are used.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{Ran, VERSION, require, skipped};

const SCRIPT: &str = include_str!("kanban_commands.py");

/// Where `cargo xtask test` says the earlier releases are.
pub const RELEASES_VAR: &str = "KANBAN_GATEWAY_HERMES_RELEASES";

/// A release that is installed.
#[derive(Clone, Debug)]
pub struct Release {
    version: &'static str,
    python: PathBuf,
}

impl Release {
    /// The release, or `None` after saying loudly that the calling test was skipped.
    ///
    /// # Panics
    /// With `CI=true`, where a skipped test would be a silent hole.
    #[track_caller]
    pub fn require(version: &'static str) -> Option<Self> {
        if version == VERSION {
            return require().map(|hermes| Self { version, python: hermes.program("python") });
        }
        let Some(folder) = std::env::var_os(RELEASES_VAR) else {
            return skipped(version, &format!("{RELEASES_VAR} is not set"));
        };
        let venv = Path::new(&folder).join(version);
        // Written when the installation is complete.
        if !venv.join("installed").is_file() {
            return skipped(version, &format!("it is not in {}", venv.display()));
        }
        Some(Self { version, python: venv.join("bin/python") })
    }

    /// Whether it is `major.minor` or newer.
    pub fn is_since(&self, minor: (u32, u32)) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse().expect("a number"));
        (numbers.next().expect("major"), numbers.next().expect("minor")) >= minor
    }

    /// A new process of this release, with nothing inherited.
    pub fn process(&self, variables: &[(&str, &Path)]) -> Commands {
        let mut child = Command::new(&self.python)
            .args(["-c", SCRIPT])
            .env_clear()
            .envs(variables.iter().copied())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        Commands { child, input, output }
    }
}

/// A process that runs one command after the other; each opens the board anew.
#[derive(Debug)]
pub struct Commands {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Commands {
    /// Runs `hermes kanban <arguments>`.
    pub fn run(&mut self, arguments: &[&str]) -> Ran {
        let line = format!("{}\n", serde_json::json!(arguments));
        let input = self.input.as_mut().expect("open until it is dropped");
        input.write_all(line.as_bytes()).expect("the process reads");
        let line = self.output.next().expect("the process lives").expect("its output");
        let answer: Value = serde_json::from_str(&line).expect("JSON of the process");
        let text = |at: usize| answer[at].as_str().expect("text").to_owned();
        Ran {
            command: format!("hermes kanban {}", arguments.join(" ")),
            code: answer[0].as_i64().and_then(|code| i32::try_from(code).ok()),
            stdout: text(1),
            stderr: text(2),
        }
    }

    /// The rows of a listing.
    pub fn rows(&mut self, arguments: &[&str]) -> Vec<Value> {
        match self.run(arguments).json() {
            Value::Array(rows) => rows,
            other => panic!("{arguments:?}: not a list: {other}"),
        }
    }

    /// Makes a task for nobody that a dispatcher would start, and answers its id.
    pub fn create(&mut self, title: &str) -> String {
        let task = self.run(&["create", title, "--assignee", "stub-worker", "--json"]).json();
        task["id"].as_str().expect("an id").to_owned()
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // The end of its input ends it; what it has open is closed in an orderly way.
        drop(self.input.take());
        drop(self.child.wait());
    }
}
