//! Where a ledger lies: its folder, the files beside it, and whether the file system can carry it.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::files;
use crate::error::StoreError;

/// `ledger` with `suffix` behind its file name: `ledger.db` and `.id` make `ledger.db.id`.
pub fn beside(ledger: &Path, suffix: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(OsString::from(suffix));
    PathBuf::from(name)
}

/// Makes the folder of a ledger, for its user alone, and answers the ledger's canonical path.
///
/// A file system that other machines write to is refused (law B7): SQLite's locks and its shared
/// memory do not reach there.
pub(super) fn prepare(ledger: &Path) -> Result<PathBuf, StoreError> {
    let folder = match ledger.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(file_error("making the folder", folder))?;
    let path = resolve(ledger, folder)?;
    refuse_folder(&path)?;
    refuse_network(&path)?;
    Ok(path)
}

fn refuse_folder(path: &Path) -> Result<(), StoreError> {
    match path.is_dir() {
        true => Err(StoreError::LedgerRefused {
            path: path.to_owned(),
            reason: "it is a folder; set `ledger` to a file, which may be in it".to_owned(),
        }),
        false => Ok(()),
    }
}

/// Refuses a place where no ledger can be, and makes nothing there.
///
/// # Errors
///
/// [`StoreError::LedgerRefused`].
pub fn check_place(ledger: &Path) -> Result<(), StoreError> {
    refuse_folder(ledger)?;
    refuse_network(&nearest(ledger))
}

/// What is not there yet will lie where the nearest folder above it lies.
fn nearest(ledger: &Path) -> PathBuf {
    let whole = std::path::absolute(ledger).unwrap_or_else(|_| ledger.to_owned());
    whole.ancestors().find_map(|path| fs::canonicalize(path).ok()).unwrap_or_default()
}

/// Makes the ledger's empty file, unless it is there.
pub(super) fn touch(ledger: &Path) -> Result<(), StoreError> {
    files::make_empty(ledger).map_err(file_error("making the ledger", ledger))
}

/// Waits for the lock under which a ledger is migrated; it is free again when the file is dropped.
pub(super) fn migration_lock(ledger: &Path) -> Result<File, StoreError> {
    let path = beside(ledger, ".migrate.lock");
    let file = files::open_or_make(&path).map_err(file_error("opening", &path))?;
    file.lock().map_err(file_error("locking", &path))?;
    Ok(file)
}

/// Says what was tried with which file, for `map_err`.
pub(super) fn file_error(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::LedgerFile { operation, path, source }
}

fn resolve(ledger: &Path, folder: &Path) -> Result<PathBuf, StoreError> {
    if let Ok(path) = fs::canonicalize(ledger) {
        return Ok(path);
    }
    let folder = fs::canonicalize(folder).map_err(file_error("resolving", folder))?;
    match ledger.file_name() {
        Some(name) => Ok(folder.join(name)),
        None => Err(StoreError::LedgerRefused {
            path: ledger.to_owned(),
            reason: "it names no file".to_owned(),
        }),
    }
}

/// Types of file systems that several machines may write to.
const NETWORK: [&str; 20] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.davfs",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb2",
    "smb3",
    "smbfs",
];

fn refuse_network(path: &Path) -> Result<(), StoreError> {
    // Without /proc nothing is known, and nothing is refused.
    let Ok(mounts) = files::read(Path::new("/proc/self/mountinfo")) else {
        return Ok(());
    };
    match file_system(&mounts, path) {
        Some(kind) if NETWORK.contains(&kind.as_str()) => Err(StoreError::LedgerRefused {
            path: path.to_owned(),
            reason: format!(
                "it lies on a network file system ({kind}), where SQLite's locks do not hold; \
                 put the ledger on a local disk"
            ),
        }),
        _ => Ok(()),
    }
}

/// The type of the file system that holds `path`, by the text of `/proc/self/mountinfo`.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, rest) = line.split_once(" - ")?;
            let point = PathBuf::from(unescape(mount.split(' ').nth(4)?));
            let kind = rest.split(' ').next()?;
            let depth = point.components().count();
            path.starts_with(&point).then_some((depth, kind))
        })
        // Of two mounts on one point, the later hides the earlier.
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind.to_owned())
}

/// Undoes the octal escapes of spaces, tabs, line breaks and backslashes.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /home rw - ext4 /dev/vdb rw
41 40 0:41 / /home/a\\040b/net rw shared:1 - nfs4 server:/x rw
42 27 0:42 / /mnt rw - ext4 /dev/vdc rw
43 27 0:43 / /mnt rw - fuse.sshfs host: rw
";

    #[test]
    fn a_place_is_checked_without_making_anything() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = dir.path().join("state").join("ledger.db");
        check_place(&ledger).unwrap();
        assert!(!dir.path().join("state").exists());
        assert_eq!(nearest(&ledger), dir.path().canonicalize().unwrap());
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        for relative in ["no-ledger.db", "./no-ledger.db", "no-folder/no-ledger.db"] {
            assert_eq!(nearest(Path::new(relative)), here, "{relative}");
        }
    }

    #[test]
    fn the_deepest_and_latest_mount_decides() {
        for (path, kind) in [
            ("/var/ledger.db", "ext4"),
            ("/home/a b/ledger.db", "ext4"),
            ("/home/a b/net/ledger.db", "nfs4"),
            ("/home/a b/network/ledger.db", "ext4"),
            ("/mnt/ledger.db", "fuse.sshfs"),
        ] {
            let found = file_system(MOUNTS, Path::new(path));
            assert_eq!(found.as_deref(), Some(kind), "{path}");
        }
    }

    #[test]
    fn files_beside_keep_the_whole_name() {
        assert_eq!(beside(Path::new("/x/ledger.db"), ".id"), Path::new("/x/ledger.db.id"));
    }
}
