//! `task`: each command changes one thing, or shows what there is.

use std::process::ExitCode;

use kanban_notify::text::clean;
use serde_json::Value;

use super::{
    args::Json,
    ask::list,
    output::{field, print_json},
    table::table,
    task_args::{Create, Handover, Link, Missing, Plain, TaskCommand, Which},
};
use crate::ops::{
    Context,
    cards::{self, Shown},
    tasks::{self, BlockKind, Card, Done, NewTask, Said, TaskOptions, Wish},
};

/// A title in a list is cut to so many characters; `--json` has all of it.
const TITLE: usize = crate::ops::watch::TITLE;

pub(super) fn task(command: TaskCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    let card = |which: Which| ctx.card(which.board.board.as_deref(), &which.task);
    match command {
        TaskCommand::Create(create) => created(*create, ctx),
        TaskCommand::List { board, status, assignee, archived, limit, json } => {
            let filter = cards::filter(status, assignee, archived, limit);
            let tasks = cards::list(ctx, board.board.as_deref(), &filter)?;
            list(json, &tasks, &["ID", "STATUS", "ASSIGNEE", "CREATED", "TITLE"], |task| {
                vec![
                    task.id.clone(),
                    task.status.clone(),
                    task.assignee.clone().unwrap_or_default(),
                    task.created_at.to_string(),
                    clean::one_line(&task.title, TITLE),
                ]
            })
        }
        TaskCommand::Show { which, json } => {
            let shown = cards::show(card(which)?)?;
            if json.json { print_json(&shown) } else { Ok(show(&shown)) }
        }
        TaskCommand::Runs { which, json } => {
            let shown = cards::show(card(which)?)?;
            if json.json {
                return print_json(&shown.runs);
            }
            runs(&shown);
            Ok(ExitCode::SUCCESS)
        }
        TaskCommand::Claim { which, lock, ttl, review, json } => {
            told(card(which)?.claim(lock, ttl, review)?, json)
        }
        TaskCommand::Heartbeat { which, note, attempt, json } => {
            told(card(which)?.heartbeat(note.as_deref(), attempt.run)?, json)
        }
        TaskCommand::Complete { which, result, handover, created, attempt, json } => {
            told(card(which)?.complete(result, handover.into(), created, attempt.run)?, json)
        }
        TaskCommand::Block { which, reason, kind, attempt, json } => {
            let dependency = kind == Some(Missing::Dependency);
            let kind = kind.and_then(block_kind);
            told(card(which)?.block(reason, kind, dependency, attempt.run)?, json)
        }
        TaskCommand::Unblock(Plain { which, json }) => told(card(which)?.unblock()?, json),
        TaskCommand::Review { which, handover, reviewer, force, attempt, json } => {
            told(card(which)?.review(handover.into(), reviewer, force, attempt.run)?, json)
        }
        TaskCommand::Changes { which, reason, attempt, json } => {
            told(card(which)?.changes(&reason, attempt.run)?, json)
        }
        TaskCommand::Schedule { which, reason, attempt, json } => {
            told(card(which)?.schedule(reason, attempt.run)?, json)
        }
        TaskCommand::Promote { which, reason, force, json } => {
            told(card(which)?.promote(ctx.actor(), reason, force)?, json)
        }
        TaskCommand::Archive(Plain { which, json }) => told(card(which)?.archive()?, json),
        TaskCommand::Comment { which, text, author, json } => {
            let author = author.unwrap_or_else(|| ctx.actor());
            told(card(which)?.comment(&author, &text)?, json)
        }
        TaskCommand::Link(link) => linked(&link, ctx, true),
        TaskCommand::Unlink(link) => linked(&link, ctx, false),
        TaskCommand::Assign { which, profile, json, .. } => {
            told(card(which)?.assign(profile.as_deref())?, json)
        }
    }
}

fn created(create: Create, ctx: &Context) -> anyhow::Result<ExitCode> {
    let (workspace, workspace_path) = tasks::workspace(&create.workspace)?;
    let seconds = |span: std::time::Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let wish = Wish {
        new: NewTask {
            title: create.title,
            body: create.body,
            assignee: create.assignee,
            created_by: create.created_by,
            session_id: None,
            idempotency_key: create.idempotency_key,
            priority: create.priority,
        },
        options: TaskOptions {
            parents: create.parent,
            start: tasks::start(create.triage, create.blocked),
            workspace,
            workspace_path,
            branch: create.branch,
            tenant: create.tenant,
            max_runtime_seconds: create.max_runtime.map(seconds),
            skills: (!create.skill.is_empty()).then_some(create.skill),
            max_retries: create.max_retries.map(i64::from),
            goal_mode: create.goal,
            goal_max_turns: create.goal_max_turns.map(i64::from),
        },
    };
    let done = tasks::create(ctx, create.board.board.as_deref(), wish)?;
    if create.json.json {
        return print_json(&done);
    }
    // Nothing but the id: scripts keep it.
    say!("{}", done.task);
    Ok(ExitCode::SUCCESS)
}

fn linked(link: &Link, ctx: &Context, wait: bool) -> anyhow::Result<ExitCode> {
    let parent: Card = ctx.card(link.board.board.as_deref(), &link.parent)?;
    told(parent.link(&link.child, wait)?, link.json)
}

fn told(done: Done, json: Json) -> anyhow::Result<ExitCode> {
    if json.json {
        return print_json(&done);
    }
    let mut more = String::new();
    if let Some(run) = done.run {
        more.push_str(&format!(", attempt {run}"));
    }
    if let Some(until) = done.until {
        more.push_str(&format!(", until {until}"));
    }
    if let Some(event) = done.event {
        more.push_str(&format!(" (event {event})"));
    }
    say!("{}: {}{more}.", done.task, done.what);
    Ok(ExitCode::SUCCESS)
}

fn block_kind(missing: Missing) -> Option<BlockKind> {
    match missing {
        Missing::NeedsInput => Some(BlockKind::NeedsInput),
        Missing::Capability => Some(BlockKind::Capability),
        Missing::Transient => Some(BlockKind::Transient),
        Missing::Dependency => None,
    }
}

impl From<Handover> for Said {
    fn from(handover: Handover) -> Self {
        let Handover { summary, metadata, artifact } = handover;
        Self { summary, metadata, artifacts: artifact }
    }
}

/// Everything about a task, a line for each thing that there is.
fn show(shown: &Shown) -> ExitCode {
    let text = |name: &str| of(&shown.task, name);
    field("task", &text("id"));
    field("board", &shown.board);
    field("title", &text("title"));
    field("status", &text("status"));
    for (name, column) in [
        ("assignee", "assignee"),
        ("created", "created_at"),
        ("created by", "created_by"),
        ("started", "started_at"),
        ("completed", "completed_at"),
        ("priority", "priority"),
        ("claimed by", "claim_lock"),
        ("claim ends", "claim_expires"),
        ("heartbeat", "last_heartbeat_at"),
        ("session", "session_id"),
        ("last error", "last_failure_error"),
        ("tenant", "tenant"),
        ("branch", "branch_name"),
        ("skills", "skills"),
        ("time limit", "max_runtime_seconds"),
        ("retries", "max_retries"),
        ("key", "idempotency_key"),
    ] {
        field(name, &text(column));
    }
    if ["blocked", "triage"].contains(&text("status").as_str()) {
        field("blocked for", &text("block_kind"));
    }
    if text("goal_mode") == "1" {
        field("goal", &format!("until it is reached, {} turns at most", text("goal_max_turns")));
    }
    field("workspace", format!("{} {}", text("workspace_kind"), text("workspace_path")).trim());
    field("waits for", &shown.parents.join(", "));
    field("needed by", &shown.children.join(", "));
    for (name, column) in [("body", "body"), ("result", "result")] {
        let value = text(column);
        for (at, line) in value.lines().enumerate() {
            field(if at == 0 { name } else { "" }, line);
        }
    }
    for comment in &shown.comments {
        field("comment", &format!("{} {}", of(comment, "created_at"), of(comment, "author")));
        of(comment, "body").lines().for_each(|line| field("", line));
    }
    if !shown.runs.is_empty() {
        say!("");
        runs(shown);
    }
    if !shown.events.is_empty() {
        say!("");
        let rows = shown.events.iter().map(|event| {
            let (id, kind, at) = (event.id.to_string(), event.kind.clone(), event.created_at);
            vec![id, kind, at.to_string(), event.payload_text()]
        });
        table(&["EVENT", "KIND", "AT", "PAYLOAD"], rows.collect());
    }
    ExitCode::SUCCESS
}

fn runs(shown: &Shown) {
    let rows = shown.runs.iter().map(|run| {
        let said = ["error", "summary"].map(|name| of(run, name));
        let said =
            said.iter().find_map(|text| clean::first_line(text, 200)).unwrap_or_default().text;
        let columns = ["id", "profile", "status", "outcome", "started_at", "ended_at"];
        columns.iter().map(|name| of(run, name)).chain([said]).collect()
    });
    table(&["RUN", "PROFILE", "STATUS", "OUTCOME", "STARTED", "ENDED", "SAID"], rows.collect());
}

/// A column as text; nothing for null.
fn of(fields: &cards::Fields, name: &str) -> String {
    match fields.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
