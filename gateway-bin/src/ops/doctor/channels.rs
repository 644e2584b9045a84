//! Every channel that `run` would have, asked at the same time whether it answers and knows us.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::join_all;
use kanban_notify::{
    ids::ChannelName,
    verdict::{Fault, Verdict},
};
use tokio::time::timeout;

use super::{Check, Level};
use crate::{
    config::mask_url,
    ops::{Context, test_send},
    wiring::Outlook,
};

/// How long one channel is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn channels(ctx: &Context, offline: bool) -> Vec<Check> {
    let hermes = crate::wiring::hermes_now(&ctx.config, &ctx.env);
    let outlook = match crate::wiring::outlook(&ctx.config, &ctx.env, &hermes) {
        Ok(outlook) => outlook,
        Err(error) => {
            let said = format!("{:#}", anyhow::Error::from(error));
            return vec![Check::new("channel", "", said).needs(Level::Fail, "see the reason")];
        }
    };
    let servers: BTreeMap<ChannelName, String> = (hermes.api_servers(&ctx.config.api_servers))
        .into_iter()
        .map(|server| (ChannelName::api_server(&server.profile), mask_url(&server.url)))
        .collect();
    let asked = outlook.world.channels.keys().map(|name| ask(&outlook, name, &servers, offline));
    let mut checks = join_all(asked).await;
    checks.extend(outlook.unusable.iter().map(|one| {
        let check = Check::new("channel", one.platform, one.problem.to_string());
        match one.is_wanted {
            true => check.needs(Level::Fail, "mend it: `run` does not start with it"),
            false => check.needs(Level::Warn, "set or mend what it names, or take the rest out"),
        }
    }));
    if checks.is_empty() {
        let said = "there is none: nobody can be told";
        let next = "see docs/PLATFORMS.md, or give a profile of Hermes an API server";
        checks.push(Check::new("channel", "", said).needs(Level::Fail, next));
    }
    checks
}

async fn ask(
    outlook: &Outlook,
    name: &ChannelName,
    servers: &BTreeMap<ChannelName, String>,
    offline: bool,
) -> Check {
    let place = servers.get(name).map(|url| format!("{url}: ")).unwrap_or_default();
    let check = |said: &str| Check::new("channel", name.as_str(), format!("{place}{said}"));
    let Some(channel) = outlook.channel(name) else { return check("it is gone") };
    if name.as_str() == "console" {
        return check("prints to the standard output of `run`");
    }
    if offline {
        return check("set up; not asked");
    }
    match timeout(PATIENCE, channel.probe()).await {
        Ok(verdict) => judged(&verdict, check),
        Err(_) => {
            let said = format!("no answer within {}", humantime::format_duration(PATIENCE));
            check(&said).needs(Level::Fail, "see whether the server runs, and the network")
        }
    }
}

fn judged(verdict: &Verdict, check: impl Fn(&str) -> Check) -> Check {
    let level = match verdict {
        Verdict::Delivered(receipt) if receipt.note.as_str().is_empty() => {
            return check("answers and takes the credential");
        }
        Verdict::Delivered(receipt) => {
            let said = format!("set up; {}", receipt.note.as_str());
            return check(&said).needs(Level::Ok, "`kanban-gateway test-send` sends one");
        }
        Verdict::Busy { .. } => Level::Warn,
        _ => Level::Fail,
    };
    let credential = matches!(verdict, Verdict::Permanent { fault: Fault::Credential, .. });
    let what = if credential { "the credential is refused" } else { verdict.name() };
    check(&format!("{what}: {}", verdict.detail())).needs(level, next(verdict))
}

/// What to do after a verdict on a question: no message was sent that could be anywhere.
fn next(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Unknown { .. } => {
            "see whether the address is the platform's own, and what answers there instead".to_owned()
        }
        Verdict::Permanent { fault: Fault::Target, .. } => {
            "see whether the address is right, and whether something before the server keeps this machine out"
                .to_owned()
        }
        other => test_send::next(other),
    }
}
