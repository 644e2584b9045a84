//! What was in the way of a message, as far as the words of the adapters tell.

use gateway_adapters::http::{NOT_PUBLIC, PROXY, PROXY_LOGIN};

/// What was in the way before the platform was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTheWay {
    /// A proxy that wants a name and a password, or others.
    ProxyLogin,
    /// A proxy.
    Proxy,
    /// The address is not public and not allowed.
    NotPublic,
    /// Nothing that is known.
    Nothing,
}

/// What was in the way, by the words of a verdict.
pub(crate) fn in_the_way(detail: &str) -> InTheWay {
    match detail {
        proxy if proxy.contains(PROXY) && proxy.contains(PROXY_LOGIN) => InTheWay::ProxyLogin,
        proxy if proxy.contains(PROXY) => InTheWay::Proxy,
        address if address.contains(NOT_PUBLIC) => InTheWay::NotPublic,
        _ => InTheWay::Nothing,
    }
}
