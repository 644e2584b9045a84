//! The daemon, and one round of it.

use anyhow::{Context as _, bail};
use kanban_notify::driver::Ended;

use super::Context;
use crate::{Gateway, Options, shutdown::Signals};

/// Delivers until a signal ends it; answers with how it ended.
pub async fn run(ctx: Context, accept: bool) -> anyhow::Result<Ended> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let gateway = build(ctx, accept)?;
    gateway.announce();
    if gateway.boards() == 0 {
        tracing::warn!("no board yet; waiting for one to appear");
    }
    let mut running = gateway.start();
    tracing::info!("ready");
    let signal = tokio::select! {
        signal = signals.next() => signal,
        ended = running.wait() => return ended.context("the gateway stopped working"),
    };
    tracing::info!(signal, "stopping; what is in flight may finish");
    tokio::select! {
        ended = running.stop() => ended.context("the gateway stopped working"),
        again = signals.next() => {
            bail!("ended at once by a second {again}; what was in flight is found out at the next start")
        }
    }
}

/// Delivers what is due now and ends.
pub async fn once(ctx: Context, accept: bool) -> anyhow::Result<Ended> {
    let mut signals = Signals::install().context("signals cannot be handled")?;
    let gateway = build(ctx, accept)?;
    if gateway.boards() == 0 {
        bail!("there is no board; see `kanban-gateway board list`, or name one with `boards`");
    }
    gateway.announce();
    let mut running = gateway.start_once();
    tokio::select! {
        _ = signals.next() => {}
        ended = running.wait() => return ended.context("the gateway stopped working"),
    }
    running.stop().await.context("the gateway stopped working")
}

fn build(ctx: Context, accept: bool) -> anyhow::Result<Gateway> {
    let Context { config, env } = ctx;
    Ok(Gateway::build(config, env, Options { accept, ..Options::default() })?)
}
