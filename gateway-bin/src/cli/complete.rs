//! Completion in the shell: words of the command line, and names of boards, tasks and platforms.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::{
    Shell,
    engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate},
    env::{CompleteEnv, Shells},
};

use super::args::Cli;
use crate::{
    config::{self, Env},
    ops::{Context, cards},
};

/// The variable by which a shell asks for candidates.
const ASKED: &str = "COMPLETE";
/// So many tasks are offered.
const TASKS: usize = 200;

/// The script that has a shell ask this program.
pub(super) fn script(shell: Shell) -> anyhow::Result<String> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name).context("there is no completion for this shell")?;
    let mut script = Vec::new();
    let bin = "kanban-gateway";
    completer.write_registration(ASKED, bin, bin, bin, &mut script)?;
    Ok(String::from_utf8_lossy(&script).trim_end().to_owned())
}

/// Answers a shell that asks for candidates; false when none asks.
pub(super) fn answered(arguments: &[OsString], env: &Env) -> bool {
    if env.get(ASKED).is_none_or(|asked| asked.is_empty() || asked == "0") {
        return false;
    }
    let here = std::env::current_dir().ok();
    // A wrong request is answered with nothing: a shell must not be flooded with errors.
    let request = CompleteEnv::with_factory(Cli::command).var(ASKED);
    request.try_complete(arguments.iter().cloned(), here.as_deref()).unwrap_or(true)
}

/// Names of boards.
pub(super) fn boards() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let boards = context().and_then(|ctx| crate::ops::boards::list(&ctx).ok());
        let boards = boards.into_iter().flatten().filter(|board| !board.archived);
        boards
            .map(|board| CompletionCandidate::new(board.slug).help(Some(board.name.into())))
            .collect()
    })
}

/// Ids of tasks of the current board, or of `HERMES_KANBAN_BOARD`; archived ones left out.
pub(super) fn tasks() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &std::ffi::OsStr| {
        let begun = begun.to_string_lossy();
        let filter = cards::filter(None, None, false, None);
        let tasks = context().and_then(|ctx| cards::list(&ctx, None, &filter).ok());
        let tasks = tasks.into_iter().flatten().filter(|task| task.id.starts_with(&*begun));
        tasks
            .take(TASKS)
            .map(|task| {
                let help = format!("{} {}", task.status, super::table::shown(&task.title));
                CompletionCandidate::new(task.id).help(Some(help.into()))
            })
            .collect()
    })
}

/// Platforms that this build serves.
pub(super) fn platforms() -> ArgValueCandidates {
    ArgValueCandidates::new(|| crate::platforms::names().map(CompletionCandidate::new).collect())
}

fn context() -> Option<Context> {
    let env: Env = std::env::vars_os().collect();
    let file = env.get("KANBAN_GATEWAY_CONFIG").map(PathBuf::from);
    let config = config::load(file.as_deref(), &env).ok()?.config;
    Some(Context { config, env })
}
