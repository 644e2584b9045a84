//! Secrets that stand in a file of their own.

use std::path::Path;

use crate::platforms::{FieldKind, read_whole_text};

/// Why a secret is none, in the words of every place that refuses one.
pub(super) const ONE_WORD: &str = "must be one word of visible ASCII characters";

/// The secret in a file, or the file, its line and what is wrong with it; never a part of the secret.
pub(crate) fn read_secret(path: &Path, kind: FieldKind) -> Result<String, String> {
    let shown = path.display();
    let text = read_whole_text(path).map_err(|error| format!("{shown}: {error}"))?;
    let separator = if kind == FieldKind::Secrets { ',' } else { '\n' };
    if text.trim_matches(|c: char| c.is_whitespace() || c == separator).is_empty() {
        return Err(format!("{shown} is empty"));
    }
    match odd(&text, kind) {
        None => Ok(text.trim().to_owned()),
        Some((line, what)) => Err(format!("{shown} line {line}: {what}; a secret {ONE_WORD}")),
    }
}

/// The first line of a text, counted from 1, where a secret is more than one word, and how.
fn odd(text: &str, kind: FieldKind) -> Option<(usize, &'static str)> {
    let words: Vec<&str> = match kind {
        FieldKind::Secrets => text.split_inclusive(',').collect(),
        _ => vec![text],
    };
    let mut before = 0_usize;
    for word in words {
        let lead = word.len() - word.trim_start().len();
        let inside = word.trim_end_matches(',').trim();
        let found = inside.char_indices().find(|(_, c)| !c.is_ascii_graphic());
        if let Some((at, c)) = found {
            let at = before.saturating_add(lead).saturating_add(at);
            let ends = text.bytes().take(at).filter(|byte| *byte == b'\n').count();
            let what = match c {
                '\n' | '\r' => "the secret goes on after a line break",
                c if c.is_whitespace() => "there is a blank in the secret",
                _ => "there is another character in the secret",
            };
            return Some((ends.saturating_add(1), what));
        }
        before = before.saturating_add(word.len());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_odd_line_is_named() {
        for (text, one, several) in [
            ("abc\n", None, None),
            ("a,b\n", None, None),
            ("a,\n b\n", Some(1), None),
            ("\n\na\nb", Some(3), Some(3)),
            ("a,\nb c", Some(1), Some(2)),
            ("\u{fc}", Some(1), Some(1)),
        ] {
            let line = |kind| odd(text, kind).map(|(line, _)| line);
            assert_eq!(line(FieldKind::Secret), one, "{text:?}");
            assert_eq!(line(FieldKind::Secrets), several, "{text:?}");
        }
    }

    #[test]
    fn a_file_without_a_secret_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        for text in ["", "\n \n"] {
            std::fs::write(&path, text).unwrap();
            let told = read_secret(&path, FieldKind::Secret).unwrap_err();
            assert_eq!(told, format!("{} is empty", path.display()));
        }
    }
}
