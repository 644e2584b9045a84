//! One message on purpose, through the very channel that `run` would use; neither ledger nor boards are
//! touched.

use std::sync::Arc;

use anyhow::bail;
use kanban_notify::{
    ids::ChannelName,
    message::{Destination, Message, Parcel, Span},
    ports::Channel,
    subscription::API_SERVER,
    verdict::{Fault, Receipt, Verdict},
};
use serde::Serialize;

use super::{Context, Unusable, lacking, subs, time::Moment};
use crate::{
    hermes::DEFAULT_PROFILE,
    wiring::{InTheWay, in_the_way},
};

/// What is to be sent where.
#[derive(Clone, Debug)]
pub struct Test {
    /// The platform.
    pub platform: String,
    /// The chat, or the raw session.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// Whose API server, for a session.
    pub profile: Option<String>,
    /// Whether an agent's turn may be spent on it.
    pub turn: bool,
}

/// A message that is ready to be sent.
pub struct Ready {
    channel: Arc<dyn Channel>,
    destination: Destination,
    thread: String,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Sent {
    /// The channel.
    pub channel: String,
    /// The chat or session; the one that it has become, where it has another name now.
    pub chat: String,
    /// The thread; empty for none.
    pub thread: String,
    /// Whether it arrived; null where nobody knows.
    pub delivered: Option<bool>,
    /// The verdict in one word.
    pub verdict: String,
    /// The same in words, as far as the receiver gave any.
    pub detail: String,
    /// The receiver's name for the message, where it tells one.
    pub message_id: Option<String>,
    /// What to do; empty where there is nothing.
    pub next: String,
}

/// Checks what can be checked without sending anything.
pub fn prepare(ctx: &Context, test: &Test) -> anyhow::Result<Ready> {
    let platform = test.platform.trim().to_lowercase();
    subs::check_chat(ctx, &platform, &test.chat)?;
    let is_session = platform == API_SERVER;
    if !is_session && test.profile.is_some() {
        bail!(Unusable("--profile goes with `api_server`: only sessions have one".to_owned()));
    }
    if is_session && !test.thread.is_empty() {
        bail!(Unusable("--thread goes with chats: a session has no threads".to_owned()));
    }
    if is_session && !test.turn {
        bail!(Unusable(format!(
            "a message to a session is a turn of its agent, with its cost and whatever the agent does; say --yes \
             to have one in session `{}`, or see `kanban-gateway doctor`, which sends nothing",
            test.chat
        )));
    }
    let outlook = subs::outlook(ctx)?;
    let name = if is_session {
        ChannelName::api_server(test.profile.as_deref().unwrap_or(DEFAULT_PROFILE))
    } else {
        ChannelName(platform.clone())
    };
    let Some(channel) = outlook.channel(&name) else {
        let why = match is_session {
            true => format!("there is no channel {name}"),
            false => lacking::why(&outlook, &platform),
        };
        let remedy = lacking::remedy(&outlook, &ctx.config.hermes_home, &platform);
        let remedy = remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
        bail!(Unusable(format!("nothing was sent: {why}{remedy}")));
    };
    let (chat, thread) = (test.chat.clone(), test.thread.clone());
    let destination = if is_session {
        Destination::Session { channel: name, session: chat }
    } else {
        Destination::Chat { channel: name, chat, thread: thread.clone() }
    };
    Ok(Ready { channel, destination, thread })
}

impl Ready {
    /// Whether it is a turn of an agent.
    pub fn is_turn(&self) -> bool {
        matches!(self.destination, Destination::Session { .. })
    }

    /// Sends it, once.
    pub async fn send(self) -> Sent {
        let now = Moment::from_micros(kanban_store::ledger::now());
        let message = Message {
            spans: vec![Span::ours(format!("test message from kanban-gateway, {now}"))],
            ..Message::default()
        };
        let body = self.channel.encode(&self.destination, &message);
        let key = format!("kanban-gateway-test-{}", now.micros());
        let mut parcel = Parcel::new(self.destination, key, body);
        let mut verdict = self.channel.send(&parcel).await;
        // A chat that has moved is followed, as `run` does, and no further.
        if let Verdict::Moved { chat: to, .. } = &verdict
            && let Destination::Chat { chat, .. } = &mut parcel.destination
        {
            chat.clone_from(to);
            verdict = self.channel.send(&parcel).await;
        }
        while let Verdict::Part { next, .. } = verdict {
            parcel.part = next;
            verdict = self.channel.send(&parcel).await;
        }
        let channel = parcel.destination.channel().to_string();
        let (Destination::Chat { chat, .. } | Destination::Session { session: chat, .. }) =
            parcel.destination;
        let message_id = match &verdict {
            Verdict::Delivered(Receipt { remote_id, .. }) => remote_id.clone(),
            _ => None,
        };
        Sent {
            channel,
            chat,
            thread: self.thread,
            delivered: match &verdict {
                Verdict::Delivered(_) => Some(true),
                Verdict::Unknown { .. } => None,
                _ => Some(false),
            },
            verdict: verdict.name().to_owned(),
            detail: verdict.detail().to_owned(),
            message_id,
            next: next(&verdict),
        }
    }
}

/// What to do after a verdict on a message.
pub(super) fn next(verdict: &Verdict) -> String {
    let way = in_the_way(verdict.detail());
    let next = match verdict {
        Verdict::Delivered(_) | Verdict::Part { .. } => "",
        Verdict::Moved { .. } => "subscribe the chat under its new name",
        Verdict::Busy { retry_after: Some(wait), .. } => {
            let wait = humantime::format_duration(*wait);
            return format!("try again in {wait}; `run` waits by itself");
        }
        Verdict::Busy { retry_after: None, .. } => "try again later; `run` does so by itself",
        Verdict::Unreachable { .. } if way == InTheWay::ProxyLogin => {
            "put the right name and password into HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, as in \
             http://NAME:PASSWORD@HOST:PORT, and restart `run`"
        }
        Verdict::Unreachable { .. } if way == InTheWay::Proxy => {
            "see whether that proxy works and whether its address in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is \
             right; `run` goes on trying"
        }
        Verdict::Unreachable { .. } => {
            "see whether the server runs and whether its address is right; `run` goes on trying"
        }
        Verdict::Retryable { .. } => "try again; `run` does so by itself, less and less often",
        Verdict::FailedTurn { .. } => "see the log of the agent: the turn began and failed",
        Verdict::Unknown { .. } => "look into the chat: it may be there",
        Verdict::Permanent { fault, .. } => match fault {
            Fault::Target if way == InTheWay::NotPublic => {
                "allow the address there, or send to a public one"
            }
            Fault::Target => {
                "see whether the chat is right, and whether the sender is a member of it and may write there"
            }
            Fault::Thread => {
                "see whether the thread is right and open; `run` sends to the chat above it once (`thread_fallback`)"
            }
            Fault::Credential => "put the right one there, as the reason says",
            Fault::Payload => {
                "see the receiver's words; a lower `max_length` helps where it takes less"
            }
            Fault::Quota => "see the account's allowance",
        },
    };
    next.to_owned()
}
