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
    /// What is set for a push platform is not enough, or cannot be used.
    #[error("`{channel}.{field}` {reason}")]
    Setting {
        /// The platform's name.
        channel: String,
        /// The field.
        field: String,
        /// What is wrong with it, in words that name no part of it.
        reason: String,
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

impl AdapterError {
    /// The same, said of the field of a platform that it is about.
    #[must_use]
    pub fn of_field(self, field: &str) -> Self {
        match self {
            Self::Address { channel, reason } | Self::Key { channel, reason } => {
                let reason = match reason {
                    NOT_SET => "is not set".to_owned(),
                    reason => format!("cannot be used: {reason}"),
                };
                Self::Setting { channel, field: field.to_owned(), reason }
            }
            other => other,
        }
    }
}

/// The reason where there is nothing.
pub(crate) const NOT_SET: &str = "it is not set";
