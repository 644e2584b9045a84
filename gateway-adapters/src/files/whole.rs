//! Reading a whole small file of the operator: bounded, and never from a pipe or a device.

use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The largest file that is read whole: far above any secret, configuration or bundle of certificates.
const MOST: u64 = 1_048_576;

/// The bytes of a regular file; links are followed.
///
/// # Errors
///
/// When it cannot be read, is no regular file or is larger than 1 MiB.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe must not wait for its writer, nor a terminal become ours.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Asked of the handle: the path may lead elsewhere by now.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    // What a file says of its size may be wrong, so the reading itself is bounded.
    file.take(MOST.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MOST => Ok(bytes),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB")),
    }
}

/// The text of a regular file; links are followed.
///
/// # Errors
///
/// As [`read_whole`], and where it is not UTF-8.
pub fn read_whole_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_whole(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, process::Command};

    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("text"), "abc\n").unwrap();
        std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
        assert_eq!(read_whole_text(&at("link")).unwrap(), "abc\n");
        std::fs::write(at("bytes"), [0xff]).unwrap();
        assert_eq!(read_whole(&at("bytes")).unwrap(), [0xff]);
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        File::create(at("large")).unwrap().set_len(MOST + 1).unwrap();
        File::create(at("largest")).unwrap().set_len(MOST).unwrap();
        assert!(read_whole(&at("largest")).is_ok());
        for (path, told) in [
            (at("bytes"), "not UTF-8"),
            (at("pipe"), "no regular file"),
            (dir.path().to_owned(), "no regular file"),
            ("/dev/zero".into(), "no regular file"),
            (at("large"), "larger than 1 MiB"),
            (at("none"), "No such file"),
        ] {
            let error = read_whole_text(&path).unwrap_err().to_string();
            assert!(error.contains(told), "{}: {error}", path.display());
        }
    }
}
