//! `status` for people: what matters first, and never more than a screen of anything.

use std::{collections::BTreeSet, process::ExitCode};

use super::{exit, output::print_json, table::shown};
use crate::ops::{
    counted,
    status::{BoardHealth, Health, Lag, Lane, Paused, Status, Waiting},
};

/// So many lines of one list are shown; `--json` has all of them.
const LINES: usize = 10;

/// Prints what `status` found; the exit code says how it stands.
pub(super) fn status(status: &Status, json: bool) -> anyhow::Result<ExitCode> {
    let code = ExitCode::from(match status.health {
        Health::Healthy => 0,
        Health::Degraded => exit::PARTLY,
        Health::Down => exit::DOWN,
    });
    if json {
        print_json(status)?;
        return Ok(code);
    }
    say!(
        "{}",
        match status.health {
            Health::Healthy => "healthy",
            Health::Degraded => "degraded",
            Health::Down => "down",
        }
    );
    for reason in &status.reasons {
        say!("  {}", shown(reason));
    }
    say!("set-up {}", status.setup);
    for platform in &status.ownership {
        say!("  {}", shown(&platform.line));
    }
    for problem in &status.problems {
        say!("  {}", shown(problem));
    }
    boards(status);
    behind(status);
    deliveries(status);
    for process in &status.instances {
        say!("process {} ({}) since {}", process.pid, process.id, process.started_at);
    }
    Ok(code)
}

fn boards(status: &Status) {
    say!("boards");
    if status.boards.is_empty() {
        say!("  none yet; make one with `kanban-gateway board create NAME`");
    }
    for board in &status.boards {
        let BoardHealth { slug, state, subscriptions, newest_event, path, .. } = board;
        let id = board.id.map(|id| format!(" (id {id})")).unwrap_or_default();
        say!("  {}{id}: {}", shown(slug), shown(state));
        let subscriptions = subscriptions.map_or_else(
            || "subscriptions unknown".to_owned(),
            |count| counted(count, "subscription"),
        );
        let newest = newest_event.map_or_else(|| "unknown".to_owned(), |id| id.to_string());
        let replaced = match board.incarnation {
            Some(number) if number > 1 => format!(", file {number} behind its path"),
            _ => String::new(),
        };
        say!("    {subscriptions}, newest event {newest}, {}{replaced}", shown(path));
        for note in &board.notes {
            say!("    {}", shown(note));
        }
        for kind in status.unknown_kinds.iter().filter(|kind| kind.board == *slug) {
            say!(
                "    {} of a kind that this version does not know and tells nobody of: {}, newest {}",
                counted(kind.events, "event"),
                shown(&kind.kind),
                kind.newest_event
            );
        }
    }
    for rows in status.unserved.iter().filter(|rows| !rows.by_nobody) {
        let count = counted(rows.rows, "row");
        say!(
            "  {}: {count} of {} not served: {}",
            shown(&rows.board),
            shown(&rows.platform),
            shown(&rows.reason)
        );
    }
}

/// Who is owed something, the longest waiting first.
fn behind(status: &Status) {
    if status.lag.is_empty() {
        return;
    }
    let events: i64 = status.lag.iter().map(|lag| lag.events).sum();
    let count = counted(status.lag.len(), "subscription");
    say!("behind: {count} with {} not told yet", counted(events, "event"));
    some(&status.lag, |lag: &Lag| {
        let Lag { board, task, platform, chat, thread, .. } = lag;
        let age = std::time::Duration::from_secs(u64::try_from(lag.seconds).unwrap_or(0));
        say!(
            "  {} {} {} {}: {}, the oldest written {} ago",
            shown(board),
            shown(task),
            shown(platform),
            shown(&place(chat, thread)),
            counted(lag.events, "event"),
            humantime::format_duration(age)
        );
    });
}

fn deliveries(status: &Status) {
    say!("deliveries");
    for (state, count) in status.legs.iter().filter(|(_, count)| **count > 0) {
        say!("  {state}: {count}");
    }
    if status.legs.values().all(|count| *count == 0) {
        say!("  none yet");
    }
    if status.cursors_to_raise > 0 {
        say!("  cursors to raise: {}", status.cursors_to_raise);
    }
    some(&status.lanes, lane);
    let rests = |name: &str| status.pauses.iter().any(|pause| pause.channel == name);
    let others: Vec<&Waiting> =
        status.waiting.iter().filter(|group| !rests(&group.channel)).collect();
    some(&others, |group| waiting(group, &group.held_by));
    for pause in &status.pauses {
        resting(pause, &status.waiting);
    }
}

/// The first of a list, and how many are left out.
fn some<T>(list: &[T], line: impl Fn(&T)) {
    list.iter().take(LINES).for_each(line);
    if let Some(more) = list.len().checked_sub(LINES).filter(|more| *more > 0) {
        say!("  … and {more} more; `status --json` has each");
    }
}

fn lane(lane: &Lane) {
    let (count, since) = (counted(lane.legs, "message"), lane.since);
    match lane.state.as_str() {
        "unknown" => say!(
            "  {}: outcome of {count} sent at {since} unknown, being found out: {}",
            shown(&lane.lane),
            shown(&lane.reason)
        ),
        state => say!("  {}: {count} {state} since {since}", shown(&lane.lane)),
    }
}

/// A channel that rests and what waits for it; why it rests stands above, once.
fn resting(pause: &Paused, all: &[Waiting]) {
    let (channel, until) = (shown(&pause.channel), pause.until);
    let held: Vec<&Waiting> = all.iter().filter(|group| group.channel == pause.channel).collect();
    match held.as_slice() {
        [] => say!("  channel {channel} rests until {until}"),
        [one] => waiting(one, &format!("its channel rests until {until}")),
        several => {
            let ids: Vec<i64> = several.iter().flat_map(|one| one.ids.iter().copied()).collect();
            let deliveries = counted_deliveries(ids.len());
            let places: BTreeSet<(&str, &str)> =
                several.iter().map(|one| (one.chat.as_str(), one.thread.as_str())).collect();
            let places = counted(places.len(), "destination");
            let ids = first(&ids);
            say!(
                "  channel {channel} rests until {until}: {deliveries} to {places} (dead show {ids})"
            );
        }
    }
}

fn counted_deliveries(count: usize) -> String {
    if count == 1 { "1 delivery".to_owned() } else { format!("{count} deliveries") }
}

/// The first of many ids.
fn first(ids: &[i64]) -> String {
    const IDS: usize = 5;
    let mut some: Vec<String> = ids.iter().take(IDS).map(ToString::to_string).collect();
    if ids.len() > IDS {
        some.push("…".to_owned());
    }
    some.join(" ")
}

/// One line for deliveries that wait together.
fn waiting(group: &Waiting, held_by: &str) {
    let why = match (group.verdict.as_str(), group.reason.as_str()) {
        ("", "") => "not sent yet".to_owned(),
        ("", reason) => reason.to_owned(),
        (verdict, reason) => format!("{verdict}: {reason}"),
    };
    say!(
        "  {} {}: {} {}, due {}: {}; {} (dead show {})",
        shown(&group.channel),
        shown(&place(&group.chat, &group.thread)),
        group.ids.len(),
        group.state,
        group.due_at,
        shown(&why),
        shown(held_by),
        first(&group.ids)
    );
}

fn place(chat: &str, thread: &str) -> String {
    if thread.is_empty() { chat.to_owned() } else { format!("{chat} #{thread}") }
}
