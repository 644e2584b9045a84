//! `test-send`: says that it sends, and what came of it.

use std::process::ExitCode;

use super::{
    args::TestSend,
    exit,
    output::{field, print_json},
};
use crate::ops::{
    Context,
    test_send::{Sent, Test, prepare},
};

/// Sends one message and prints the verdict.
pub(super) async fn test_send(arguments: TestSend, ctx: &Context) -> anyhow::Result<ExitCode> {
    let TestSend { platform, chat, thread, profile, yes, json } = arguments;
    let test = Test { platform, chat, thread, profile, turn: yes };
    let ready = prepare(ctx, &test)?;
    if !json.json {
        let what = match ready.is_turn() {
            true => "one message, which is a turn of its agent,",
            false => "one message",
        };
        say!("Sending {what} to {} on {} ...", test.chat, test.platform);
    }
    let sent = ready.send().await;
    if json.json {
        print_json(&sent)?;
    } else {
        told(&sent);
    }
    Ok(match sent.delivered {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => exit::PARTLY.into(),
    })
}

fn told(sent: &Sent) {
    let thread = if sent.thread.is_empty() { String::new() } else { format!(" #{}", sent.thread) };
    let to = format!("{} {}{thread}", sent.channel, sent.chat);
    match sent.delivered {
        Some(true) => say!("Delivered to {to}."),
        Some(false) => say!("Not delivered to {to}."),
        None => say!("Nobody knows whether it reached {to}."),
    }
    field("verdict", &sent.verdict);
    field("message", sent.message_id.as_deref().unwrap_or_default());
    field("reason", &sent.detail);
    field("next", &sent.next);
}
