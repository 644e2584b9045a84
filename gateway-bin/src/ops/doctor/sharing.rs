//! What `run` would say of the configuration, of Hermes, and of what is owed.

use super::{Check, Level};
use crate::{
    StartError,
    ops::{Context, status::Status},
};

/// Whether `run` would start. Platforms that keep it from that are told of with the channels.
pub(super) fn configuration(ctx: &Context) -> Check {
    let check = |said: String| Check::new("configuration", "", said);
    match crate::wiring::check(&ctx.config, &ctx.env) {
        Ok(_) => check("`run` can start with it".to_owned()),
        Err(StartError::Settings(refused)) => {
            let count = refused.problems.len();
            check(format!("`run` cannot start with it: {count} of the channels below"))
                .needs(Level::Fail, "see there")
        }
        Err(error) => {
            check(format!("`run` cannot start with it: {:#}", anyhow::Error::from(error)))
                .needs(Level::Fail, "see the reason")
        }
    }
}

/// How the work is shared, and whose rows are whose.
pub(super) fn hermes(ctx: &Context, status: &Status) -> Vec<Check> {
    let setup = Check::new("hermes", "", status.setup.clone());
    // What is set for push platforms is told of with the channels.
    let problems = crate::wiring::hermes_now(&ctx.config, &ctx.env).problems();
    let problems = problems.into_iter().map(|problem| {
        Check::new("hermes", "", problem)
            .needs(Level::Warn, "mend it, or leave it if it is not used")
    });
    let rows = status.ownership.iter().map(|of| {
        let said = of.line.strip_prefix(&format!("{}: ", of.platform)).unwrap_or(&of.line);
        Check::new("rows", of.platform.clone(), said)
    });
    std::iter::once(setup).chain(problems).chain(rows).collect()
}

/// Who delivers.
pub(super) fn processes(status: &Status) -> Check {
    let check = |said: String| Check::new("process", "", said);
    let named = status.instances.iter().map(|one| format!("{} since {}", one.pid, one.started_at));
    let named = named.collect::<Vec<_>>().join(", ");
    match status.instances.len() {
        0 => check("no process delivers".to_owned()).needs(
            Level::Warn,
            "start `kanban-gateway run`, or call `kanban-gateway once` from cron",
        ),
        1 => check(format!("process {named} delivers")),
        _ => check(format!("processes {named} deliver from one ledger")).needs(
            Level::Warn,
            "give all of them the same configuration and keys, or stop all but one",
        ),
    }
}

/// What of rows and deliveries needs a look.
pub(super) fn deliveries(status: &Status) -> Vec<Check> {
    // Where a reason ends with a step, that is the one.
    let all = status.owed.iter().map(|reason| match reason.rsplit_once("; see ") {
        Some((said, step)) => {
            Check::new("deliveries", "", said).needs(Level::Warn, format!("see {step}"))
        }
        None => Check::new("deliveries", "", reason.clone())
            .needs(Level::Warn, "see `kanban-gateway status`"),
    });
    all.collect()
}
