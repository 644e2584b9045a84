//! Commands that look, or change one thing, and print the answer.

use std::process::ExitCode;

use anyhow::bail;
use serde::Serialize;

use super::{
    args::{Board, Command, DeadCommand, Json, LedgerCommand, SubCommand, TargetArgs},
    exit,
    output::{self, print_json},
    table::table,
};
use crate::ops::{
    Context, Unusable,
    dead::{self, Delivery, Selection, Shown},
    ledger, status,
    subs::{self, Target, Wanted},
    unix_now,
    watch::Watcher,
    why,
};

/// Answers every command that needs only the configuration.
pub(super) fn answer(command: Command, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        Command::Status { why: Some(task), board, json } => {
            let steps = why::why(ctx, board.board.as_deref(), &task)?;
            list(json, &steps, &["AT", "DELIVERY", "WHAT"], |step| {
                let delivery = step.delivery.map(|id| id.to_string()).unwrap_or_default();
                vec![step.at.to_string(), delivery, step.what.clone()]
            })
        }
        Command::Status { board: Board { board: Some(_) }, .. } => {
            bail!(Unusable("--board goes with --why: `status` tells of every board".to_owned()))
        }
        Command::Status { json, .. } => super::status::status(&status::status(ctx), json.json),
        Command::Sub { command } => sub(command, ctx),
        Command::Board { command } => super::board::board(command, ctx),
        Command::Task { command } => super::task::task(command, ctx),
        Command::Events(arguments) => super::events::events(arguments, ctx),
        Command::Dead { command } => dead_letters(command, ctx),
        Command::Replay { board, task, subscription, since, dry_run, json } => {
            let since = since.map(|since| {
                unix_now().saturating_sub(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
            });
            let selection = Selection { board, task, subscription, since };
            let (found, done) = dead::replay(ctx, &selection, dry_run)?;
            if dry_run {
                let found: Vec<Delivery> = found.into_iter().map(Delivery::from).collect();
                let head = ["ID", "BOARD", "TASK", "WHAT", "AT", "PLATFORM", "CHAT", "STATE"];
                return list(json, &found, &head, |leg| {
                    vec![
                        leg.id.to_string(),
                        leg.board.clone(),
                        leg.task.clone(),
                        leg.event_kind.clone(),
                        leg.event_at.to_string(),
                        leg.platform.clone(),
                        leg.chat.clone(),
                        leg.state.clone(),
                    ]
                });
            }
            if done.is_empty() && !json.json {
                say!("Nothing matches: nothing of that has been sent or has ended yet.");
                return Ok(ExitCode::SUCCESS);
            }
            output::decisions(&done, SENT_AGAIN, nobody_sends(ctx)?, json.json)
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
            let subs::Listing { subs, failed } = subs::list(ctx, board.as_deref())?;
            let head =
                ["ID", "BOARD", "TASK", "PLATFORM", "CHAT", "OWNER", "CURSOR", "OPEN", "SERVED"];
            let done = list(json, &subs, &head, |sub| {
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
            })?;
            for (board, error) in &failed {
                eprintln!("kanban-gateway: board `{board}` is left out: {error}");
            }
            return Ok(if failed.is_empty() { done } else { exit::PARTLY.into() });
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
            for warning in &added.warnings {
                eprintln!("warning: {warning}");
            }
        }
        SubCommand::Adopt { board, platform, task } => {
            let wanted = Wanted { platform, task };
            if wanted.is_all() {
                bail!(Unusable("say which rows: --platform or --task".to_owned()));
            }
            let count = subs::adopt(ctx, board.board.as_deref(), &wanted)?;
            say!(
                "{}",
                if count == 0 {
                    "0 adopted: they are ours already.".to_owned()
                } else {
                    format!("{count} adopted.")
                }
            );
        }
        SubCommand::Release { platform, task, all } => {
            let wanted = Wanted { platform, task };
            if wanted.is_all() && !all {
                bail!(Unusable("say which rows: --platform, --task or --all".to_owned()));
            }
            let done = subs::release(ctx, &wanted)?;
            for (copy, _) in done.iter().filter(|(_, won)| !won) {
                say!(
                    "{} {}: its owner was changed meanwhile and is left as it is.",
                    copy.task,
                    copy.chat
                );
            }
            match done.len() {
                0 => say!("0 released: no row is adopted."),
                count => say!("{count} released."),
            }
        }
        SubCommand::Remove { board, target } => {
            let removed = subs::remove(ctx, board.board.as_deref(), &target.into())?;
            say!("{}", if removed { "Removed." } else { "It was gone already." });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn dead_letters(command: DeadCommand, ctx: &Context) -> anyhow::Result<ExitCode> {
    match command {
        DeadCommand::List { dropped, json } => {
            let head = ["ID", "BOARD", "TASK", "WHAT", "HOW", "PLATFORM", "CHAT", "STATE", "WHY"];
            let dead: Vec<Delivery> =
                dead::list(ctx, dropped)?.into_iter().map(Delivery::from).collect();
            let done = list(json, &dead, &head, |leg| {
                let said = [leg.verdict.as_str(), leg.reason.as_str()];
                let said: Vec<&str> = said.into_iter().filter(|word| !word.is_empty()).collect();
                vec![
                    leg.id.to_string(),
                    leg.board.clone(),
                    leg.task.clone(),
                    leg.event_kind.clone(),
                    leg.kind.clone(),
                    leg.platform.clone(),
                    leg.chat.clone(),
                    leg.state.clone(),
                    said.join(": "),
                ]
            });
            if !json.json && !dead.is_empty() {
                say!(
                    "Next: `dead show ID` has the whole of one; once its cause is mended `dead retry ID` sends \
                     it again (or --all), and `dead drop ID` hides it."
                );
            }
            done
        }
        DeadCommand::Show { id, json } => {
            let shown = Shown::from(dead::show(ctx, id)?);
            if json.json { print_json(&shown) } else { Ok(output::delivery(&shown)) }
        }
        DeadCommand::Retry { ids, all } => {
            if ids.is_empty() && !all {
                let text =
                    "name deliveries by their ids (`kanban-gateway dead list`), or take --all";
                bail!(Unusable(text.to_owned()));
            }
            output::decisions(&dead::retry(ctx, &ids)?, SENT_AGAIN, nobody_sends(ctx)?, false)
        }
        DeadCommand::Drop { ids } => {
            output::decisions(&dead::discard(ctx, &ids)?, "dropped", None, false)
        }
    }
}

/// What becomes of deliveries that are planned anew.
const SENT_AGAIN: &str = "to be sent again";

/// When those are sent, if nobody delivers now.
fn nobody_sends(ctx: &Context) -> anyhow::Result<Option<&'static str>> {
    let hint = "no process delivers now: that happens when `kanban-gateway run` or `once` runs";
    Ok((!status::is_delivering(ctx)?).then_some(hint))
}

pub(super) fn list<T: Serialize>(
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
