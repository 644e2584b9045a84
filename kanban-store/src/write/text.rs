//! Text as Hermes trims and cuts it, which is by Python's rules.

/// What Python takes for white space: Unicode's, and four control characters.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Where Python breaks lines.
fn is_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Without white space at both ends.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The text, if there is more than white space in it.
pub(super) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !strip(text).is_empty())
}

/// The first line with something in it, at most `chars` characters; `None` when there is none.
pub(super) fn first_line(text: &str, chars: usize) -> Option<String> {
    let line = strip(text).split(is_break).next()?;
    (!line.is_empty()).then(|| line.chars().take(chars).collect())
}

/// How many characters.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_blanks_are_those_of_python() {
        assert_eq!(strip("\u{1f} a b\u{a0}\u{2029}"), "a b");
        assert_eq!(filled(Some("\u{1c}\t")), None);
        for end in ["\n", "\r\n", "\u{b}", "\u{c}", "\u{1c}", "\u{1e}", "\u{85}", "\u{2028}"] {
            let text = format!(" \u{1d}one é{end}two");
            assert_eq!(first_line(&text, 400).as_deref(), Some("one é"), "{end:?}");
        }
        // The fourth of the control characters is white space, and breaks no line.
        assert_eq!(first_line("a\u{1f}b", 400).as_deref(), Some("a\u{1f}b"));
        assert_eq!(first_line("éab", 2).as_deref(), Some("éa"));
        assert_eq!(first_line(" \n ", 2), None);
    }
}
