//! Idempotency keys and references: keyed hashes over everything that makes a claim what it is (law W6).

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{
    ids::{BoardId, EventId, Incarnation, SubscriptionId},
    leg::LegKind,
    message::Destination,
};

/// Who we are for receivers: a file beside the ledger, so that a restored ledger keeps its keys (law D10).
#[derive(Clone)]
pub struct Identity {
    gateway: String,
    /// Begun with the secret, which is the same for every hash.
    keyed: Option<Hmac<Sha256>>,
}

impl Identity {
    /// From the stored id and secret.
    pub fn new(gateway: String, secret: &[u8]) -> Self {
        // HMAC takes keys of any length, so this cannot fail; an empty tag would only be a weak key.
        Self { gateway, keyed: Hmac::new_from_slice(secret).ok() }
    }

    /// The key and the reference of a claim with these members.
    pub fn seal(&self, destination: &Destination, members: &[Member]) -> Seal {
        Seal {
            key: format!("kgw-{}", self.hash("key", destination, members, 16)),
            reference: format!("{REFERENCE_PREFIX}{}", self.hash("ref", destination, members, 10)),
        }
    }

    fn hash(
        &self,
        label: &str,
        destination: &Destination,
        members: &[Member],
        bytes: usize,
    ) -> String {
        let Some(mut mac) = self.keyed.clone() else {
            return String::new();
        };
        let mut part = |text: &str| {
            // Length before content: no two lists of parts frame to the same bytes.
            mac.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(text.as_bytes());
        };
        part(label);
        part(&self.gateway);
        match destination {
            Destination::Chat { channel, chat, thread } => {
                part("chat");
                part(channel.as_str());
                part(chat);
                part(thread);
            }
            Destination::Session { channel, session } => {
                part("session");
                part(channel.as_str());
                part(session);
            }
        }
        let mut digits = String::new();
        for member in members {
            part(member.kind.name());
            for number in [
                member.board.0,
                member.incarnation.0,
                member.subscription.0,
                member.event.0,
                i64::from(member.epoch),
            ] {
                digits.clear();
                // Writing to a string cannot fail.
                let _ = write!(digits, "{number}");
                part(&digits);
            }
        }
        let mut hex = String::with_capacity(bytes.saturating_mul(2));
        for byte in mac.finalize().into_bytes().iter().take(bytes) {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

/// How every reference begins; quoted text never contains it.
pub const REFERENCE_PREFIX: &str = "kgw:";

/// What a claim carries to its receiver besides the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The idempotency key.
    pub key: String,
    /// The reference that stands in the text.
    pub reference: String,
}

/// One leg as it counts for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The board.
    pub board: BoardId,
    /// Its incarnation: a restored board's events are other events.
    pub incarnation: Incarnation,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The event.
    pub event: EventId,
    /// Ping or wake.
    pub kind: LegKind,
    /// Which repetition on purpose.
    pub epoch: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ChannelName;

    fn member(event: i64) -> Member {
        Member {
            board: BoardId(1),
            incarnation: Incarnation(1),
            subscription: SubscriptionId(1),
            event: EventId(event),
            kind: LegKind::Wake,
            epoch: 0,
        }
    }

    fn session(name: &str) -> Destination {
        Destination::Session { channel: ChannelName::api_server("default"), session: name.into() }
    }

    #[test]
    fn every_ingredient_changes_key_and_reference() {
        let us = Identity::new("g".into(), b"secret");
        let base = us.seal(&session("a"), &[member(1)]);
        assert_eq!(base, us.seal(&session("a"), &[member(1)]));
        let others = [
            us.seal(&session("b"), &[member(1)]),
            us.seal(&session("a"), &[member(2)]),
            us.seal(&session("a"), &[member(1), member(2)]),
            us.seal(&session("a"), &[Member { epoch: 1, ..member(1) }]),
            us.seal(&session("a"), &[Member { incarnation: Incarnation(2), ..member(1) }]),
            Identity::new("h".into(), b"secret").seal(&session("a"), &[member(1)]),
            Identity::new("g".into(), b"other").seal(&session("a"), &[member(1)]),
        ];
        for other in others {
            assert_ne!(base.key, other.key);
            assert_ne!(base.reference, other.reference);
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        let us = Identity::new("g".into(), b"fake-secret");
        assert_eq!(format!("{us:?}"), r#"Identity { gateway: "g", .. }"#);
    }
}
