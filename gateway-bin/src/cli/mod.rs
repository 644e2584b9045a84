//! The command line: parses, calls one use case, prints. Never touches the store itself.

/// Prints a line of an answer, as `println!` does; a reader who has heard enough is no failure.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::output::line(format_args!($($text)*)) };
}

mod args;
mod ask;
mod board;
mod complete;
mod doctor;
mod events;
mod output;
mod status;
mod table;
mod task;
mod task_args;
mod test_send;
mod watch;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::{
    config::{self, Env, Loaded},
    ops::{Context, Failure, Unusable, boards, check, demo, failure, serve},
    telemetry,
};
use args::{Cli, Command, ConfigCommand};

/// Exit codes, as documented in the README.
mod exit {
    /// A command line or configuration that cannot be used.
    pub(super) const USAGE: u8 = 2;
    /// Done in part: something is degraded, was left out, or is left open.
    pub(super) const PARTLY: u8 = 3;
    /// Nobody delivers.
    pub(super) const DOWN: u8 = 4;
    /// Something that was named is not there.
    pub(super) const MISSING: u8 = 5;
    /// Not possible as things stand.
    pub(super) const REFUSED: u8 = 6;
    /// A board that cannot be had.
    pub(super) const UNAVAILABLE: u8 = 7;
}

/// Runs the command line of a process; what it returns is the process's exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>, env: Env) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if complete::answered(&arguments, &env) {
        return ExitCode::SUCCESS;
    }
    let parsed = Cli::command().try_get_matches_from(arguments);
    let help = parsed.as_ref().map(help).unwrap_or_default();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed the same way and are no failure.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { 0 });
        }
    };
    match run(cli, env) {
        Ok(code) => code,
        Err(error) => {
            let more = if error.is::<Unusable>() { help.as_str() } else { "" };
            eprintln!("kanban-gateway: {}{more}", output::tame(&format!("{error:#}")));
            match failure(&error) {
                Failure::Usage => exit::USAGE.into(),
                Failure::Missing => exit::MISSING.into(),
                Failure::Refused => exit::REFUSED.into(),
                Failure::Unavailable => exit::UNAVAILABLE.into(),
                Failure::Other => ExitCode::FAILURE,
            }
        }
    }
}

/// Where the help about the command that was given is.
fn help(matches: &ArgMatches) -> String {
    let mut command = String::new();
    let mut at = matches.subcommand();
    while let Some((name, inner)) = at {
        command.push_str(name);
        command.push(' ');
        at = inner.subcommand();
    }
    format!("; see `kanban-gateway {command}--help`")
}

fn run(cli: Cli, env: Env) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Completions { shell } => {
            say!("{}", complete::script(shell)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { to } => {
            man(to.as_deref())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config { command: ConfigCommand::Init { path, force } } => {
            init(path.or(cli.config), force, &env)
        }
        Command::Config { command: ConfigCommand::Check } => {
            let loaded = config::load(cli.config.as_deref(), &env)?;
            let ctx = Context { config: loaded.config.clone(), env: env.clone() };
            let found = check::check(&ctx)?;
            for warning in loaded.warnings.iter().chain(&found) {
                eprintln!("warning: {warning}");
            }
            if let Some(missing) =
                crate::hermes::HermesHome::resolve(&loaded.config.hermes_home, &env).missing()
            {
                eprintln!("warning: {missing}");
            }
            match &loaded.file {
                Some(file) => say!("{} is good.", file.display()),
                None => say!("There is no configuration file; the defaults are good."),
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Config { command: ConfigCommand::Show { json } } => {
            let Loaded { config, shown, .. } = config::load(cli.config.as_deref(), &env)?;
            let hermes = crate::wiring::hermes_now(&config, &env);
            let shown = config::with_found(shown, &config, &hermes);
            output::config(&shown, json.json)
        }
        Command::Demo => runtime()?.block_on(async {
            let program = std::env::current_exe().context("this program cannot be found")?;
            demo::demo(&program, &mut |line| say!("{line}")).await?;
            Ok(ExitCode::SUCCESS)
        }),
        Command::Listen(listen) => runtime()?.block_on(output::listen(listen)),
        Command::Run { accept } => {
            let ctx = context(cli.config, env, true)?;
            output::ended(&runtime()?.block_on(serve::run(ctx, accept))?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Once { accept } => {
            let ctx = context(cli.config, env, true)?;
            let left = runtime()?.block_on(serve::once(ctx, accept))?;
            output::ended(&left);
            Ok(if left.nothing() { ExitCode::SUCCESS } else { exit::PARTLY.into() })
        }
        Command::Doctor { offline, json } => {
            runtime()?.block_on(doctor::look(&context(cli.config, env, false)?, offline, json.json))
        }
        Command::TestSend(arguments) => {
            runtime()?.block_on(test_send::test_send(arguments, &context(cli.config, env, false)?))
        }
        command => ask::answer(command, &context(cli.config, env, false)?),
    }
}

fn context(file: Option<PathBuf>, env: Env, logs: bool) -> anyhow::Result<Context> {
    let Loaded { config, warnings, .. } = config::load(file.as_deref(), &env)?;
    if logs {
        let colour = std::io::IsTerminal::is_terminal(&std::io::stderr());
        telemetry::init(&config.log, colour).context("logging cannot be started")?;
    }
    for warning in warnings {
        if logs {
            tracing::warn!(error = warning, "the configuration works, and should be mended");
        } else {
            eprintln!("warning: {warning}");
        }
    }
    let ctx = Context { config, env };
    if let Some(name) = boards::passed_over(&ctx).filter(|_| !logs) {
        let name = output::tame(&name);
        eprintln!(
            "warning: HERMES_KANBAN_BOARD names `{name}`, which is no board; it is passed over"
        );
    }
    Ok(ctx)
}

fn init(path: Option<PathBuf>, force: bool, env: &Env) -> anyhow::Result<ExitCode> {
    let path = path
        .or_else(|| config::default_path(env))
        .context("there is no home folder; name the file: `config init PATH`")?;
    if path.exists() && !force {
        anyhow::bail!("{} is there already; --force replaces it", path.display());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    write_private(&path, config::default_text().as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    say!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// The manual, from the same words as `--help`.
fn man(folder: Option<&Path>) -> anyhow::Result<()> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        say!("{}", String::from_utf8_lossy(&page).trim_end());
        return Ok(());
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("{} cannot be written", folder.display()))
}

/// For its owner alone: keys may be put in.
fn write_private(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::{
        io::Write as _,
        os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    };
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was there keeps its mode otherwise.
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(text)
}

/// One thread: the work is waiting, and what computes has threads of its own.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")
}
