//! How a receiver behaves.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use secrecy::SecretString;

use super::script::Script;

/// How a receiver behaves; the defaults are those of the real server, but for the port.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// Where to listen. Default `127.0.0.1`, any free port.
    pub addr: SocketAddr,
    /// The key that clients must send. With an empty one every client is let in, and none may name
    /// a session. Default `receiver-key-0123456789`.
    pub key: SecretString,
    /// The model that `/v1/models` and answers name. Default `hermes-agent`.
    pub model: String,
    /// What every turn answers. Default `Noted.`
    pub answer: String,
    /// The answers in their order. Default: `200`.
    pub script: Script,
    /// How long each turn takes. Default zero.
    pub delay: Duration,
    /// How many turns run at once before 429; 0 for any number. Default 10.
    pub max_runs: usize,
    /// The largest request body, in bytes. Default 10 000 000.
    pub max_body: usize,
    /// How long a result is replayed for its idempotency key, from the end of its turn. Default 300 s.
    pub key_ttl: Duration,
    /// How many results are kept for replay. Default 1000.
    pub key_entries: usize,
    /// `Retry-After` of 429 and 503, as it is written into the header. Default `1`.
    pub retry_after: String,
    /// How many requests are kept for [`Receiver::requests`](super::Receiver::requests). Default 100 000.
    pub keep: usize,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            key: SecretString::from("receiver-key-0123456789"),
            model: "hermes-agent".to_owned(),
            answer: "Noted.".to_owned(),
            script: Script::default(),
            delay: Duration::ZERO,
            max_runs: 10,
            max_body: 10_000_000,
            key_ttl: Duration::from_secs(300),
            key_entries: 1000,
            retry_after: "1".to_owned(),
            keep: 100_000,
        }
    }
}
