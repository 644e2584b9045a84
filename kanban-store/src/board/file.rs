//! The file behind a board, looked at by stat only, and what it lies on (laws B3, B7).

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
};

use crate::error::StoreError;

/// Which file a path leads to: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file at `path` now; `None` when there is none.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self::from(&found))
    }
}

#[cfg(unix)]
impl From<&Metadata> for FileId {
    fn from(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: found.dev(), inode: found.ino() }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for FileId {
    // Without inodes the creation time has to do: a copy or a new file gets another one.
    fn from(found: &Metadata) -> Self {
        let made =
            found.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            device: 0,
            inode: made.map_or(0, |at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

/// The files of a board as they were opened (law B6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) file: FileId,
    /// The write-ahead log; nobody removes it while a connection is open, unless by hand.
    log: Option<FileId>,
    length: u64,
}

impl Standing {
    /// As they are now, with the log that SQLite has open.
    pub(crate) fn of(board: &Path, file: FileId) -> Self {
        Self { file, log: FileId::of(&sidecar(board, "-wal")), length: length(board) }
    }

    /// Says an error when something else is in the place of one of them, or the board was cut.
    ///
    /// Who goes on with a log that nobody else has sees no commit of others any more, and keeps them out.
    pub(crate) fn check(&mut self, board: &Path) -> Result<(), StoreError> {
        let Some(file) = FileId::of(board) else {
            return Err(StoreError::BoardMissing { path: board.into() });
        };
        let now = Self::of(board, file);
        if file != self.file
            || (self.log.is_some() && now.log != self.log)
            || now.length < self.length
        {
            return Err(StoreError::FileReplaced { path: board.into() });
        }
        self.length = now.length;
        Ok(())
    }
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |found| found.len())
}

/// Size of the board's `-wal` in bytes; 0 when there is none.
pub(crate) fn wal_size(board: &Path) -> u64 {
    length(&sidecar(board, "-wal"))
}

/// The path of a file that SQLite keeps beside the board.
pub(crate) fn sidecar(board: &Path, suffix: &str) -> PathBuf {
    let mut name = board.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The type of the network file system that `path` lies on; `None` on a local one.
///
/// From `/proc/self/mountinfo`; where that file does not exist nothing is known and `None` is said.
pub fn network_file_system(path: &Path) -> Option<String> {
    let mounts = read_small(Path::new("/proc/self/mountinfo")).ok()?;
    let kind = mounted_kind(&mounts, path)?;
    is_network(kind).then(|| kind.to_owned())
}

/// Reads a small text file that is no database: a board's description, a mount table.
#[expect(
    clippy::disallowed_methods,
    reason = "never called with the path of a database or its WAL"
)]
pub(crate) fn read_small(path: &Path) -> Result<String, StoreError> {
    let bytes =
        std::fs::read(path).map_err(|source| StoreError::ReadFile { path: path.into(), source })?;
    String::from_utf8(bytes).map_err(|source| StoreError::ReadFile {
        path: path.into(),
        source: io::Error::new(io::ErrorKind::InvalidData, source),
    })
}

/// The file-system type of the longest mount point above `path`; later mounts hide earlier ones.
fn mounted_kind<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = PathBuf::from(unescape(left.split(' ').nth(4)?));
            let kind = right.split(' ').next()?;
            path.starts_with(&point).then(|| (point.components().count(), kind))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

/// Mount points have blanks, tabs, line ends and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

fn is_network(kind: &str) -> bool {
    const NETWORK: [&str; 18] = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "drvfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
        "vboxsf",
    ];
    // FUSE is local or not by what is behind it; these are the common remote ones.
    const REMOTE_FUSE: [&str; 7] =
        ["sshfs", "rclone", "s3fs", "glusterfs", "ceph", "davfs", "vmhgfs"];
    NETWORK.contains(&kind)
        || kind
            .strip_prefix("fuse.")
            .is_some_and(|behind| REMOTE_FUSE.iter().any(|name| behind.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /home/my\\040boards rw - nfs4 host:/export rw
41 22 0:36 / /mnt/x rw - fuse.sshfs me@host: rw
42 41 8:2 / /mnt/x/local rw - xfs /dev/sdb1 rw
";

    #[test]
    fn the_deepest_mount_decides_law_b7() {
        let kind = |path: &str| mounted_kind(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(kind("/home/me/kanban.db"), "ext4");
        assert_eq!(kind("/home/my boards/kanban.db"), "nfs4");
        assert_eq!(kind("/mnt/x/kanban.db"), "fuse.sshfs");
        assert_eq!(kind("/mnt/x/local/kanban.db"), "xfs");
        assert!(is_network("nfs4") && is_network("fuse.sshfs"));
        assert!(!is_network("ext4") && !is_network("fuse.gocryptfs"));
    }
}
