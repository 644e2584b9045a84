//! What is printed: tables for people, JSON for machines.

use std::{
    fmt::Arguments,
    io::Write as _,
    process::ExitCode,
    time::{Duration, UNIX_EPOCH},
};

use kanban_notify::driver::Ended;
use secrecy::SecretString;
use serde::Serialize;

use super::args::Listen as ListenArgs;
use crate::{
    config::Shown,
    ops::{
        dead::Decision,
        listen::{Heard, Listen},
        status::{Health, Status},
    },
};

/// Prints a line; `say!` is how it is called.
pub(super) fn line(text: Arguments<'_>) {
    // `kanban-gateway events | head`: whoever closed the pipe does not want the rest.
    let _ = heard(text);
}

/// Prints a line; false when nobody reads any more.
pub(super) fn heard(text: Arguments<'_>) -> bool {
    writeln!(std::io::stdout().lock(), "{text}").is_ok()
}

/// Prints `value` as indented JSON.
pub(super) fn print_json<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(value)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints rows in columns that are as wide as their content.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        say!("None.");
        return;
    }
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(shown(cell).chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        say!("{}", line.trim_end());
    };
    line(&mut head.iter().map(|cell| (*cell).to_owned()));
    for row in &rows {
        line(&mut row.iter().map(|cell| shown(cell)));
    }
}

/// A cell as one line: what a board holds must not move the cursor of a terminal.
fn shown(cell: &str) -> String {
    cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A time in UTC.
pub(super) fn time(unix: i64) -> String {
    let since = Duration::from_secs(u64::try_from(unix).unwrap_or(0));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Prints what `status` found; the exit code says how it stands.
pub(super) fn status(status: &Status, json: bool) -> anyhow::Result<ExitCode> {
    let code = ExitCode::from(match status.health {
        Health::Healthy => 0,
        Health::Degraded => 3,
        Health::Down => 4,
    });
    if json {
        print_json(status)?;
        return Ok(code);
    }
    let word = match status.health {
        Health::Healthy => "healthy",
        Health::Degraded => "degraded",
        Health::Down => "down",
    };
    say!("{word}");
    for reason in &status.reasons {
        say!("  {reason}");
    }
    say!("set-up {}", status.setup);
    for platform in &status.ownership {
        say!("  {}", platform.line);
    }
    for problem in &status.problems {
        say!("  {problem}");
    }
    say!("boards");
    for board in &status.boards {
        say!(
            "  {}: {}, {} subscriptions, newest event {} ({})",
            board.slug,
            board.state,
            board.subscriptions,
            board.newest_event,
            board.path
        );
    }
    for (reason, count) in &status.unserved {
        say!("  {count} rows not served: {reason}");
    }
    say!("deliveries");
    for (state, count) in &status.legs {
        say!("  {state}: {count}");
    }
    if status.cursors_to_raise > 0 {
        say!("  cursors to raise: {}", status.cursors_to_raise);
    }
    for lane in &status.lanes {
        say!(
            "  {} has {} under way since {}: {}",
            lane.lane,
            lane.legs,
            time(lane.since),
            lane.state
        );
    }
    for pause in &status.pauses {
        say!("  channel {} rests until {}: {}", pause.channel, time(pause.until), pause.reason);
    }
    for process in &status.instances {
        say!("process {} ({}) since {}", process.pid, process.id, time(process.started_at));
    }
    Ok(code)
}

/// Prints what an operator's decision came to; fails when nothing could be done.
pub(super) fn decisions(
    decisions: &[Decision],
    done: &str,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if json {
        return print_json(&decisions);
    }
    for refused in decisions.iter().filter(|decision| !decision.done) {
        say!("{}: not {done}: {}", refused.leg, refused.reason);
    }
    let count = decisions.iter().filter(|decision| decision.done).count();
    say!("{count} {done}.");
    Ok(if count == 0 && !decisions.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints the values in force.
pub(super) fn config(shown: &[Shown], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        return print_json(&shown);
    }
    for setting in shown {
        say!("{} = {}  # {}", setting.key, setting.value, setting.origin);
    }
    Ok(ExitCode::SUCCESS)
}

/// Listens until a signal, and prints each wake.
pub(super) async fn listen(args: ListenArgs) -> anyhow::Result<ExitCode> {
    let json = args.json.json;
    let listen = Listen {
        addr: args.addr,
        key: SecretString::from(args.key),
        script: args.status,
        delay: args.delay.unwrap_or_default(),
        drop: args.drop,
    };
    let mut listening = listen.start().await?;
    if !json {
        say!("listening on {}; stop with ctrl-c", listening.url());
    }
    let mut signals = crate::shutdown::Signals::install()?;
    loop {
        let heard = tokio::select! {
            heard = listening.next() => heard,
            _ = signals.next() => None,
        };
        let Some(heard) = heard else { return Ok(ExitCode::SUCCESS) };
        if json {
            say!("{}", serde_json::to_string(&heard)?);
            continue;
        }
        match heard {
            Heard::Wake { number, session, key, text } => {
                say!("#{number} wake for {session} (key {key})");
                for line in text.lines() {
                    say!("   | {}", self::shown(line));
                }
            }
            Heard::Answered { number, status, how } => {
                let status = status.map_or("no reply".to_owned(), |status| status.to_string());
                say!("#{number} {how}: {status}");
            }
        }
    }
}

/// Says how a run ended.
pub(super) fn ended(ended: Ended) -> ExitCode {
    match ended {
        Ended::Idle | Ended::Drained => tracing::info!("ended; everything has its outcome"),
        Ended::Cut { in_flight } => tracing::warn!(
            in_flight,
            "ended at the end of the grace time; what was cut is found out at the next start"
        ),
    }
    ExitCode::SUCCESS
}
