//! Processes and locks as `/proc` shows them: looking only, never locking or signalling (law O4).

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use crate::config::Env;

/// Clock ticks per second in `/proc`; the kernel's interface fixes it on every platform we run on.
const TICKS_PER_SECOND: u64 = 100;

/// A `/proc` file system.
#[derive(Clone, Debug)]
pub struct Proc {
    root: PathBuf,
}

impl Proc {
    /// The one of this machine.
    pub fn system() -> Self {
        Self::at("/proc")
    }

    /// One at another place, for tests.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// When a process started; `None` if there is none, or it is a zombie.
    pub(super) fn started(&self, pid: u32) -> Option<Started> {
        let stat = fs::read_to_string(self.root.join(pid.to_string()).join("stat")).ok()?;
        // The name in parentheses may itself hold blanks and parentheses.
        let after_name = stat.rsplit_once(')')?.1;
        let state = after_name.split_whitespace().next()?;
        let ticks = after_name.split_whitespace().nth(19)?.parse().ok()?;
        let naive = stat.split_whitespace().nth(21)?.parse().ok();
        (!matches!(state, "Z" | "X" | "x")).then_some(Started { ticks, naive })
    }

    /// What a process was started with; `None` where we may not look.
    pub(super) fn environ(&self, pid: u32) -> Option<Env> {
        let bytes = fs::read(self.root.join(pid.to_string()).join("environ")).ok()?;
        let pair = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = entry.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
        };
        Some(bytes.split(|byte| *byte == 0).filter_map(pair).collect())
    }

    /// Whether the command line of a process looks like a Hermes gateway's.
    pub(super) fn is_gateway(&self, pid: u32) -> bool {
        let path = self.root.join(pid.to_string()).join("cmdline");
        let line = fs::read(path).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).to_lowercase();
        line.contains("hermes") && line.contains("gateway")
    }

    /// Who holds which file by flock; `None` where that cannot be read.
    pub(super) fn locks(&self) -> Option<Vec<FileLock>> {
        let text = fs::read_to_string(self.root.join("locks")).ok()?;
        Some(text.lines().filter_map(FileLock::parse).collect())
    }

    /// Wall-clock second at which a process with this start time started.
    pub(super) fn started_at(&self, ticks: u64) -> Option<u64> {
        let stat = fs::read_to_string(self.root.join("stat")).ok()?;
        let boot = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
        Some(boot.trim().parse::<u64>().ok()? + ticks / TICKS_PER_SECOND)
    }
}

/// The start of a process: with its number, an identity that is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Started {
    /// Clock ticks since boot.
    pub ticks: u64,
    /// The field that stands in its place for a reader that ignores the parentheses around the name;
    /// Hermes is one.
    naive: Option<u64>,
}

impl Started {
    /// Whether a recorded start time means this process.
    pub(super) fn is(self, recorded: u64) -> bool {
        self.ticks == recorded || self.naive == Some(recorded)
    }
}

/// One flock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileLock {
    /// The holder.
    pub pid: u32,
    device: (u64, u64),
    inode: u64,
}

impl FileLock {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace().skip(1);
        // A waiter's line has an arrow here.
        if words.next()? != "FLOCK" {
            return None;
        }
        let pid = words.nth(2)?.parse().ok()?;
        let mut file = words.next()?.split(':');
        let major = u64::from_str_radix(file.next()?, 16).ok()?;
        let minor = u64::from_str_radix(file.next()?, 16).ok()?;
        let inode = file.next()?.parse().ok()?;
        Some(Self { pid, device: (major, minor), inode })
    }
}

/// A file that somebody may hold by flock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lockable {
    device: (u64, u64),
    inode: u64,
}

impl Lockable {
    /// The file at `path`, if there is one. Only its metadata is read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        let device = meta.dev();
        let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
        let minor = (device & 0xff) | ((device >> 12) & !0xff);
        Some(Self { device: (major, minor), inode: meta.ino() })
    }

    /// Who holds it. Some file systems (overlay, btrfs) show another device in `/proc/locks` than stat
    /// does; there the inode counts if the holder is one of `suspects`.
    pub(super) fn holder(self, locks: &[FileLock], suspects: &[u32]) -> Option<u32> {
        locks
            .iter()
            .find(|lock| {
                lock.inode == self.inode
                    && (lock.device == self.device || suspects.contains(&lock.pid))
            })
            .map(|lock| lock.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(pid: u32, stat: &str) -> (tempfile::TempDir, Proc) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(pid.to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("stat"), stat).unwrap();
        let proc = Proc::at(dir.path());
        (dir, proc)
    }

    const REST: &str = "1 7 7 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 5 0 59239 1000 100";

    #[test]
    fn start_times_are_found_behind_any_name() {
        let (_dir, proc) = fake(7, &format!("7 (hermes) S {REST}"));
        let started = proc.started(7).unwrap();
        assert_eq!(started.ticks, 59_239);
        assert!(started.is(59_239) && !started.is(59_240));
        assert_eq!(proc.started(8), None);
        let (_dir, proc) = fake(7, &format!("7 (a b) c) S {REST}"));
        let started = proc.started(7).unwrap();
        // What a reader that splits at blanks takes for the start time: two fields too early.
        assert!(started.is(59_239) && started.is(5));
    }

    #[test]
    fn zombies_are_dead() {
        let (_dir, proc) = fake(7, &format!("7 (hermes) Z {REST}"));
        assert_eq!(proc.started(7), None);
    }

    #[test]
    fn our_own_process_is_seen_by_the_real_one() {
        let proc = Proc::system();
        let pid = std::process::id();
        let started = proc.started(pid).unwrap();
        assert!(proc.started_at(started.ticks).unwrap() > 1_600_000_000);
        assert!(proc.environ(pid).is_some());
    }

    #[test]
    fn a_lock_is_seen_without_being_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".dispatcher.lock");
        assert_eq!(Lockable::of(&path), None);
        let file = fs::File::create(&path).unwrap();
        file.lock().unwrap();
        let proc = Proc::system();
        let pid = std::process::id();
        let holder = || {
            let locks = proc.locks().unwrap();
            Lockable::of(&path).unwrap().holder(&locks, &[pid])
        };
        assert_eq!(holder(), Some(pid));
        file.unlock().unwrap();
        assert_eq!(holder(), None);
    }

    #[test]
    fn waiters_and_other_kinds_of_locks_do_not_count() {
        let lock = FileLock::parse("1: FLOCK  ADVISORY  WRITE 14862 fe:01:10052893 0 EOF").unwrap();
        assert_eq!((lock.pid, lock.device, lock.inode), (14_862, (0xfe, 1), 10_052_893));
        for line in [
            "1: -> FLOCK  ADVISORY  WRITE 14862 fe:01:10052893 0 EOF",
            "2: POSIX  ADVISORY  READ 1 fe:01:1 0 EOF",
            "3: FLOCK ADVISORY WRITE",
            "",
        ] {
            assert_eq!(FileLock::parse(line), None, "{line}");
        }
        let file = Lockable { device: (0, 40), inode: lock.inode };
        assert_eq!(file.holder(&[lock], &[]), None);
        assert_eq!(file.holder(&[lock], &[14_862]), Some(14_862));
    }

    #[test]
    fn environments_are_taken_apart() {
        let (dir, proc) = fake(7, "");
        fs::write(dir.path().join("7/environ"), b"A=1\0B=x=y\0broken\0C=\0").unwrap();
        let env = proc.environ(7).unwrap();
        assert_eq!((env.get("A"), env.get("B"), env.get("C")), (Some("1"), Some("x=y"), None));
        assert!(proc.environ(8).is_none());
    }
}
