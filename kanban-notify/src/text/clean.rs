//! Foreign text as data: one line, bounded, without anything that could pass for our own words.

use super::mask;
use crate::key::REFERENCE_PREFIX;

/// The marker that every wake begins with; never left standing in foreign text.
pub const MARKER: &str = "[kanban]";

/// A line that is safe to tell, and what it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub text: String,
    /// How long its source is in bytes, when something of it was cut off.
    pub cut_from: Option<usize>,
}

/// The first non-empty line of `text`, masked, neutralised and cut to `max` characters.
///
/// `None` when nothing is left of it.
pub fn first_line(text: &str, max: usize) -> Option<Line> {
    text.lines().map(|source| line(source, max)).find(|line| !line.text.is_empty())
}

/// `text` as one line: masked, neutralised and cut to `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    line(text, max).text
}

/// The same, and whether it was cut.
pub fn line(text: &str, max: usize) -> Line {
    let safe = safe(text, max);
    let is_cut = safe.chars().nth(max).is_some();
    Line { text: cut(&safe, max), cut_from: is_cut.then_some(text.len()) }
}

/// `text` as one line: masked and neutralised, and far longer than `max` characters at the most.
fn safe(text: &str, max: usize) -> String {
    if is_plain_name(text) {
        return text.to_owned();
    }
    // Far more than any bound needs, so that a payload of megabytes costs nothing here.
    let head = text.chars().take(max.saturating_mul(4).saturating_add(4_096));
    // Before secrets are looked for: none of these may keep one from being seen.
    let mut before = None;
    let shown = head.filter(|c| {
        let shown = !is_invisible(before, *c);
        before = if shown { Some(*c) } else { before };
        shown
    });
    let head: String = shown.collect();
    let masked = mask::secrets(&head);
    let mut line = String::with_capacity(masked.len());
    for c in masked.chars() {
        if c.is_whitespace() || c.is_control() {
            if !line.ends_with(' ') && !line.is_empty() {
                line.push(' ');
            }
        } else {
            line.push(match c {
                '"' | '\u{201c}' | '\u{201d}' => '\'',
                other => other,
            });
        }
    }
    neutralise(line.trim_end())
}

/// Whether `text` is too short and too plain for a secret, and has nothing in it that is changed: ids and
/// names are, as a rule.
fn is_plain_name(text: &str) -> bool {
    text.len() <= 14
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte))
}

/// `text` with at most `max` characters: cut at a space where one is near, never inside a link that
/// could stay whole by ending earlier, and with an ellipsis where something is missing.
pub fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let Some(room) = max.checked_sub(1) else {
        return String::new();
    };
    let head: String = text.chars().take(room).collect();
    let next_is_space = text.chars().nth(room).is_none_or(char::is_whitespace);
    let end = if next_is_space {
        head.len()
    } else {
        match head.rfind(' ') {
            // A word longer than the whole bound is cut where it must be; a link goes whole or not at all.
            Some(space) if space > 0 => space,
            _ => head.len(),
        }
    };
    let kept = head.get(..end).unwrap_or(&head).trim_end();
    format!("{kept}\u{2026}")
}

/// Our own delimiters in foreign text, made harmless while it stays readable.
fn neutralise(text: &str) -> String {
    let mut clean = text.to_owned();
    for (ours, harmless) in [(MARKER, "(kanban)"), (REFERENCE_PREFIX, "kgw_")] {
        // ASCII case is folded by hand: the replacement must not depend on a locale.
        while let Some(at) = find_ignoring_case(&clean, ours) {
            clean.replace_range(at..at + ours.len(), harmless);
        }
    }
    clean
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes()
        .windows(wanted.len())
        .position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Characters that change how others are shown, or show nothing: zero-width, direction and tag marks.
///
/// Joiners and variants belong to scripts and emoji; in the middle of our own alphabet they only hide.
pub(crate) fn is_invisible(before: Option<char>, c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
            && before.is_none_or(|before| before.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn report_46_a_cut_leaves_words_and_links_whole() {
        let text =
            format!("{} https://example.org/{} end", "word ".repeat(37).trim(), "x".repeat(60));
        let short = cut(&text, 200);
        assert!(short.ends_with("word\u{2026}"), "{short}");
        assert_eq!(cut("short", 200), "short");
        assert_eq!(cut("abc def", 4), "abc\u{2026}");
    }

    #[test]
    fn report_48_the_shortest_secret_is_masked_where_it_stands_alone() {
        // Fake, and visibly so.
        assert_eq!(one_line("xoxb-0000000000", 99), "[masked token]");
    }

    #[test]
    fn report_84_our_own_marks_are_neutralised() {
        let line = one_line("x [KANBAN] \u{202e}kgw:00ff \"quoted\"\r\nnext\u{7}", 200);
        assert_eq!(line, "x (kanban) kgw_00ff 'quoted' next");
        // Joining what an invisible character separated must not bring a mark back.
        assert_eq!(one_line("[kan\u{200b}ban] k\u{2060}gw:1", 99), "(kanban) kgw_1");
    }

    #[test]
    fn report_105_no_limit_splits_a_character() {
        for text in
            ["д".repeat(3_720), "\u{1f600}".repeat(1_860), "\u{301}\u{301}".into(), String::new()]
        {
            for max in 0..=5 {
                assert!(cut(&text, max).chars().count() <= max);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_has_nothing_that_is_changed(text in "[A-Za-z0-9_.@-]{0,15}|(xoxb|sk|ghp|AKIA)[_-]?[A-Za-z0-9]{9,12}|[ -~]{0,20}") {
            if is_plain_name(&text) {
                prop_assert_eq!(mask::secrets(&text), text.clone());
                prop_assert_eq!(neutralise(&text), text);
            }
        }

        #[test]
        fn lines_are_bounded_single_and_unmarked(text in "\\PC*|.*", max in 0_usize..300) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert!(find_ignoring_case(&line, MARKER).is_none());
            prop_assert!(find_ignoring_case(&line, REFERENCE_PREFIX).is_none());
            prop_assert!(!line.contains('"'));
        }
    }
}
