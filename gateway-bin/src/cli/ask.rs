//! Commands that look, or change one thing, and print the answer.

use std::process::ExitCode;

use anyhow::bail;
use serde::Serialize;

use super::{
    args::{
        BoardCommand, Command, DeadCommand, Json, LedgerCommand, SubCommand, TargetArgs,
        TaskCommand,
    },
    output::{self, print_json, table},
};
use crate::ops::{
    Context, boards,
    dead::{self, Selection},
    events, ledger, status,
    subs::{self, Target},
    tasks, unix_now,
    watch::Watcher,
};

/// Answers every command that needs only the configuration.
pub(super) fn answer(command: Command, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        Command::Status { json } => output::status(&status::status(ctx)?, json.json),
        Command::Sub { command } => sub(command, ctx),
        Command::Board { command } => board(command, ctx),
        Command::Task { command } => task(command, ctx),
        Command::Events { board, task, after, limit, json } => {
            let events = events::list(ctx, board.board.as_deref(), task.as_deref(), after, limit)?;
            list(json, &events, &["ID", "TASK", "KIND", "AT", "PAYLOAD"], |event| {
                vec![
                    event.id.to_string(),
                    event.task.clone(),
                    event.kind.clone(),
                    output::time(event.created_at),
                    event.payload.clone().unwrap_or_default(),
                ]
            })
        }
        Command::Dead { command } => dead_letters(command, ctx),
        Command::Replay { board, task, subscription, since, dry_run, json } => {
            let since = since.map(|since| {
                unix_now().saturating_sub(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
            });
            let selection = Selection { board, task, subscription, since };
            let (found, done) = dead::replay(ctx, &selection, dry_run)?;
            if dry_run {
                return list(json, &found, &["ID", "TASK", "EVENT", "STATE"], |leg| {
                    vec![
                        leg.id.to_string(),
                        leg.task.clone(),
                        leg.event_kind.clone(),
                        leg.state.clone(),
                    ]
                });
            }
            output::decisions(&done, "sent again", json.json)
        }
        Command::Watch { board, lines } => {
            let watcher = Watcher::open(ctx, board.board.as_deref())?;
            super::watch::watch(watcher, lines)
        }
        Command::Ledger { command: LedgerCommand::Migrate } => {
            let ran = ledger::migrate(ctx)?;
            match ran.as_slice() {
                [] => say!("Nothing to migrate."),
                some => say!("Migrated: {}", some.join(", ")),
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Ledger { command: LedgerCommand::Status { json } } => {
            let status = ledger::status(ctx)?;
            if json.json {
                return print_json(&status);
            }
            say!("{}", status.path);
            say!("applied: {}", status.applied.join(", "));
            say!("pending: {}", status.pending.join(", "));
            Ok(ExitCode::SUCCESS)
        }
        // The rest was answered before the configuration was read.
        _ => bail!("this command cannot be used here; see `kanban-gateway --help`"),
    }
}

fn sub(command: SubCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        SubCommand::List { board, json } => {
            let subs = subs::list(ctx, board.board.as_deref())?;
            let head =
                ["ID", "BOARD", "TASK", "PLATFORM", "CHAT", "OWNER", "CURSOR", "OPEN", "SERVED"];
            return list(json, &subs, &head, |sub| {
                let chat = match sub.thread.as_str() {
                    "" => sub.chat.clone(),
                    thread => format!("{} #{thread}", sub.chat),
                };
                vec![
                    sub.id.map(|id| id.to_string()).unwrap_or_default(),
                    sub.board.clone(),
                    sub.task.clone(),
                    sub.platform.clone(),
                    chat,
                    sub.owner.clone().unwrap_or_default(),
                    sub.cursor.to_string(),
                    sub.open.to_string(),
                    sub.served.clone(),
                ]
            });
        }
        SubCommand::Add { board, target } => {
            let added = subs::add(ctx, board.board.as_deref(), &target.into())?;
            if added.inherited {
                say!("Thread {} was taken from another row of that chat.", added.thread);
            }
            say!(
                "{}",
                if added.new { "Subscribed." } else { "That subscription is there already." }
            );
        }
        SubCommand::Adopt { board, platform, task } => {
            if platform.is_none() && task.is_none() {
                bail!("say which rows: --platform or --task");
            }
            let count = subs::adopt(ctx, board.board.as_deref(), |row| {
                platform.as_ref().is_none_or(|wanted| row.key.platform.eq_ignore_ascii_case(wanted))
                    && task.as_ref().is_none_or(|wanted| row.key.task == *wanted)
            })?;
            say!("{count} adopted.");
        }
        SubCommand::Release { platform, task, all } => {
            if platform.is_none() && task.is_none() && !all {
                bail!("say which rows: --platform, --task or --all");
            }
            let done = subs::release(ctx, |copy| {
                platform.as_ref().is_none_or(|wanted| copy.platform.eq_ignore_ascii_case(wanted))
                    && task.as_ref().is_none_or(|wanted| copy.task == *wanted)
            })?;
            for (copy, _) in done.iter().filter(|(_, won)| !won) {
                say!(
                    "{} {}: its owner was changed meanwhile and is left as it is.",
                    copy.task,
                    copy.chat
                );
            }
            say!("{} released.", done.len());
        }
        SubCommand::Remove { board, target } => {
            let removed = subs::remove(ctx, board.board.as_deref(), &target.into())?;
            say!("{}", if removed { "Removed." } else { "It was gone already." });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn board(command: BoardCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        BoardCommand::List { json } => {
            list(json, &boards::list(ctx)?, &["SLUG", "NAME", "STATE", "PATH"], |board| {
                let state = match (board.present, board.archived) {
                    (_, true) => "archived",
                    (true, false) => "present",
                    (false, false) => "no file yet",
                };
                vec![board.slug.clone(), board.name.clone(), state.to_owned(), board.path.clone()]
            })
        }
        BoardCommand::Create { slug, name } => {
            say!("{}", boards::create(ctx, &slug, name.as_deref())?);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn task(command: TaskCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        TaskCommand::Create { board, title, body, assignee } => {
            say!("{}", tasks::create(ctx, board.board.as_deref(), &title, body, assignee)?);
        }
        TaskCommand::Complete { board, task, result, summary } => {
            let event = tasks::complete(ctx, board.board.as_deref(), &task, result, summary)?;
            say!("{task} is completed (event {event}).");
        }
        TaskCommand::Block { board, task, reason, kind } => {
            let (board, reason) = (board.board.as_deref(), reason.as_deref());
            say!("{}.", tasks::block(ctx, board, &task, reason, kind.as_deref())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn dead_letters(command: DeadCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        DeadCommand::List { dropped, json } => {
            let head =
                ["ID", "BOARD", "TASK", "WHAT", "HOW", "PLATFORM", "CHAT", "STATE", "REASON"];
            list(json, &dead::list(ctx, dropped)?, &head, |leg| {
                vec![
                    leg.id.to_string(),
                    leg.board.clone(),
                    leg.task.clone(),
                    leg.event_kind.clone(),
                    leg.kind.clone(),
                    leg.platform.clone(),
                    leg.chat.clone(),
                    leg.state.clone(),
                    leg.reason.clone(),
                ]
            })
        }
        DeadCommand::Show { id } => print_json(&dead::show(ctx, id)?),
        DeadCommand::Retry { ids, .. } => {
            output::decisions(&dead::retry(ctx, &ids)?, "to be tried again", false)
        }
        DeadCommand::Drop { ids } => {
            output::decisions(&dead::discard(ctx, &ids)?, "dropped", false)
        }
    }
}

fn list<T: Serialize>(
    json: Json,
    items: &[T],
    head: &[&str],
    row: impl Fn(&T) -> Vec<String>,
) -> anyhow::Result<ExitCode> {
    if json.json {
        return print_json(&items);
    }
    table(head, items.iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}

impl From<TargetArgs> for Target {
    fn from(target: TargetArgs) -> Self {
        let TargetArgs { task, platform, chat, thread } = target;
        Self { task, platform, chat, thread }
    }
}
