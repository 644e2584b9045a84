//! "Something was written in this folder": inotify, as a mere hint to look sooner (law F1).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{ModifyKind, RenameMode},
};

type Callback = dyn Fn(&Path) + Send + Sync;

/// Whether a folder's changes are heard, or must be polled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// The kernel reports changes.
    Events,
    /// It does not: poll every 20 ms. Says why.
    Deaf(String),
}

impl Hearing {
    /// Whether the kernel reports changes.
    pub fn works(&self) -> bool {
        *self == Self::Events
    }
}

/// Watches folders, not their subfolders.
pub struct FolderWatch {
    watcher: Result<RecommendedWatcher, String>,
    watched: BTreeSet<PathBuf>,
    /// The folders that are still where they were when they were added.
    folders: Arc<Mutex<Folders>>,
}

/// Folders by path, with what tells each from another one at the same path.
type Folders = BTreeMap<PathBuf, FolderId>;

/// Device and inode.
type FolderId = (u64, u64);

impl std::fmt::Debug for FolderWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FolderWatch").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl FolderWatch {
    /// Calls `changed` with the path of each file that was written, made, moved or removed in a watched
    /// folder, and with the folders themselves when the kernel had to drop events.
    ///
    /// It is called on the watcher's thread and must return at once; in a storm of writes, up to 10 ms after
    /// one of them. Where the kernel offers no events, every [`FolderWatch::add`] answers [`Hearing::Deaf`].
    pub fn new(changed: impl Fn(&Path) + Send + Sync + 'static) -> Self {
        let folders = Arc::new(Mutex::new(Folders::new()));
        let known = Arc::clone(&folders);
        let mut storm = Storm::default();
        let told = move |event| {
            relay(event, &known, &changed);
            if let Some(rest) = storm.rest(Instant::now()) {
                std::thread::sleep(rest);
            }
        };
        let watcher = notify::recommended_watcher(told).map_err(|error| error.to_string());
        Self { watcher, watched: BTreeSet::new(), folders }
    }

    /// Watches one more folder. Adding it again renews the watch, as is needed after it was replaced.
    pub fn add(&mut self, folder: &Path) -> Hearing {
        self.remove(folder);
        let watcher = match &mut self.watcher {
            Ok(watcher) => watcher,
            Err(reason) => return Hearing::Deaf(reason.clone()),
        };
        // Before it is watched: of a folder that takes its place meanwhile, the id is another one.
        let id = id_of(folder);
        match (watcher.watch(folder, RecursiveMode::NonRecursive), id) {
            (Ok(()), Some(id)) => {
                self.watched.insert(folder.to_owned());
                lock(&self.folders).insert(folder.to_owned(), id);
                Hearing::Events
            }
            (Ok(()), None) => {
                let _ = watcher.unwatch(folder);
                Hearing::Deaf("the folder was not there".to_owned())
            }
            (Err(error), _) => Hearing::Deaf(error.to_string()),
        }
    }

    /// Whether the folder that is at this path now is the one that is watched. A folder that was moved
    /// away or removed is not, whatever has its name now.
    pub fn holds(&self, folder: &Path) -> bool {
        lock(&self.folders).get(folder).is_some_and(|id| id_of(folder) == Some(*id))
    }

    /// The folders that were added, whatever became of them.
    pub fn watched(&self) -> &BTreeSet<PathBuf> {
        &self.watched
    }

    /// Stops watching a folder; nothing happens if it was not watched.
    pub fn remove(&mut self, folder: &Path) {
        lock(&self.folders).remove(folder);
        if self.watched.remove(folder)
            && let Ok(watcher) = &mut self.watcher
        {
            // The kernel has let go already of one that is gone.
            let _ = watcher.unwatch(folder);
        }
    }
}

/// When the watcher's thread rests, so that those who write again and again are not held up: while it reads,
/// the kernel wakes it for each write, in the time of whoever writes. What is not read yet is only added to,
/// and the same again is dropped.
#[derive(Debug, Default)]
struct Storm {
    events: u32,
    last: Option<Instant>,
    rested: Option<Instant>,
}

impl Storm {
    /// So many events, each soon after the one before, are a storm.
    const EVENTS: u32 = 64;
    /// The longest time that is soon.
    const SOON: Duration = Duration::from_millis(20);
    /// How long a rest is, and what comes later than this after one was not there during it.
    const REST: Duration = Duration::from_millis(10);
    const AFTER: Duration = Duration::from_millis(1);

    /// How long to rest after an event at `now`, if at all.
    fn rest(&mut self, now: Instant) -> Option<Duration> {
        let within = |since: Option<Instant>, time| {
            since.is_some_and(|since| now.saturating_duration_since(since) < time)
        };
        let soon = within(self.last, Self::SOON) || within(self.rested, Self::SOON);
        self.events = if soon { self.events.saturating_add(1) } else { 1 };
        self.last = Some(now);
        // All that came during a rest is told of before the next one.
        if self.events < Self::EVENTS || within(self.rested, Self::AFTER) {
            return None;
        }
        self.rested = now.checked_add(Self::REST);
        Some(Self::REST)
    }
}

fn id_of(folder: &Path) -> Option<FolderId> {
    fs::metadata(folder).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn relay(event: notify::Result<Event>, folders: &Mutex<Folders>, changed: &Callback) {
    match event {
        Ok(event) if !event.need_rescan() => {
            if leaves(event.kind) {
                // An inode number is given to the next folder at once, so that the id would not tell.
                let mut folders = lock(folders);
                for path in &event.paths {
                    folders.remove(path);
                }
            }
            if tells(event.kind) {
                event
                    .paths
                    .iter()
                    .filter(|path| !is_shared_memory(path))
                    .for_each(|path| changed(path));
            }
        }
        // Events were dropped, or the queue failed: everything may have changed.
        _ => {
            let all: Vec<PathBuf> = lock(folders).keys().cloned().collect();
            all.iter().for_each(|folder| changed(folder));
        }
    }
}

/// Opening and closing is what we do ourselves when we look; it must not wake us.
fn tells(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)))
}

/// Something is not where it was; this comes for a watched folder itself too.
fn leaves(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)))
}

/// SQLite rewrites `-shm` files when a database is merely opened, by us too.
fn is_shared_memory(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-shm"))
}

/// A callback that panicked cannot leave a set of paths half changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::mpsc::{Receiver, channel},
        time::Duration,
    };

    use notify::event::{AccessKind, AccessMode, Flag, MetadataKind};

    use super::*;

    fn watched() -> (FolderWatch, Receiver<PathBuf>) {
        let (tx, rx) = channel();
        let watch = FolderWatch::new(move |path| {
            let _ = tx.send(path.to_owned());
        });
        (watch, rx)
    }

    fn heard(rx: &Receiver<PathBuf>, path: &Path) -> bool {
        while let Ok(seen) = rx.recv_timeout(Duration::from_secs(5)) {
            if seen == path {
                return true;
            }
        }
        false
    }

    /// Field report 165: nobody wakes himself.
    #[test]
    fn a_write_is_heard_and_shared_memory_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (mut watch, rx) = watched();
        assert!(watch.add(dir.path()).works());
        fs::write(dir.path().join("kanban.db-shm"), "x").unwrap();
        fs::write(dir.path().join("kanban.db-wal"), "x").unwrap();
        let first = rx.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(first, dir.path().join("kanban.db-wal"));
    }

    #[test]
    fn reading_is_not_heard() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kanban.db");
        fs::write(&file, "x").unwrap();
        let (mut watch, rx) = watched();
        watch.add(dir.path());
        fs::read(&file).unwrap();
        fs::write(dir.path().join("end"), "x").unwrap();
        let first = rx.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(first, dir.path().join("end"));
    }

    #[test]
    fn folders_come_and_go() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (mut watch, rx) = watched();
        watch.add(one.path());
        watch.add(two.path());
        watch.remove(one.path());
        watch.remove(one.path());
        fs::write(one.path().join("quiet"), "x").unwrap();
        let loud = two.path().join("loud");
        fs::write(&loud, "x").unwrap();
        let first = rx.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(first, loud);
    }

    #[test]
    fn a_folder_that_was_replaced_is_heard_once_added_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("board");
        fs::create_dir(&folder).unwrap();
        let (mut watch, rx) = watched();
        watch.add(&folder);
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        assert!(watch.add(&folder).works());
        let file = folder.join("kanban.db");
        fs::write(&file, "x").unwrap();
        assert!(heard(&rx, &file));
    }

    /// Waits until the kernel's word has come that the folder went.
    fn gone(watch: &FolderWatch, rx: &Receiver<PathBuf>, folder: &Path) {
        while watch.holds(folder) {
            rx.recv_timeout(Duration::from_secs(5)).unwrap();
        }
    }

    #[test]
    fn a_folder_in_the_place_of_another_is_not_taken_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("board");
        let (mut watch, rx) = watched();
        assert!(!watch.holds(&folder));
        // Again and again, because the kernel gives inode numbers away anew.
        for round in 0..20 {
            fs::create_dir(&folder).unwrap();
            assert!(watch.add(&folder).works());
            assert!(watch.holds(&folder));
            let file = folder.join("kanban.db");
            fs::write(&file, "x").unwrap();
            assert!(heard(&rx, &file), "{round}");
            if round % 2 == 0 {
                fs::remove_dir_all(&folder).unwrap();
            } else {
                fs::rename(&folder, dir.path().join(format!("away-{round}"))).unwrap();
            }
            fs::create_dir(&folder).unwrap();
            gone(&watch, &rx, &folder);
            fs::remove_dir(&folder).unwrap();
        }
    }

    #[test]
    fn a_folder_above_that_was_replaced_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().join("boards");
        let folder = above.join("side");
        fs::create_dir_all(&folder).unwrap();
        let (mut watch, _rx) = watched();
        watch.add(&folder);
        fs::rename(&above, dir.path().join("away")).unwrap();
        fs::create_dir_all(&folder).unwrap();
        assert!(!watch.holds(&folder));
    }

    #[test]
    fn a_missing_folder_is_deaf_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let (mut watch, _rx) = watched();
        let hearing = watch.add(&dir.path().join("missing"));
        assert!(matches!(&hearing, Hearing::Deaf(reason) if !reason.is_empty()));
        assert!(!hearing.works());
    }

    #[test]
    fn b4_in_a_storm_it_rests_after_what_it_has_told_and_never_when_it_is_calm() {
        let (mut storm, mut now) = (Storm::default(), Instant::now());
        for _ in 0..1_000 {
            now += Storm::SOON;
            assert_eq!(storm.rest(now), None, "nothing is a storm that comes seldom");
        }
        let brief = Duration::from_micros(10);
        let mut rests = Vec::new();
        for event in 0..200 {
            now += brief;
            if let Some(rest) = storm.rest(now) {
                rests.push(event);
                now += rest;
            }
        }
        // The first one once it is a storm; the others when what came during a rest is told of.
        assert_eq!(rests.len(), 2, "{rests:?}");
        assert_eq!(rests[0], 62);
        assert!(rests[1] - rests[0] >= 99, "{rests:?}");
        now += Storm::SOON;
        assert_eq!(storm.rest(now), None, "it is over");
    }

    #[test]
    fn our_own_opening_tells_nothing_and_an_overflow_names_every_folder() {
        assert!(!tells(EventKind::Access(AccessKind::Open(AccessMode::Any))));
        assert!(!tells(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any))));
        let folders = ["/a", "/b"].map(|path| (PathBuf::from(path), (0, 0)));
        let folders = Mutex::new(Folders::from(folders));
        let (tx, rx) = channel();
        let changed = move |path: &Path| tx.send(path.to_owned()).unwrap();
        relay(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), &folders, &changed);
        relay(Err(notify::Error::generic("gone")), &folders, &changed);
        assert_eq!(rx.try_iter().count(), 4);
    }
}
