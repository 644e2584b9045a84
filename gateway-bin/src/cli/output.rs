//! What is printed: tables for people, JSON for machines.

use std::{borrow::Cow, fmt::Arguments, io::Write as _, process::ExitCode};

use kanban_notify::driver::Ended;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;

use super::{args::Listen as ListenArgs, exit, table::shown};
use crate::{
    config::Shown,
    ops::{
        counted,
        dead::{Attempted, Decision, Shown as Delivered},
        is_wild,
        listen::{Heard, Listen},
        serve::Left,
        time::Moment,
    },
};

/// Prints a line; `say!` is how it is called.
pub(super) fn line(text: Arguments<'_>) {
    // `kanban-gateway events | head`: whoever closed the pipe does not want the rest.
    let _ = heard(text);
}

/// Prints a line; false when nobody reads any more.
pub(super) fn heard(text: Arguments<'_>) -> bool {
    as_it_is(&tame(&text.to_string()))
}

/// Prints text with colours in it that are ours.
pub(super) fn as_it_is(text: &str) -> bool {
    writeln!(std::io::stdout().lock(), "{text}").is_ok()
}

/// What a board or a receiver holds must not move the cursor of a terminal, or worse.
pub(super) fn tame(text: &str) -> Cow<'_, str> {
    let wild = |c: char| is_wild(c) && c != '\n' && c != '\t';
    if text.contains(wild) { text.replace(wild, " ").into() } else { text.into() }
}

/// Prints `value` as indented JSON.
pub(super) fn print_json<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(value)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints everything about one delivery, a line each; what there is nothing of is left out.
pub(super) fn delivery(shown: &Delivered) -> ExitCode {
    let delivery = &shown.delivery;
    let at = |at: Option<Moment>| at.map(|at| at.to_string()).unwrap_or_default();
    let thread = match delivery.thread.as_str() {
        "" => String::new(),
        thread => format!(" #{thread}"),
    };
    let dropped = if delivery.dropped { ", dropped" } else { "" };
    field("delivery", &delivery.id.to_string());
    field("state", &format!("{}{dropped}", delivery.state));
    field("verdict", &delivery.verdict);
    field("reason", &delivery.reason);
    field("board", &delivery.board);
    field("task", &format!("{} ({})", delivery.task, delivery.title));
    field("assignee", shown.assignee.as_deref().unwrap_or_default());
    field("event", &format!("{} {}, {}", delivery.event, delivery.event_kind, delivery.event_at));
    field("hand-off", shown.handoff.as_deref().unwrap_or_default());
    for fact in shown.notes.as_array().into_iter().flatten().filter_map(Value::as_array) {
        let words: Vec<&str> = fact.iter().filter_map(Value::as_str).collect();
        field("note", &words.join(": "));
    }
    let (kind, platform) = (&delivery.kind, &delivery.platform);
    field("to", &format!("{kind} on {platform}, {}{thread}", delivery.chat));
    field("profile", &delivery.profile);
    field("subscription", &format!("{} ({})", delivery.subscription, shown.life));
    field("planned", &delivery.planned_at.to_string());
    field("due", &at(delivery.due_at));
    field("first sent", &at(delivery.first_attempt_at));
    field("last sent", &at(delivery.last_attempt_at));
    field("failures", &delivery.failures.to_string());
    field("repetition", &delivery.epoch.to_string());
    if let Some(claim) = &shown.claim {
        let legs = counted(claim.legs, "message");
        field("request", &format!("{} with {legs}, {}", claim.id, claim.state));
        field("lane", &claim.lane);
        field("key", &claim.key);
        field("reference", &claim.reference);
        let verdict = [claim.verdict.as_str(), claim.detail.as_str()];
        let said = verdict.iter().filter(|text| !text.is_empty());
        field("answer", &said.copied().collect::<Vec<_>>().join(": "));
        field("intended", &claim.intended_at.to_string());
        field("settled", &at(claim.settled_at));
    }
    for attempt in &shown.attempts {
        let Attempted { claim, ended_at, verdict, detail, .. } = attempt;
        let said = if detail.is_empty() { verdict.clone() } else { format!("{verdict}: {detail}") };
        field("attempt", &format!("{ended_at} request {claim}: {said}"));
    }
    ExitCode::SUCCESS
}

/// Prints a named value; nothing for an empty one.
pub(super) fn field(name: &str, value: &str) {
    if !value.is_empty() {
        say!("{name:<12} {}", shown(value));
    }
}

/// Prints what an operator's decisions came to, and `hint` if anything was done. The exit code says whether
/// everything, a part or nothing was.
pub(super) fn decisions(
    decisions: &[Decision],
    done: &str,
    hint: Option<&str>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let count = decisions.iter().filter(|decision| decision.done).count();
    if json {
        print_json(&decisions)?;
    } else {
        for refused in decisions.iter().filter(|decision| !decision.done) {
            say!("{}: {}", refused.leg, shown(&refused.reason));
        }
        say!("{count} {done}.");
        if let Some(hint) = hint.filter(|_| count > 0) {
            say!("{hint}.");
        }
    }
    Ok(if count == decisions.len() {
        ExitCode::SUCCESS
    } else if count > 0 {
        exit::PARTLY.into()
    } else if decisions.iter().any(|decision| decision.found) {
        exit::REFUSED.into()
    } else {
        exit::MISSING.into()
    })
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
    if json {
        let url = listening.url();
        say!("{}", serde_json::json!({ "event": "listening", "url": url }));
    } else {
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

/// Says how a run ended and what it leaves.
pub(super) fn ended(left: &Left) {
    let Left { delivered, dead, waiting, unknown, .. } = *left;
    if let Ended::Cut { in_flight } = left.ended {
        tracing::warn!(
            in_flight,
            "ended at the end of the grace time; what was cut is found out at the next start"
        );
    }
    for (board, error) in &left.boards {
        tracing::warn!(board.slug = board, error, "nothing is delivered from this board");
    }
    if left.nothing() {
        tracing::info!(delivered, dead, "ended; everything has its outcome");
    } else {
        let due_at = left.due_at.map(tracing::field::display);
        tracing::warn!(
            delivered,
            dead,
            waiting,
            due_at,
            unknown,
            unserved = left.unserved,
            boards = left.boards.len(),
            "ended; something is left open, see `kanban-gateway status`"
        );
    }
}
