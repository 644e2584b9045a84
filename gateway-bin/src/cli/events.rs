//! `events`: a page of a board's history, or what comes from now on.

use std::{process::ExitCode, thread, time::Duration};

use super::{args::Events as Arguments, output::heard, table::table};
use crate::ops::{
    Context, Unusable,
    events::{EventLine, Events, Wanted},
};

/// How often the board is asked whether it changed: one pragma, nothing is read.
const EVERY: Duration = Duration::from_millis(200);
/// Rows that one table holds; the next ones may have other widths.
const TABLE: usize = 500;

pub(super) fn events(arguments: Arguments, ctx: &Context) -> anyhow::Result<ExitCode> {
    let Arguments { board, task, after, limit, follow, json } = arguments;
    let limited = limit.is_some();
    // Who follows wants what comes, and what was before only if it says so.
    let limit = limit.unwrap_or(if follow && after.is_none() { 0 } else { 100 });
    if follow && after.is_some() && limited {
        let text = "--follow goes on from --after without a limit: leave --limit out";
        return Err(Unusable(text.to_owned()).into());
    }
    let wanted = Wanted { task, after, limit };
    let mut events = Events::open(ctx, board.board.as_deref(), &wanted)?;
    if follow {
        return followed(&mut events, json.json);
    }
    if json.json {
        as_json(&mut events)?;
    } else {
        as_tables(&mut events)?;
    }
    if events.has_earlier() {
        eprintln!("There are earlier events too; see --limit and --after.");
    } else if events.has_later()? {
        eprintln!("There are later events too; see --limit and --after.");
    }
    Ok(ExitCode::SUCCESS)
}

fn as_tables(events: &mut Events) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    let mut any = false;
    while let Some(event) = events.take()? {
        any = true;
        rows.push(row(&event));
        if rows.len() >= TABLE {
            table(&HEAD, std::mem::take(&mut rows));
        }
    }
    if !rows.is_empty() || !any {
        table(&HEAD, rows);
    }
    Ok(())
}

/// One list, written as it is read.
fn as_json(events: &mut Events) -> anyhow::Result<()> {
    let mut before = "[";
    while let Some(event) = events.take()? {
        if !heard(format_args!("{before}\n  {}", serde_json::to_string(&event)?)) {
            return Ok(());
        }
        before = ",";
    }
    say!("{}", if before == "[" { "[]" } else { "]" });
    Ok(())
}

/// A line for each event, as soon as it is there; ends when nobody reads any more.
fn followed(events: &mut Events, json: bool) -> anyhow::Result<ExitCode> {
    let tell = |event: &EventLine| -> anyhow::Result<bool> {
        Ok(if json {
            heard(format_args!("{}", serde_json::to_string(event)?))
        } else {
            heard(format_args!("{}", row(event).join("  ").trim_end()))
        })
    };
    while let Some(event) = events.take()? {
        if !tell(&event)? {
            return Ok(ExitCode::SUCCESS);
        }
    }
    loop {
        for event in events.news()? {
            if !tell(&event)? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        thread::sleep(EVERY);
    }
}

const HEAD: [&str; 5] = ["ID", "TASK", "KIND", "AT", "PAYLOAD"];

fn row(event: &EventLine) -> Vec<String> {
    let cells = [
        event.id.to_string(),
        event.task.clone(),
        event.kind.clone(),
        event.created_at.to_string(),
        event.payload_text(),
    ];
    cells.iter().map(|cell| super::table::shown(cell)).collect()
}
