//! Watching Hermes: a look that costs microseconds, and a new reading only when something changed.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    files::Files,
    home::{HermesHome, ProfileHome},
    live::{Record, Sighting, live},
    proc::{FileLock, Lockable, Proc},
    profile::{Gates, Profile},
    snapshot::Hermes,
};
use crate::config::Env;

/// A gateway reads its gates within this many seconds after its process started.
const READ_AFTER: u64 = 30;

/// Keeps a [`Hermes`] up to date.
pub struct WorldWatch {
    home: HermesHome,
    env: Env,
    proc: Proc,
    profiles_dir: Stamp,
    watched: Vec<Watched>,
    dispatcher: Option<u32>,
    /// What each process read at its start and does not read again, as it was first seen.
    at_start: HashMap<(u32, u64), AtStart>,
    hermes: Hermes,
}

impl std::fmt::Debug for WorldWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorldWatch").field("hermes", &self.hermes).finish_non_exhaustive()
    }
}

/// One profile with what was read of it.
struct Watched {
    home: ProfileHome,
    config: Stamp,
    dotenv: Stamp,
    state: Stamp,
    files: Files,
    record: Option<Record>,
    sighting: Sighting,
}

/// Settings that a gateway reads once: its gates, and the name that it stamps.
type AtStart = (Gates, Option<String>);

/// What tells one state of a file from another; `None` for no file.
type Stamp = Option<(i64, i64, u64, u64)>;

impl WorldWatch {
    /// Reads everything once. `env` is our own environment: it counts for the profile that its
    /// `HERMES_HOME` names.
    pub fn new(home: HermesHome, env: Env, proc: Proc) -> Self {
        let mut watch = Self {
            hermes: Hermes {
                home: home.clone(),
                profiles: Vec::new(),
                lives: Vec::new(),
                dispatcher: None,
            },
            home,
            env,
            proc,
            profiles_dir: None,
            watched: Vec::new(),
            dispatcher: None,
            at_start: HashMap::new(),
        };
        watch.find_profiles();
        let locks = watch.proc.locks();
        watch.look(locks.as_deref());
        watch.hermes = watch.snapshot(locks.is_some());
        watch
    }

    /// Hermes as it was at the last poll.
    pub fn hermes(&self) -> &Hermes {
        &self.hermes
    }

    /// Looks whether anything changed, and says whether [`WorldWatch::hermes`] is another one now.
    ///
    /// Costs a few stats for each profile and reads `/proc/locks`; meant to be called once a second.
    pub fn poll(&mut self) -> bool {
        let mut changed = stamp(&self.home.profiles_dir()) != self.profiles_dir;
        if changed {
            self.find_profiles();
        }
        let locks = self.proc.locks();
        changed |= self.look(locks.as_deref());
        changed |= locks.is_some() != self.hermes.dispatcher.is_some();
        if !changed {
            return false;
        }
        let next = self.snapshot(locks.is_some());
        let different = next != self.hermes;
        self.hermes = next;
        different
    }

    /// Lists the profiles anew, keeping what is known of those that stay.
    fn find_profiles(&mut self) {
        // Taken before the listing, so that a profile made meanwhile is found next time.
        self.profiles_dir = stamp(&self.home.profiles_dir());
        let mut known: HashMap<PathBuf, Watched> =
            self.watched.drain(..).map(|watched| (watched.home.path.clone(), watched)).collect();
        self.watched = self
            .home
            .profiles()
            .into_iter()
            .map(|home| known.remove(&home.path).unwrap_or_else(|| Watched::new(home)))
            .collect();
    }

    /// The cheap look at everything; says whether anything differs.
    fn look(&mut self, locks: Option<&[FileLock]>) -> bool {
        let locks = locks.unwrap_or_default();
        let mut changed = false;
        for watched in &mut self.watched {
            changed |= watched.look(&self.proc, locks);
        }
        let pids: Vec<u32> = self.pids().collect();
        let dispatcher =
            Lockable::of(&self.home.dispatcher_lock()).and_then(|file| file.holder(locks, &pids));
        changed |= dispatcher != self.dispatcher;
        self.dispatcher = dispatcher;
        changed
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        let processes = self.watched.iter().filter_map(|watched| watched.sighting.process);
        processes.map(|(pid, _)| pid)
    }

    fn snapshot(&mut self, locks_seen: bool) -> Hermes {
        let mut hermes = Hermes {
            home: self.home.clone(),
            profiles: Vec::new(),
            lives: Vec::new(),
            dispatcher: locks_seen.then_some(self.dispatcher.is_some()),
        };
        let mut at_start = HashMap::new();
        for watched in &self.watched {
            let mut profile = self.profile(watched);
            if watched.sighting.is_alive() {
                let process = watched.sighting.process;
                let started_at = process.and_then(|(_, ticks)| self.proc.started_at(ticks));
                let remembered = process.and_then(|process| self.at_start.get(&process).cloned());
                let changed = remembered.is_none() && watched.changed_after(started_at);
                if let Some(read) = remembered {
                    (profile.gates, profile.stamps) = read;
                }
                if let (Some(process), false) = (process, changed) {
                    at_start.insert(process, (profile.gates, profile.stamps.clone()));
                }
                hermes.lives.push(live(
                    &watched.home,
                    watched.record.as_ref(),
                    watched.sighting,
                    &profile,
                    self.dispatcher,
                    started_at,
                    changed,
                ));
            }
            hermes.profiles.push(profile);
        }
        // Only processes that are still alive are worth remembering.
        self.at_start = at_start;
        hermes
    }

    fn profile(&self, watched: &Watched) -> Profile {
        let of_gateway = watched.sighting.process.and_then(|(pid, _)| self.proc.environ(pid));
        let ours = || watched.home.name == self.home.active;
        let empty = Env::default();
        let started_with = match &of_gateway {
            Some(env) => env,
            None if ours() => &self.env,
            None => &empty,
        };
        Profile::new(&watched.home, &watched.files, started_with)
    }
}

impl Watched {
    fn new(home: ProfileHome) -> Self {
        Self {
            config: stamp(&home.path.join("config.yaml")),
            dotenv: stamp(&home.path.join(".env")),
            state: stamp(&home.path.join("gateway_state.json")),
            files: Files::read(&home.path),
            record: Record::read(&home.path),
            sighting: Sighting::default(),
            home,
        }
    }

    /// Reads again what changed; says whether anything did.
    fn look(&mut self, proc: &Proc, locks: &[FileLock]) -> bool {
        let path = &self.home.path;
        let config = stamp(&path.join("config.yaml"));
        let dotenv = stamp(&path.join(".env"));
        let mut changed = (config, dotenv) != (self.config, self.dotenv);
        if changed {
            (self.config, self.dotenv) = (config, dotenv);
            self.files = Files::read(path);
        }
        let state = stamp(&path.join("gateway_state.json"));
        if state != self.state {
            self.state = state;
            let mut record = Record::read(path);
            if record.is_none() && state.is_some() {
                // A file that cannot be read says nothing about the process that we know.
                record.clone_from(&self.record);
            }
            changed |= record != self.record;
            self.record = record;
        }
        let sighting = Sighting::of(path, self.record.as_ref(), proc, locks);
        changed |= sighting != self.sighting;
        self.sighting = sighting;
        changed
    }

    fn changed_after(&self, started_at: Option<u64>) -> bool {
        let Some(started_at) = started_at.and_then(|second| i64::try_from(second).ok()) else {
            return false;
        };
        let read_at = started_at.saturating_add_unsigned(READ_AFTER);
        [self.config, self.dotenv].into_iter().flatten().any(|(seconds, ..)| seconds > read_at)
    }
}

fn stamp(path: &Path) -> Stamp {
    let meta = fs::metadata(path).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
}
