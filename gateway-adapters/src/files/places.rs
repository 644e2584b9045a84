//! The places that the filter knows: whose home, Hermes' folders, what is never sent, what is allowed.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

/// The folders and files that decide.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The home of whoever we run as.
    pub user: Option<PathBuf>,
    /// Hermes' homes: of the root, of its profiles, and where boards are.
    pub homes: Vec<PathBuf>,
    /// Folders that the operator allows, wherever they lie.
    pub allowed: Vec<PathBuf>,
    /// Files that are never sent, and whatever begins with their path: boards, the ledger, configuration.
    pub kept: Vec<PathBuf>,
    /// Whether only what is allowed, and Hermes' caches, may be sent.
    pub strict: bool,
}

impl Places {
    /// The same places with links resolved; what is not there has none.
    pub(super) fn resolved(mut self) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.user = self.user.as_deref().map(real);
        for paths in [&mut self.homes, &mut self.allowed] {
            *paths = paths.iter().map(|path| real(path)).collect();
        }
        let kept: Vec<PathBuf> = self.kept.iter().map(|path| real(path)).collect();
        self.kept.extend(kept);
        self
    }

    /// Whether a file is one of those that are never sent, or stands beside one under its name (`-wal`,
    /// `.id`), or is one of them by another name.
    pub(super) fn keeps(&self, path: &Path, inode: (u64, u64)) -> bool {
        let named = path.as_os_str().as_bytes();
        let begins = |kept: &PathBuf| named.starts_with(kept.as_os_str().as_bytes());
        // stat(2) alone: these are databases, and closing one would drop its locks.
        let is =
            |path: PathBuf| fs::metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == inode);
        let same = |kept: &PathBuf| {
            let beside = ["", "-wal", "-shm", "-journal", ".id"];
            beside.into_iter().any(|ending| {
                let mut one = kept.as_os_str().to_owned();
                one.push(ending);
                is(one.into())
            })
        };
        self.kept.iter().any(|kept| begins(kept) || same(kept))
    }
}
