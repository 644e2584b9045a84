//! A file system of a few megabytes, for what happens when a disk is full.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A mounted file system; it goes with this value.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one over a folder, which is made. `None`, loudly, where this user may not mount.
    ///
    /// # Panics
    /// Where it may not although the variable `CI` is set: there the tests that need it have to run.
    pub fn over(folder: &Path, megabytes: u32) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let options = format!("size={megabytes}m,mode=0777");
        let place = folder.to_str().unwrap();
        if as_root(&["mount", "-t", "tmpfs", "-o", &options, "kanban-gateway-test", place]) {
            return Some(Self(folder.to_owned()));
        }
        assert!(std::env::var_os("CI").is_none(), "a tmpfs can be mounted in CI");
        eprintln!("SKIPPED: neither this user nor `sudo -n` may mount a tmpfs");
        None
    }

    /// Takes all the room there is; it is free again when the file that this answers is removed.
    pub fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[7; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let place = self.0.to_str().unwrap();
        if !as_root(&["umount", "--lazy", place]) {
            eprintln!("{place} is still mounted");
        }
    }
}

fn as_root(command: &[&str]) -> bool {
    let runs = |program: &str, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).output();
        run.is_ok_and(|done| done.status.success())
    };
    runs(command[0], &command[1..]) || runs("sudo", &[&["-n"], command].concat())
}
