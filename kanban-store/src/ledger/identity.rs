//! Who this gateway is: an id and a secret in a file of their own beside the ledger (law D10).

use std::{
    fmt, fs,
    io::{self, Write as _},
    path::Path,
};

use super::{
    files,
    place::{beside, file_error},
};
use crate::error::StoreError;

/// The gateway's id, which is public, and its secret, for keys and references.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    id: String,
    secret: [u8; 32],
}

impl Identity {
    /// Sixteen random bytes as lower-case hex.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Reads the file beside `ledger`, made on first use. Call under the migration lock.
    pub(super) fn load(ledger: &Path) -> Result<Self, StoreError> {
        let path = beside(ledger, ".id");
        match files::read(&path) {
            Ok(text) => Self::parse(&text).ok_or_else(|| StoreError::LedgerRefused {
                path: path.clone(),
                reason: "it does not hold an id and a secret; restore it, or remove it to become \
                         another gateway"
                    .to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(&path),
            Err(error) => Err(file_error("reading", &path)(error)),
        }
    }

    fn create(path: &Path) -> Result<Self, StoreError> {
        let mut id = [0; 16];
        let mut secret = [0; 32];
        fill(&mut id).map_err(file_error("finding randomness for", path))?;
        fill(&mut secret).map_err(file_error("finding randomness for", path))?;
        let made = Self { id: hex(&id), secret };
        let draft = beside(path, ".new");
        made.write(&draft)
            .and_then(|()| fs::rename(&draft, path))
            .map_err(file_error("writing", path))?;
        files::sync_folder(path);
        Ok(made)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        // A draft can only be left from a crash: whoever writes one holds the lock.
        let mut file = files::replace(path)?;
        writeln!(file, "id = {}\nsecret = {}", self.id, hex(&self.secret))?;
        file.sync_all()
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim())
        };
        Some(Self {
            id: unhex::<16>(value("id")?).map(|id| hex(&id))?,
            secret: unhex(value("secret")?)?,
        })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A random name of 32 hex digits.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<Vec<u8>>>()?;
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| (byte << 4) | digit))
        .collect();
    if digits.len() % 2 == 1 {
        return None;
    }
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        let first = Identity::load(&ledger).unwrap();
        let second = Identity::load(&ledger).unwrap();
        assert_eq!(first, second);
        assert_eq!(first.id().len(), 32);
        assert!(!format!("{first:?}").contains(&hex(first.secret())));
    }

    #[test]
    fn a_broken_file_is_refused() {
        for text in ["", "id = 00\nsecret = 00\n", "id = xyz"] {
            assert_eq!(Identity::parse(text), None, "{text:?}");
        }
    }
}
