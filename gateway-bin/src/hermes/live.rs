//! Which gateways of Hermes are alive, and what their notifiers serve (law O4).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::UNIX_EPOCH,
};

use serde_json::Value;

use super::{
    home::{DEFAULT_PROFILE, ProfileHome},
    proc::{FileLock, Lockable, Proc},
    profile::{Gates, Profile},
    server::API_SERVER,
};
use crate::platforms::read_whole;

/// Which Hermes works on the boards, as far as their columns tell.
///
/// A newer Hermes adds `delivery_mode` to every board it opens; the two differ in what their gates mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// No board was read yet.
    #[default]
    Unknown,
    /// No board has the column: 0.19 or earlier; the dispatch gate rules the notifier too.
    Old,
    /// A board has the column: newer; the notifier has a gate of its own.
    Newer,
}

/// Whether a gateway's notifier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notifier {
    /// It does.
    On,
    /// It does not.
    Off,
    /// Nobody can tell from outside; treated as running. Says why.
    Unknown(&'static str),
}

/// A gateway of Hermes that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The profile it runs for.
    pub profile: String,
    /// Its process; `None` where it is seen by its lock only, in a container.
    pub pid: Option<u32>,
    /// Clock ticks since boot when it started.
    pub started: Option<u64>,
    /// The second of the wall clock at which it started.
    pub started_at: Option<u64>,
    /// `gateway_state`, such as `running` or `draining`; `unknown` where its state cannot be read.
    pub state: String,
    /// Platforms it has, or tries to have, a connection to.
    pub platforms: BTreeSet<String>,
    /// Profiles it serves: its own, and others if it multiplexes.
    pub serves: BTreeSet<String>,
    /// Whether it holds the dispatcher's lock.
    pub dispatcher: bool,
    /// The gates as it read them.
    pub gates: Gates,
    /// Whether the files with gates and stamp changed after it had read them.
    pub changed_since: bool,
    /// `HERMES_PROFILE` as it sees it: what it stamps on new subscriptions.
    pub stamps: Option<String>,
}

impl Live {
    /// Whether its notifier runs.
    pub fn notifier(&self, generation: Generation) -> Notifier {
        let Gates { dispatch, notify } = self.gates;
        let on = match generation {
            Generation::Old => Some(dispatch),
            Generation::Newer => Some(notify),
            Generation::Unknown if dispatch == notify => Some(dispatch),
            Generation::Unknown => None,
        };
        match on {
            Some(true) => Notifier::On,
            // Gates are read once, at start.
            Some(false) if self.changed_since => {
                Notifier::Unknown("its gate was closed after it had started; restart it")
            }
            Some(false) => Notifier::Off,
            None => Notifier::Unknown("no board tells yet which Hermes this is"),
        }
    }

    /// Whether sessions of its API server are at home here.
    pub fn hosts_api_server(&self) -> bool {
        self.platforms.contains(API_SERVER)
    }

    /// The profiles whose rows its notifier takes; rows without a profile count as `default`'s.
    pub(super) fn takes(&self, generation: Generation) -> BTreeSet<String> {
        let mut profiles = self.serves.clone();
        // Every gateway up to 0.19 takes them; later only the one with the dispatcher.
        if generation != Generation::Newer || self.dispatcher {
            profiles.insert(DEFAULT_PROFILE.to_owned());
        }
        profiles
    }
}

/// What `gateway_state.json` says, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pid: Option<u32>,
    start_time: Option<u64>,
    state: Option<String>,
    /// With the second each was last written, where that can be read.
    platforms: BTreeMap<String, Option<u64>>,
    served: BTreeSet<String>,
}

impl Record {
    /// Reads the file of a profile's home; `None` if there is none or it is broken.
    pub(super) fn read(home: &Path) -> Option<Self> {
        let bytes = read_whole(&home.join("gateway_state.json")).ok()?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        let fields = value.as_object()?;
        let platforms = fields.get("platforms").and_then(Value::as_object);
        Some(Self {
            pid: number(fields.get("pid")).and_then(|pid| u32::try_from(pid).ok()),
            start_time: number(fields.get("start_time")),
            state: fields.get("gateway_state").and_then(Value::as_str).map(str::to_owned),
            platforms: platforms
                .into_iter()
                .flatten()
                .filter(|(_, platform)| is_served(platform))
                .map(|(name, platform)| (name.to_lowercase(), written_at(platform)))
                .collect(),
            served: fields
                .get("served_profiles")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        })
    }

    /// The platforms that a process which started at this second has, or tries to have, a connection to.
    ///
    /// A crash leaves `connected` behind, and the next gateway keeps the entries of platforms that it
    /// no longer has.
    fn platforms_since(&self, started_at: Option<u64>) -> BTreeSet<String> {
        // Boot times are rounded to seconds.
        let since = started_at.map_or(0, |second| second.saturating_sub(5));
        let platforms = self.platforms.iter();
        platforms
            .filter(|(_, written)| written.is_none_or(|written| written >= since))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// The process, unless the gateway wrote that it ended.
    pub(super) fn candidate(&self) -> Option<u32> {
        let ended = matches!(self.state.as_deref(), None | Some("stopped" | "startup_failed"));
        self.pid.filter(|_| !ended)
    }

    /// The process and its start if it is still the one that wrote the record.
    pub(super) fn process(&self, proc: &Proc) -> Option<(u32, u64)> {
        let pid = self.candidate()?;
        let started = proc.started(pid)?;
        let same = match self.start_time {
            Some(recorded) => started.is(recorded),
            // Without a start time the number alone proves nothing.
            None => proc.is_gateway(pid),
        };
        same.then_some((pid, started.ticks))
    }
}

/// Where a gateway was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sighting {
    /// Its process and start.
    pub process: Option<(u32, u64)>,
    /// The holder of its lock, as seen from here.
    pub lock: Option<u32>,
}

impl Sighting {
    /// Looks for the gateway of one home. Its lock is seen even where its process number means nothing
    /// to us, because it lives in a container.
    pub(super) fn of(
        home: &Path,
        record: Option<&Record>,
        proc: &Proc,
        locks: &[FileLock],
    ) -> Self {
        let process = record.and_then(|record| record.process(proc));
        let suspects: Vec<u32> = process.iter().map(|(pid, _)| *pid).collect();
        let lock =
            Lockable::of(&home.join("gateway.lock")).and_then(|file| file.holder(locks, &suspects));
        let process = process.or_else(|| {
            let pid = lock?;
            Some((pid, proc.started(pid)?.ticks))
        });
        Self { process, lock }
    }

    /// Whether there is one.
    pub(super) fn is_alive(self) -> bool {
        self.process.is_some() || self.lock.is_some()
    }
}

/// A gateway that was sighted, with all that is known of it.
pub(super) fn live(
    home: &ProfileHome,
    record: Option<&Record>,
    sighting: Sighting,
    profile: &Profile,
    dispatcher: Option<u32>,
    started_at: Option<u64>,
    changed_since: bool,
) -> Live {
    let pid = sighting.process.map(|(pid, _)| pid);
    // A record that is missing, or tells of another process's end, says nothing of this one.
    let record = record.filter(|record| record.candidate().is_some());
    let mut serves = record.map(|record| record.served.clone()).unwrap_or_default();
    serves.insert(home.name.clone());
    let state = record.and_then(|record| record.state.clone());
    Live {
        profile: home.name.clone(),
        pid,
        started: sighting.process.map(|(_, ticks)| ticks),
        started_at,
        state: state.unwrap_or_else(|| "unknown".to_owned()),
        // Without a record, what it is set up for is the safe guess.
        platforms: record
            .map_or_else(|| profile.platforms.clone(), |record| record.platforms_since(started_at)),
        serves,
        dispatcher: pid.is_some() && dispatcher == pid,
        gates: profile.gates,
        changed_since,
        stamps: profile.stamps.clone(),
    }
}

/// Whether a platform is connected, or will be again without anybody's help.
fn is_served(platform: &Value) -> bool {
    let state = platform.get("state").and_then(Value::as_str);
    state.is_some_and(|state| !["disconnected", "fatal", "stopped", "disabled"].contains(&state))
}

/// The second at which a platform's entry was last written; Hermes writes UTC with an offset.
fn written_at(platform: &Value) -> Option<u64> {
    let text = platform.get("updated_at")?.as_str()?;
    let utc = text.strip_suffix("+00:00").unwrap_or(text);
    let time = humantime::parse_rfc3339_weak(utc).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// A whole number, also where it was written as text.
fn number(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}
