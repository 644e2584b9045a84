//! A local receiver that speaks the API server's contract: for a developer's desk and for tests.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::Context as _;
use gateway_adapters::receiver::{How, Receiver, ReceiverConfig, ReceiverEvent, Script, Scripted};
use secrecy::SecretString;
use serde::Serialize;

/// How the receiver is to behave.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Where to listen.
    pub addr: SocketAddr,
    /// The key that clients have to send.
    pub key: SecretString,
    /// Statuses for the wakes to come, such as `500,429:2,200`; the last one stays.
    pub script: Option<String>,
    /// How long each turn takes.
    pub delay: Duration,
    /// Take each wake and close the connection without a reply.
    pub drop: bool,
}

/// A receiver that is listening.
pub struct Listening {
    receiver: Receiver,
    events: tokio::sync::mpsc::UnboundedReceiver<ReceiverEvent>,
    wakes: u64,
    /// Wakes without an answer yet: the request's number, and the wake's.
    open: BTreeMap<u64, u64>,
}

/// One wake, or its end.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Heard {
    /// A wake arrived.
    Wake {
        /// Its number: wakes are counted from 1.
        number: u64,
        /// The session it is for.
        session: String,
        /// Its idempotency key.
        key: String,
        /// Its text.
        text: String,
    },
    /// It was answered.
    Answered {
        /// Its number.
        number: u64,
        /// The status; none when the connection was closed without one.
        status: Option<u16>,
        /// What was done for it.
        how: &'static str,
    },
}

/// Says what is wrong with a script before anything listens.
pub fn checked_script(text: &str) -> anyhow::Result<String> {
    text.parse::<Script>()?;
    Ok(text.to_owned())
}

impl Listen {
    /// Starts to listen.
    pub async fn start(self) -> anyhow::Result<Listening> {
        let script = match (&self.script, self.drop) {
            (_, true) => Script::of([Scripted::Drop]),
            (Some(script), _) => script.parse()?,
            (None, _) => Script::default(),
        };
        let receiver = Receiver::start(ReceiverConfig {
            addr: self.addr,
            key: self.key,
            script,
            delay: self.delay,
            ..ReceiverConfig::default()
        })
        .await
        .with_context(|| {
            format!("cannot listen on {}; name another address with --addr", self.addr)
        })?;
        let events = receiver.events();
        Ok(Listening { receiver, events, wakes: 0, open: BTreeMap::new() })
    }
}

impl Listening {
    /// Its URL.
    pub fn url(&self) -> String {
        self.receiver.url()
    }

    /// The receiver itself.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Waits for the next wake, or the end of one.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            match self.events.recv().await? {
                ReceiverEvent::Arrived(request) if request.is_wake() => {
                    self.wakes = self.wakes.saturating_add(1);
                    self.open.insert(request.number, self.wakes);
                    return Some(Heard::Wake {
                        number: self.wakes,
                        session: request.session().unwrap_or_default().to_owned(),
                        key: request.key().unwrap_or_default().to_owned(),
                        text: request.text(),
                    });
                }
                ReceiverEvent::Arrived(_) => {}
                ReceiverEvent::Answered(end) => {
                    let Some(number) = self.open.remove(&end.number) else { continue };
                    let how = match end.how {
                        How::Ran => "ran",
                        How::Joined => "joined",
                        How::Replayed => "replayed",
                        How::Refused => "refused",
                        How::Left => "left",
                    };
                    return Some(Heard::Answered { number, status: end.status, how });
                }
            }
        }
    }
}
