//! The words of `task`.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};

use super::args::{Board, Json, span};
use super::complete;

#[derive(Debug, Subcommand)]
pub(super) enum TaskCommand {
    /// Make a task.
    Create(Box<Create>),
    /// List tasks: the most urgent first, then the oldest.
    List {
        #[command(flatten)]
        board: Board,
        /// With this status: triage, todo, scheduled, ready, running, blocked, review, done, archived.
        #[arg(long)]
        status: Option<String>,
        /// Assigned to this profile.
        #[arg(long)]
        assignee: Option<String>,
        /// Archived ones too.
        #[arg(long)]
        archived: bool,
        /// At most so many.
        #[arg(long)]
        limit: Option<usize>,
        #[command(flatten)]
        json: Json,
    },
    /// Show everything about a task.
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Show the attempts at a task.
    Runs {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        json: Json,
    },
    /// Take a ready task to work on it.
    Claim {
        #[command(flatten)]
        which: Which,
        /// Who takes it, as `host:pid` [default: this host and the shell that calls].
        #[arg(long)]
        lock: Option<String>,
        /// How long the claim holds without a heartbeat.
        #[arg(long, value_name = "SPAN", value_parser = span, default_value = "15m")]
        ttl: Duration,
        /// Take a task that waits for a review.
        #[arg(long)]
        review: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Say that the work goes on, and keep the claim.
    Heartbeat {
        #[command(flatten)]
        which: Which,
        /// How far it is.
        note: Option<String>,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Complete a task.
    Complete {
        #[command(flatten)]
        which: Which,
        /// The result, kept on the card.
        #[arg(long)]
        result: Option<String>,
        #[command(flatten)]
        handover: Handover,
        /// A task that was made on the way; may be given several times.
        #[arg(long, value_name = "TASK")]
        created: Vec<String>,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Block a task until somebody helps.
    Block {
        #[command(flatten)]
        which: Which,
        /// Why.
        reason: Option<String>,
        /// What is missing.
        #[arg(long, value_enum)]
        kind: Option<Missing>,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Let a blocked or scheduled task go on.
    Unblock(Plain),
    /// Hand a task over for review.
    Review {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        handover: Handover,
        /// The profile that is to look at it [default: the one that did last].
        #[arg(long)]
        reviewer: Option<String>,
        /// Although somebody else works on it.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Hand a reviewed task back for changes.
    Changes {
        #[command(flatten)]
        which: Which,
        /// What has to change.
        reason: String,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Put a task aside until its time comes.
    Schedule {
        #[command(flatten)]
        which: Which,
        /// Why.
        reason: Option<String>,
        #[command(flatten)]
        attempt: Attempt,
        #[command(flatten)]
        json: Json,
    },
    /// Make a waiting or blocked task ready by hand.
    Promote {
        #[command(flatten)]
        which: Which,
        /// Why.
        reason: Option<String>,
        /// Although it waits for another task.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Put a task away.
    Archive(Plain),
    /// Comment on a task.
    Comment {
        #[command(flatten)]
        which: Which,
        /// The comment.
        text: String,
        /// Who says it [default: HERMES_PROFILE, else `user`].
        #[arg(long)]
        author: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Let one task wait for another.
    Link(Link),
    /// Let it wait no more.
    Unlink(Link),
    /// Give a task to a profile.
    #[command(
        group(ArgGroup::new("to").required(true).args(["profile", "nobody"])),
        override_usage = "kanban-gateway task assign [OPTIONS] <TASK> <PROFILE|--nobody>"
    )]
    Assign {
        #[command(flatten)]
        which: Which,
        /// The profile.
        profile: Option<String>,
        /// Take it from everybody.
        #[arg(long)]
        nobody: bool,
        #[command(flatten)]
        json: Json,
    },
}

/// A task on a board.
#[derive(Debug, Args)]
pub(super) struct Which {
    #[command(flatten)]
    pub(super) board: Board,
    /// The task: its id, or the beginning of it where that is unique.
    #[arg(add = complete::tasks())]
    pub(super) task: String,
}

/// A task, and nothing more to say.
#[derive(Debug, Args)]
pub(super) struct Plain {
    #[command(flatten)]
    pub(super) which: Which,
    #[command(flatten)]
    pub(super) json: Json,
}

/// Two tasks on a board.
#[derive(Debug, Args)]
pub(super) struct Link {
    #[command(flatten)]
    pub(super) board: Board,
    /// The task that is done first.
    #[arg(add = complete::tasks())]
    pub(super) parent: String,
    /// The task that waits for it.
    #[arg(add = complete::tasks())]
    pub(super) child: String,
    #[command(flatten)]
    pub(super) json: Json,
}

/// A worker's attempt.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Attempt {
    /// The attempt that says so, as `claim` told it: refused once that is over.
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<i64>,
}

/// What a worker hands over.
#[derive(Debug, Args)]
pub(super) struct Handover {
    /// What is told of it.
    #[arg(long)]
    pub(super) summary: Option<String>,
    /// Facts for whoever goes on: a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(super) metadata: Option<String>,
    /// A file that came of it; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) artifact: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Create {
    #[command(flatten)]
    pub(super) board: Board,
    /// What it is called.
    pub(super) title: String,
    /// The text of the card.
    #[arg(long)]
    pub(super) body: Option<String>,
    /// The profile that is to work on it.
    #[arg(long)]
    pub(super) assignee: Option<String>,
    /// A task that must be done first; may be given several times.
    #[arg(long, value_name = "TASK", add = complete::tasks())]
    pub(super) parent: Vec<String>,
    /// Higher goes first.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(super) priority: i64,
    /// A second task with the same key is the first one, unless that is archived.
    #[arg(long, value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
    /// Somebody has to say first what is to be done; Hermes' `specify` goes on from there.
    #[arg(long, conflicts_with = "blocked")]
    pub(super) triage: bool,
    /// Begin as blocked, until somebody, or Hermes' next look at what may go on, lets it go.
    #[arg(long)]
    pub(super) blocked: bool,
    /// Where it is worked on: `scratch`, `worktree`, `worktree:PATH` or `dir:/PATH`.
    #[arg(long, default_value = "scratch")]
    pub(super) workspace: String,
    /// The branch of a worktree.
    #[arg(long)]
    pub(super) branch: Option<String>,
    /// Whose it is, where several share a board.
    #[arg(long)]
    pub(super) tenant: Option<String>,
    /// How long an attempt may take, such as `2h`; at least a second.
    #[arg(long, value_name = "SPAN", value_parser = whole_span)]
    pub(super) max_runtime: Option<Duration>,
    /// So many failures in a row, and the dispatcher gives up.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_retries: Option<u32>,
    /// A skill that its worker loads; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(super) skill: Vec<String>,
    /// Go on until a judge finds the goal reached.
    #[arg(long)]
    pub(super) goal: bool,
    /// But for at most so many turns.
    #[arg(long, value_name = "N", requires = "goal", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) goal_max_turns: Option<u32>,
    /// Who makes it [default: HERMES_PROFILE, else `user`].
    #[arg(long)]
    pub(super) created_by: Option<String>,
    #[command(flatten)]
    pub(super) json: Json,
}

fn whole_span(text: &str) -> Result<Duration, String> {
    let span = span(text)?;
    if span.as_secs() < 1 { Err("it has to be a second at least".to_owned()) } else { Ok(span) }
}

/// What a blocked task lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Missing {
    /// An answer or a decision.
    NeedsInput,
    /// Something that the worker cannot do.
    Capability,
    /// Something that passes.
    Transient,
    /// Another task.
    Dependency,
}
