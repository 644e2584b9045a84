//! The words of the command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, builder::NonEmptyStringValueParser};

use super::{complete, task_args::TaskCommand};
use crate::ops::listen;

/// Delivers what happens on Hermes kanban boards: wakes the agent session that asked, tells people.
#[derive(Debug, Parser)]
#[command(name = "kanban-gateway", version, about, arg_required_else_help = true)]
pub(super) struct Cli {
    /// The configuration file [default: $XDG_CONFIG_HOME/kanban-gateway/config.toml].
    #[arg(long, short = 'c', global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Deliver until stopped.
    Run {
        /// Let events expire, or a clock be behind, that would otherwise be asked about.
        #[arg(long)]
        accept: bool,
    },
    /// Deliver what is due now, then end; for cron, also beside `run`. Exit code 3: something is left open.
    Once {
        /// As for `run`.
        #[arg(long)]
        accept: bool,
    },
    /// Show the whole job in a few seconds, in a temporary folder.
    Demo,
    /// Listen as an API server would, and print each wake.
    Listen(Listen),
    /// How things stand. Exit code 0: healthy, 3: degraded, 4: nobody delivers.
    Status {
        /// Instead, the whole story of this task: each event and what came of it, in order.
        #[arg(long, value_name = "TASK", add = complete::tasks())]
        why: Option<String>,
        #[command(flatten)]
        board: Board,
        #[command(flatten)]
        json: Json,
    },
    /// Subscriptions.
    Sub {
        #[command(subcommand)]
        command: SubCommand,
    },
    /// Boards.
    Board {
        #[command(subcommand)]
        command: BoardCommand,
    },
    /// Tasks.
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// A board live: what stands where, what runs, what was told to whom.
    Watch {
        #[command(flatten)]
        board: Board,
        /// Print a line for each change instead; also where there is no terminal.
        #[arg(long)]
        lines: bool,
    },
    /// Events of a board, the newest ones.
    Events(Events),
    /// Dead letters: deliveries that ended undelivered.
    Dead {
        #[command(subcommand)]
        command: DeadCommand,
    },
    /// Send deliveries again that have ended, marked as a possible repeat: say which with --task,
    /// --subscription or --since.
    Replay {
        /// Of this board [default: of all].
        #[arg(long)]
        board: Option<String>,
        /// Of this task.
        #[arg(long)]
        task: Option<String>,
        /// Of this subscription; ids are in `sub list`.
        #[arg(long)]
        subscription: Option<i64>,
        /// Of events of the last SPAN, such as `2h`.
        #[arg(long, value_name = "SPAN", value_parser = span)]
        since: Option<Duration>,
        /// Only say which.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Look at everything that a delivery depends on, and say what to do. Sends nothing, changes nothing. Exit
    /// code 0: all is well, 3: something needs a look, 4: nobody delivers.
    Doctor {
        /// Leave out what needs the network: asking channels and API servers.
        #[arg(long)]
        offline: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Send one test message through the channel that `run` would use. Exit code 0: delivered, 1: not,
    /// 3: nobody knows. Touches neither ledger nor boards.
    TestSend(TestSend),
    /// Our own database.
    Ledger {
        #[command(subcommand)]
        command: LedgerCommand,
    },
    /// The configuration.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print the manual page, or write one for each command.
    Man {
        /// Write them into this folder.
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
    },
    /// Print a completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SubCommand {
    /// List subscriptions and whose they are.
    List {
        /// Only of this board [default: of all].
        #[arg(long)]
        board: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Subscribe a chat or session to a task.
    Add {
        #[command(flatten)]
        board: Board,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Take rows over from their present owner, who is remembered.
    Adopt {
        #[command(flatten)]
        board: Board,
        /// Rows of this platform.
        #[arg(long)]
        platform: Option<String>,
        /// Rows of this task.
        #[arg(long)]
        task: Option<String>,
    },
    /// Give adopted rows back to their previous owners.
    Release {
        /// Rows of this platform.
        #[arg(long)]
        platform: Option<String>,
        /// Rows of this task.
        #[arg(long)]
        task: Option<String>,
        /// All of them.
        #[arg(long, conflicts_with_all = ["platform", "task"])]
        all: bool,
    },
    /// Delete a subscription.
    Remove {
        #[command(flatten)]
        board: Board,
        #[command(flatten)]
        target: TargetArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum BoardCommand {
    /// List boards; the current one has a star.
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Show what a board is like [default: the current one].
    Show {
        /// Its name.
        #[arg(add = complete::boards())]
        slug: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Make a board that Hermes can open.
    Create {
        /// Its name in commands: a-z, 0-9, `_` and `-`.
        slug: String,
        /// Its name for people.
        #[arg(long)]
        name: Option<String>,
    },
    /// Put a board away, with everything in its folder.
    Archive {
        /// Its name.
        #[arg(add = complete::boards())]
        slug: String,
        /// Also where something is owed from it: that waits until its folder is moved back.
        #[arg(long)]
        force: bool,
    },
    /// Make a board the one that commands mean when none is named, here and in Hermes.
    Use {
        /// Its name.
        #[arg(add = complete::boards())]
        slug: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum DeadCommand {
    /// List dead letters.
    List {
        /// Dropped ones too.
        #[arg(long)]
        dropped: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Show everything about one delivery, dead or not; `status` and `replay --dry-run` have ids too.
    Show {
        /// Its id.
        id: i64,
        #[command(flatten)]
        json: Json,
    },
    /// Try again.
    Retry {
        /// Their ids; or --all.
        ids: Vec<i64>,
        /// Every dead letter.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Hide from the list; they stay undelivered.
    Drop {
        /// Their ids.
        #[arg(required = true)]
        ids: Vec<i64>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum LedgerCommand {
    /// Make or migrate it; `run` does so by itself.
    Migrate,
    /// Which migrations ran.
    Status {
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Write a file with every key, its default and its meaning.
    Init {
        /// Where [default: the usual place].
        path: Option<PathBuf>,
        /// Replace what is there.
        #[arg(long)]
        force: bool,
    },
    /// Check the file and the environment.
    Check,
    /// Show the values in force and where each comes from; secrets are masked.
    Show {
        #[command(flatten)]
        json: Json,
    },
}

/// The board.
#[derive(Debug, Args)]
pub(super) struct Board {
    /// The board [default: as Hermes chooses: HERMES_KANBAN_BOARD, the current one, `default`].
    #[arg(long, add = complete::boards())]
    pub(super) board: Option<String>,
}

/// Which events, and how.
#[derive(Debug, Args)]
pub(super) struct Events {
    #[command(flatten)]
    pub(super) board: Board,
    /// Only of this task.
    #[arg(long, add = complete::tasks())]
    pub(super) task: Option<String>,
    /// The first ones with ids above this one, instead of the newest.
    #[arg(long)]
    pub(super) after: Option<i64>,
    /// At most so many [default: 100; with --follow none of those that are there already].
    #[arg(long)]
    pub(super) limit: Option<usize>,
    /// Go on with those to come, as soon as they are there.
    #[arg(long, short)]
    pub(super) follow: bool,
    #[command(flatten)]
    pub(super) json: Json,
}

/// Machine-readable output.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Json {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// A subscription by its key.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// The task.
    #[arg(add = complete::tasks())]
    pub(super) task: String,
    /// The platform, as `api_server`, `console`, `telegram`; docs/PLATFORMS.md has those of this build.
    #[arg(add = complete::platforms())]
    pub(super) platform: String,
    /// The chat, or the raw session id.
    #[arg(allow_negative_numbers = true)]
    pub(super) chat: String,
    /// The thread.
    #[arg(long)]
    pub(super) thread: Option<String>,
}

/// Where a test message goes.
#[derive(Debug, Args)]
pub(super) struct TestSend {
    /// The platform, as `telegram`; for `api_server` the message is a turn of the session's agent.
    #[arg(add = complete::platforms())]
    pub(super) platform: String,
    /// The chat, or the raw session id.
    #[arg(long, allow_negative_numbers = true)]
    pub(super) chat: String,
    /// The thread.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(super) thread: String,
    /// The profile whose API server has the session [default: default].
    #[arg(long)]
    pub(super) profile: Option<String>,
    /// Have the agent's turn that a message to `api_server` is.
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) json: Json,
}

/// How `listen` is to behave.
#[derive(Debug, Args)]
pub(super) struct Listen {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8642", value_name = "ADDRESS")]
    pub(super) addr: SocketAddr,
    /// The key that clients have to send; not a real one, it is seen by everybody on this machine.
    #[arg(long, default_value = "listen-key-0123456789", value_parser = NonEmptyStringValueParser::new())]
    pub(super) key: String,
    /// Answers for the wakes to come: `500,429:2,200` is 500 once, 429 twice, then 200 for ever.
    ///
    /// Each is a status from 200 to 599, or a word: `incomplete` (the turn ends unfinished), `failed` (the
    /// turn fails), `drop` (the turn runs, no reply), `lose` (no turn, no reply); `:N` has N wakes take it.
    #[arg(long, value_name = "LIST", value_parser = listen::checked_script)]
    pub(super) status: Option<String>,
    /// How long each turn takes, such as `3s`.
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(super) delay: Option<Duration>,
    /// Take each wake and close the connection without a reply.
    #[arg(long, conflicts_with = "status")]
    pub(super) drop: bool,
    #[command(flatten)]
    pub(super) json: Json,
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as `90s` or `2h`"))
}
