//! Which addresses may be dialled where somebody else names the host: public ones, and those that the operator allows.

use std::{
    collections::BTreeSet,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Refuses addresses that are not public, unless they are allowed.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    hosts: BTreeSet<String>,
    networks: Vec<(IpAddr, u32)>,
    setting: &'static str,
}

impl Guard {
    /// A guard that lets pass what `allowed` names: hosts, addresses and networks (`10.0.0.0/8`), between
    /// commas or blanks. `setting` is where it was read, for whoever is refused.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn new(allowed: &str, setting: &'static str) -> Result<Self, &'static str> {
        let mut guard = Self { setting, ..Self::default() };
        let items = allowed.split(|c: char| c == ',' || c.is_whitespace());
        for item in items.filter(|item| !item.is_empty()) {
            let (address, length) =
                item.split_once('/').map_or((item, None), |(a, l)| (a, Some(l)));
            match (address.trim_matches(['[', ']']).parse::<IpAddr>(), length) {
                (Ok(address), None) => guard.networks.push((address.to_canonical(), 128)),
                (Ok(address), Some(length)) => {
                    let most = if address.is_ipv4() { 32 } else { 128 };
                    let length = length.parse().ok().filter(|length| *length <= most);
                    guard.networks.push((address, length.ok_or("what stands behind a `/` is no length of a network: as in 10.0.0.0/8 it is 0 to 32, or 0 to 128 for IPv6")?));
                }
                (Err(_), None) => {
                    guard.hosts.insert(item.to_ascii_lowercase());
                }
                (Err(_), Some(_)) => {
                    return Err(
                        "what stands before a `/` is no address of a network, as in 10.0.0.0/8",
                    );
                }
            }
        }
        Ok(guard)
    }

    /// Whether this address may be dialled for this host.
    pub fn passes(&self, host: &str, address: IpAddr) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        is_public(address)
            || self.hosts.contains(&host)
            || self.networks.iter().any(|network| is_in(address.to_canonical(), *network))
    }

    /// Checks the host of an address that is a number: it is not resolved.
    pub(super) fn check(&self, host: &str) -> Result<(), Blocked> {
        let bare = host.trim_matches(['[', ']']);
        match bare.parse::<IpAddr>() {
            Ok(address) if !self.passes(bare, address) => Err(self.blocked(address)),
            _ => Ok(()),
        }
    }

    fn blocked(&self, address: IpAddr) -> Blocked {
        Blocked { address, setting: self.setting }
    }
}

/// The words on an address that is refused.
pub const NOT_PUBLIC: &str = "is not a public address";

/// The host has no address that may be dialled.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "{address} {NOT_PUBLIC} and nothing was sent; `{setting}` can allow it: name it there and restart `run`"
)]
pub(super) struct Blocked {
    address: IpAddr,
    setting: &'static str,
}

fn is_in(address: IpAddr, (network, length): (IpAddr, u32)) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(four) => (u128::from(u32::from(four)) << 96, 32),
        IpAddr::V6(six) => (u128::from(six), 128),
    };
    let ((address, width), (network, other)) = (bits(address), bits(network));
    let shift = 128_u32.saturating_sub(length.min(width));
    let differ = address ^ network;
    width == other && differ.checked_shr(shift).unwrap_or(0) == 0
}

/// Whether an address is one of the whole internet. What only wraps an address of version 4 is judged by that.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_four(four),
        IpAddr::V6(six) => is_public_six(six),
    }
}

fn is_public_four(address: Ipv4Addr) -> bool {
    let is_shared = |octets: [u8; 4]| match octets {
        [0 | 240..=255, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        _ => false,
    };
    !(is_shared(address.octets())
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_six(address: Ipv6Addr) -> bool {
    let four = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_four(four(high, low))
        }
        [0x2002, high, low, ..] => is_public_four(four(high, low)),
        // Tunnels, and what is for documents.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, ..] => false,
        // Everything that is handed out begins so.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Resolves names as the system does, and leaves out what its guard does not let pass: the address that
/// was checked is the one that is dialled.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    inner: GaiResolver,
    guard: Option<Arc<Guard>>,
}

impl Resolver {
    pub(super) fn new(guard: Option<Arc<Guard>>) -> Self {
        Self { inner: GaiResolver::new(), guard }
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.as_str().to_owned();
        let guard = self.guard.clone();
        let resolving = self.inner.call(name);
        Box::pin(async move {
            let all: Vec<SocketAddr> = resolving.await?.collect();
            let Some(guard) = guard else { return Ok(all.into_iter()) };
            let fit = all.iter().copied().filter(|address| guard.passes(&host, address.ip()));
            let fit: Vec<SocketAddr> = fit.collect();
            match all.first() {
                Some(first) if fit.is_empty() => Err(io::Error::other(guard.blocked(first.ip()))),
                _ => Ok(fit.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allowed: &str) -> Guard {
        Guard::new(allowed, "x.allow_private").unwrap()
    }

    #[test]
    fn report_97_what_is_not_public_passes_only_where_it_is_allowed() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "203.0.113.9",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fec0::1",
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert!(!guard("").passes("h", address), "{address}");
            assert!(guard(&address.to_string()).passes("h", address), "{address}");
            assert!(guard("0.0.0.0/0 ::/0").passes("h", address), "{address}");
            assert!(guard("H").passes("h.", address) && !guard("g").passes("h", address));
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
        ] {
            assert!(guard("").passes("h", address.parse().unwrap()), "{address}");
        }
        let ten = guard("10.0.0.0/8, fd00::/8");
        for (address, passes) in [
            ("10.9.9.9", true),
            ("11.0.0.1", true),
            ("100.64.0.1", false),
            ("172.16.0.1", false),
            ("fd00::1", true),
            ("fc00::1", false),
            ("::ffff:10.0.0.1", true),
        ] {
            assert_eq!(ten.passes("h", address.parse().unwrap()), passes, "{address}");
        }
    }

    #[test]
    fn what_is_no_list_of_hosts_is_refused() {
        for list in ["10.0.0.0/33", "::/129", "10.0.0.0/x", "host/8"] {
            assert!(Guard::new(list, "x").is_err(), "{list}");
        }
    }
}
