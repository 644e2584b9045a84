//! Whether `run` could start with the configuration as it is; nothing leaves this machine.

use super::Context;

/// Refuses what `run` would refuse; answers with what it would only warn of.
pub fn check(ctx: &Context) -> anyhow::Result<Vec<String>> {
    let found = crate::wiring::check(&ctx.config, &ctx.env)?;
    let mut told: Vec<String> = found.into_iter().map(|one| one.problem.to_string()).collect();
    told.extend(crate::wiring::hermes_now(&ctx.config, &ctx.env).problems());
    Ok(told)
}
