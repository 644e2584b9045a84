//! `doctor` for people: a line for each finding, and below it what to do.

use std::process::ExitCode;

use super::{exit, output::print_json, table::shown};
use crate::ops::{
    Context, counted,
    doctor::{Check, Level, Report, doctor},
};

/// Looks at everything and prints it; the exit code says how it stands.
pub(super) async fn look(ctx: &Context, offline: bool, json: bool) -> anyhow::Result<ExitCode> {
    let report = doctor(ctx, offline).await;
    if json {
        print_json(&report)?;
    } else {
        people(&report);
    }
    Ok(match (report.delivering, report.level) {
        (false, _) => exit::DOWN.into(),
        (true, Level::Ok) => ExitCode::SUCCESS,
        (true, Level::Warn | Level::Fail) => exit::PARTLY.into(),
    })
}

fn people(report: &Report) {
    for check in &report.checks {
        let Check { area, subject, said, next, .. } = check;
        let level = name(check.level);
        let subject = if subject.is_empty() { String::new() } else { format!(" {subject}") };
        say!("{level:<4}  {area}{}: {}", shown(&subject), shown(said));
        if !next.is_empty() {
            say!("      -> {}", shown(next));
        }
    }
    let of = |level| report.checks.iter().filter(|check| check.level == level).count();
    say!(
        "{}: {} ok, {} to look at, {} that fail",
        counted(report.checks.len(), "check"),
        of(Level::Ok),
        of(Level::Warn),
        of(Level::Fail)
    );
}

fn name(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Fail => "fail",
    }
}
