//! Prints: enough of a row, hashed, to tell it from another one with the same id (law B6).

use sha2::{Digest, Sha256};

use super::statement::Cell;

/// Lower-case hex of a SHA-256 over values of any type.
///
/// Each value is framed by a letter for its type and its length (eight bytes, little endian), so
/// that no two lists of values are the same bytes.
pub(crate) fn print<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> String {
    use std::fmt::Write as _;

    let mut hash = Sha256::new();
    for cell in cells {
        match cell {
            Cell::Null => frame(&mut hash, b'n', &[]),
            Cell::Int(value) => frame(&mut hash, b'i', &value.to_le_bytes()),
            Cell::Real(value) => frame(&mut hash, b'r', &value.to_bits().to_le_bytes()),
            Cell::Text(text) => frame(&mut hash, b't', text.as_bytes()),
            Cell::BrokenText(bytes) => frame(&mut hash, b't', bytes),
            Cell::Blob(bytes) => frame(&mut hash, b'b', bytes),
        }
    }
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn frame(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_print_is_fixed_and_knows_types_and_borders() {
        let text = |s: &str| Cell::Text(s.into());
        assert_eq!(print([&text("ab"), &Cell::Null]).len(), 64,);
        assert_ne!(print([&text("ab"), &text("c")]), print([&text("a"), &text("bc")]));
        assert_ne!(print([&text("")]), print([&Cell::Null]));
        assert_ne!(print([&Cell::Int(1)]), print([&text("1")]));
        assert_eq!(print([&Cell::Int(1)]), print([&Cell::Int(1)]));
    }
}
