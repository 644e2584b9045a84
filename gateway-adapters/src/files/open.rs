//! Looking at a file without opening it, and opening exactly the one that was looked at.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use kanban_notify::artifacts::Refusal;

/// A file that was looked at.
#[derive(Debug)]
pub(super) struct Seen {
    /// Where it really is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// What tells it from others, and from itself after a change.
    pub mark: String,
    /// Its device and inode.
    pub inode: (u64, u64),
    handle: File,
}

/// A file that is open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// Its name for people and receivers.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What tells it from itself after a change.
    pub mark: String,
}

impl OpenFile {
    /// The same file once more, for another request; `None` where no more files can be open.
    pub fn again(&self) -> Option<Self> {
        let file = self.file.try_clone().ok()?;
        Some(Self { file, name: self.name.clone(), size: self.size, mark: self.mark.clone() })
    }
}

/// Looks at what is at a path, links followed.
pub(super) fn look(path: &Path) -> Result<Seen, Refusal> {
    look_with(path, libc::O_PATH)
}

/// Opens the file that was looked at, if it is the same one at the same place and unchanged.
///
/// # Errors
///
/// Why it is not.
pub fn open(path: &Path, name: &str, mark: &str) -> Result<OpenFile, Refusal> {
    let seen = look_with(path, libc::O_PATH | libc::O_NOFOLLOW)?;
    // A folder on the way may lead elsewhere now.
    if seen.mark != mark || seen.path != path {
        return Err(Refusal::Missing);
    }
    let file = seen.readable()?;
    Ok(OpenFile { file, name: name.to_owned(), size: seen.size, mark: seen.mark })
}

fn look_with(path: &Path, flags: i32) -> Result<Seen, Refusal> {
    let handle = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let handle = handle.map_err(|error| refusal(&error))?;
    let meta = handle.metadata().map_err(|error| refusal(&error))?;
    if !meta.is_file() {
        return Err(Refusal::NotAFile);
    }
    // What was removed meanwhile is nowhere.
    if meta.nlink() == 0 {
        return Err(Refusal::Missing);
    }
    let path = fs::read_link(by_handle(&handle)).map_err(|_| Refusal::Unreadable)?;
    let inode = (meta.dev(), meta.ino());
    Ok(Seen { path, size: meta.len(), mark: mark(&meta), inode, handle })
}

impl Seen {
    /// Opens it: by its handle, so that it is this file and no other.
    pub(super) fn readable(&self) -> Result<File, Refusal> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        options.open(by_handle(&self.handle)).map_err(|_| Refusal::Unreadable)
    }
}

/// What tells a file from others, and from itself after a change.
pub(super) fn mark(meta: &Metadata) -> String {
    let (seconds, nanos) = (meta.mtime(), meta.mtime_nsec());
    format!("{}:{}:{seconds}.{nanos}:{}", meta.dev(), meta.ino(), meta.len())
}

fn by_handle(handle: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => Refusal::Missing,
        io::ErrorKind::PermissionDenied => Refusal::Unreadable,
        // A link in a circle, a file in the place of a folder, a name that is too long.
        _ => Refusal::NotAFile,
    }
}
