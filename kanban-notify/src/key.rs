//! Idempotency keys and references: keyed hashes over everything that makes a claim what it is (law W6).

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
    secret: Vec<u8>,
}

impl Identity {
    /// From the stored id and secret.
    pub fn new(gateway: String, secret: Vec<u8>) -> Self {
        Self { gateway, secret }
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
        // HMAC takes keys of any length, so this cannot fail; an empty tag would only be a weak key.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else {
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
        for member in members {
            part(member.kind.name());
            for number in [
                member.board.0,
                member.incarnation.0,
                member.subscription.0,
                member.event.0,
                i64::from(member.epoch),
            ] {
                part(&number.to_string());
            }
        }
        let tag = mac.finalize().into_bytes();
        tag.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
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
        let us = Identity::new("g".into(), b"secret".to_vec());
        let base = us.seal(&session("a"), &[member(1)]);
        assert_eq!(base, us.seal(&session("a"), &[member(1)]));
        let others = [
            us.seal(&session("b"), &[member(1)]),
            us.seal(&session("a"), &[member(2)]),
            us.seal(&session("a"), &[member(1), member(2)]),
            us.seal(&session("a"), &[Member { epoch: 1, ..member(1) }]),
            us.seal(&session("a"), &[Member { incarnation: Incarnation(2), ..member(1) }]),
            Identity::new("h".into(), b"secret".to_vec()).seal(&session("a"), &[member(1)]),
            Identity::new("g".into(), b"other".to_vec()).seal(&session("a"), &[member(1)]),
        ];
        for other in others {
            assert_ne!(base.key, other.key);
            assert_ne!(base.reference, other.reference);
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        let us = Identity::new("g".into(), b"fake-secret".to_vec());
        assert_eq!(format!("{us:?}"), r#"Identity { gateway: "g", .. }"#);
    }
}
