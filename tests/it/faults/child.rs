//! A test in a process of its own: for its whole log, or for what a process has one of.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

const FOLDER: &str = "KANBAN_GATEWAY_FAULTS_CHILD";

/// Where the process that this one was started by wants its findings; `None` in any other process.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs the test of this name once more, alone, with its log at this level on standard error.
pub fn run(test: &str, folder: &Path, level: &str) -> Output {
    command(test, folder, level).output().unwrap()
}

/// What [`run`] runs, for more variables.
pub fn command(test: &str, folder: &Path, level: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(FOLDER, folder).env("KGW_TEST_LOG", level);
    command
}
