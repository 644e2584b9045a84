//! Whose row is it: one decision for each row, with its reason (laws O1, O2, O6).

use crate::{
    ids::ChannelName,
    leg::LegKind,
    policy::{Adopt, Policy, World},
    subscription::{API_SERVER, Life, Mode, Row, Subscription, platform_name},
};

/// The decision about one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Ours as it stands.
    Ours {
        /// The profile whose server or bot it belongs to.
        profile: String,
    },
    /// To be stamped with `stamp`, then ours.
    Adopt {
        /// The profile whose server or bot it belongs to.
        profile: String,
        /// The new `notifier_profile`.
        stamp: String,
    },
    /// Somebody else's, or nobody's: read only.
    ReadOnly(Why),
}

/// Why a row is not served by us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A live Hermes notifier serves the platform.
    HermesServes,
    /// We have no channel for the platform.
    NoChannel,
    /// There is no API server for the row's profile (law O6).
    NoServer,
    /// The operator gave it back.
    Released,
    /// It asks for a turn only, on a platform that has no sessions (`wake.task_session` is off).
    NothingToSend,
}

impl Why {
    /// Words for people.
    pub fn text(&self) -> &'static str {
        match self {
            Self::HermesServes => "a running Hermes gateway serves this platform",
            Self::NoChannel => "no channel is configured for this platform",
            Self::NoServer => "the row's profile has no API server",
            Self::Released => "the row was given back with `sub release`",
            Self::NothingToSend => "the row asks for a wake only, and its platform has no sessions",
        }
    }
}

/// Decides about `row`; `copy` is the ledger's copy of it, if there is one.
pub fn decide(
    row: &Row,
    copy: Option<&Subscription>,
    has_delivery_mode: bool,
    policy: &Policy,
    world: &World,
) -> Ownership {
    if copy.is_some_and(|copy| copy.life == Life::Released) {
        return Ownership::ReadOnly(Why::Released);
    }
    let platform = row.key.platform_name();
    let is_api = row.key.is_api_server();
    let owner = row.owner.as_deref().unwrap_or("").trim();
    if !is_api && row.mode == Mode::Wake && !policy.wake.task_session {
        return Ownership::ReadOnly(Why::NothingToSend);
    }
    if let Some(profile) = our_profile(owner, &policy.owner) {
        return reachable(profile.to_owned(), &platform, is_api, world)
            .map_or_else(Ownership::ReadOnly, |profile| Ownership::Ours { profile });
    }
    let profile = if owner.is_empty() { "default" } else { owner }.to_owned();
    let adopted = match &policy.adopt {
        Adopt::Off => false,
        Adopt::Auto => is_api && !has_delivery_mode,
        Adopt::Platforms(names) => (is_api && !has_delivery_mode) || names.contains(&platform),
    };
    if adopted {
        let stamp = format!("{}.{profile}", policy.owner);
        return Ownership::Adopt { profile, stamp };
    }
    if world.hermes.contains_key(&platform) && !world.alongside.contains(&platform) {
        return Ownership::ReadOnly(Why::HermesServes);
    }
    reachable(profile, &platform, is_api, world)
        .map_or_else(Ownership::ReadOnly, |profile| Ownership::Ours { profile })
}

/// The profile in an owner name of ours: `<owner>` or `<owner>.<profile>`.
pub fn our_profile<'a>(owner: &'a str, ours: &str) -> Option<&'a str> {
    if owner == ours {
        return Some("default");
    }
    owner.strip_prefix(ours)?.strip_prefix('.').filter(|profile| !profile.is_empty())
}

/// The channel that serves a row of this platform and profile.
pub fn channel(platform: &str, is_api: bool, profile: &str) -> ChannelName {
    if is_api { ChannelName::api_server(profile) } else { ChannelName(platform.to_owned()) }
}

/// The channel that meets a leg of a row of `platform`, as stored: a wake goes to its profile's API server.
pub fn channel_of_leg(kind: LegKind, platform: &str, profile: &str) -> ChannelName {
    match kind {
        LegKind::Wake => channel(API_SERVER, true, profile),
        LegKind::Ping => channel(&platform_name(platform), false, profile),
    }
}

fn reachable(profile: String, platform: &str, is_api: bool, world: &World) -> Result<String, Why> {
    if world.channels.contains_key(&channel(platform, is_api, &profile)) {
        Ok(profile)
    } else if is_api {
        Err(Why::NoServer)
    } else {
        Err(Why::NoChannel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::EventId, policy::Ability, subscription::SubKey, time::Timestamp};

    fn row(platform: &str, owner: Option<&str>) -> Row {
        Row {
            key: SubKey {
                task: "t_1".into(),
                platform: platform.into(),
                chat: "c".into(),
                thread: String::new(),
            },
            created_at: Timestamp::from_secs(1),
            cursor: EventId(0),
            owner: owner.map(str::to_owned),
            user: None,
            mode: Mode::Unset,
            rowid: 1,
        }
    }

    fn world() -> World {
        let mut world = World::default();
        world.channels.insert(ChannelName::api_server("default"), Ability::default());
        world.channels.insert(ChannelName("console".into()), Ability::default());
        world
    }

    fn judge(row: &Row, has_mode: bool) -> Ownership {
        decide(row, None, has_mode, &Policy::default(), &world())
    }

    #[test]
    fn o2_api_rows_of_old_files_are_adopted_whatever_their_owner() {
        for (owner, profile) in [
            (None, "default"),
            (Some(""), "default"),
            (Some("default"), "default"),
            (Some("work"), "work"),
        ] {
            assert_eq!(
                judge(&row("api_server", owner), false),
                Ownership::Adopt {
                    profile: profile.into(),
                    stamp: format!("kanban-gateway.{profile}")
                }
            );
        }
    }

    #[test]
    fn o1_rows_with_our_name_are_ours_on_any_file() {
        for owner in ["kanban-gateway", "kanban-gateway.default"] {
            for has_mode in [true, false] {
                let ours = Ownership::Ours { profile: "default".into() };
                assert_eq!(judge(&row(" API_Server ", Some(owner)), has_mode), ours);
            }
        }
        // A name that merely begins like ours is somebody else's.
        assert_eq!(our_profile("kanban-gatewayx", "kanban-gateway"), None);
        assert_eq!(our_profile("kanban-gateway.", "kanban-gateway"), None);
    }

    #[test]
    fn o1_a_live_hermes_keeps_its_platforms_and_a_dead_one_does_not() {
        let mut world = world();
        let console = row("console", Some("default"));
        let ours = Ownership::Ours { profile: "default".into() };
        assert_eq!(decide(&console, None, true, &Policy::default(), &world), ours);
        world.hermes.entry("console".into()).or_default().insert("default".into());
        let kept = Ownership::ReadOnly(Why::HermesServes);
        assert_eq!(decide(&console, None, true, &Policy::default(), &world), kept);
        world.alongside.insert("console".into());
        assert_eq!(decide(&console, None, true, &Policy::default(), &world), ours);
    }

    #[test]
    fn o6_a_profile_without_a_server_is_served_by_nobody() {
        let theirs = row("api_server", Some("kanban-gateway.p9"));
        assert_eq!(judge(&theirs, true), Ownership::ReadOnly(Why::NoServer));
        assert_eq!(judge(&row("imessage", None), true), Ownership::ReadOnly(Why::NoChannel));
    }

    #[test]
    fn a_row_that_wants_only_a_turn_where_there_are_none_is_reported() {
        let wake = Row { mode: Mode::Wake, ..row("console", None) };
        assert_eq!(judge(&wake, true), Ownership::ReadOnly(Why::NothingToSend));
    }
}
