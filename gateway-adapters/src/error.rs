//! What can go wrong while an adapter is built; what goes wrong later is a verdict.

use std::net::SocketAddr;

/// Why an adapter could not be built. No variant holds a secret or an address with one in it.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The base address of a server cannot be used.
    #[error("the address of {channel} is not usable: {reason}")]
    Address {
        /// The channel's name.
        channel: String,
        /// What is wrong with it, in words that name no part of it.
        reason: &'static str,
    },
    /// A key is empty, or cannot be sent in a header.
    #[error("the key of {channel} is not usable: {reason}")]
    Key {
        /// The channel's name.
        channel: String,
        /// What is wrong with it, in words that name no part of it.
        reason: &'static str,
    },
    /// A proxy of the environment cannot be used.
    #[error("the proxy in {variable} cannot be used: {reason}")]
    Proxy {
        /// The variable that names it.
        variable: String,
        /// What is wrong with it, in words that name no part of it.
        reason: &'static str,
    },
    /// TLS could not be set up.
    #[error("TLS could not be set up")]
    Tls {
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The thread that writes the console's lines did not start.
    #[error("the console's writer did not start")]
    Console {
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Nobody can listen at this address.
    #[error("listening at {addr} failed")]
    Listen {
        /// Where.
        addr: SocketAddr,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A template cannot be used.
    #[error("`{place}` {reason}")]
    Template {
        /// Where it stands in the configuration.
        place: String,
        /// What is wrong with it, with its line.
        reason: String,
    },
    /// A script of answers cannot be read.
    #[error("`{item}` is no scripted answer: {reason}")]
    Script {
        /// The item at fault.
        item: String,
        /// What is expected in its place.
        reason: &'static str,
    },
}
