//! An event's payload, read leniently: also one that was cut off, or holds what no text can hold.

use serde_json::Value;

/// The payload as JSON; null where nothing can be made of it.
///
/// Of a payload that is only a beginning (`cut`) this is what is whole, with the text that the cut went
/// through as far as it goes.
pub(crate) fn parse(text: &str, cut: bool) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    if !cut {
        return serde_json::from_str(&paired(text)).unwrap_or_default();
    }
    let (closed, shorter) = closed(text);
    let read = |text: String| serde_json::from_str(&paired(&text)).ok();
    read(closed).or_else(|| shorter.and_then(read)).unwrap_or_default()
}

/// `text` with what is open closed; and the same without the member that the cut went through.
fn closed(text: &str) -> (String, Option<String>) {
    let mut closers = String::new();
    let mut in_string = false;
    let mut escape = Escape::default();
    let mut last_member = None;
    for (at, c) in text.char_indices() {
        if in_string {
            if !escape.takes(at, c) && c == '"' {
                in_string = false;
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' => closers.insert(0, '}'),
            '[' => closers.insert(0, ']'),
            '}' | ']' if !closers.is_empty() => {
                closers.remove(0);
            }
            ',' if closers.len() == 1 => last_member = Some(at),
            _ => {}
        }
        // Nobody writes such a payload, and no reader follows it.
        if closers.len() > DEEPEST {
            break;
        }
    }
    let whole = escape.open.and_then(|at| text.get(..at)).unwrap_or(text);
    let quote = if in_string { "\"" } else { "" };
    let shorter = last_member.and_then(|at| text.get(..at)).map(|head| format!("{head}}}"));
    (format!("{whole}{quote}{closers}"), shorter)
}

/// How deep `serde_json` follows.
const DEEPEST: usize = 128;

/// An escape sequence in a string.
#[derive(Default)]
struct Escape {
    /// Where the one that is not complete begins.
    open: Option<usize>,
    /// How many characters it still has.
    left: usize,
}

impl Escape {
    /// Whether `c` belongs to an escape sequence.
    fn takes(&mut self, at: usize, c: char) -> bool {
        match self.open {
            None if c == '\\' => (self.open, self.left) = (Some(at), 1),
            None => return false,
            Some(begin) if c == 'u' && at.checked_sub(1) == Some(begin) => self.left = 4,
            Some(_) => {
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    self.open = None;
                }
            }
        }
        true
    }
}

/// `text` with escapes of lone surrogates replaced: Python writes them, and no text can hold them.
fn paired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = unit(escape);
        let pair = escape.get(6..).and_then(self::unit);
        let (kept, length) = match (unit, pair) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape.get(..12), 12),
            (Some(0xd800..=0xdfff), _) => (Some("\\ufffd"), 6),
            (Some(_), _) => (escape.get(..6), 6),
            // The character behind the backslash goes along: it may be another one.
            (None, _) => {
                let length = 1 + escape.chars().nth(1).map_or(0, char::len_utf8);
                (escape.get(..length), length)
            }
        };
        out.push_str(kept.unwrap_or_default());
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The code unit of the `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_cut_payload_remains_what_is_whole() {
        let cut = |text: &str| parse(text, true);
        assert_eq!(cut(r#"{"summary": "did it", "artifacts": ["a", "b"#)["summary"], "did it");
        assert_eq!(
            cut(r#"{"n": 1, "summary": "did \"it\" and mo"#)["summary"],
            "did \"it\" and mo"
        );
        for tail in ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0"] {
            let value = cut(&format!(r#"{{"n": 1, "summary": "did{tail}"#));
            assert_eq!(
                value["summary"].as_str().unwrap().trim_end_matches('\u{fffd}'),
                "did",
                "{tail}"
            );
        }
        for tail in
            [r#","#, r#", "k"#, r#", "k": "#, r#", "k": tru"#, r#", "k": -"#, r#", "k": 1."#]
        {
            assert_eq!(
                cut(&format!(r#"{{"summary": "s"{tail}"#)),
                json!({"summary": "s"}),
                "{tail}"
            );
        }
        assert_eq!(cut(""), Value::Null);
        assert_eq!(cut(&"[".repeat(100_000)), Value::Null);
    }

    #[test]
    fn w9_lone_surrogates_spoil_a_character_and_not_the_payload() {
        let summary = |text: &str| parse(text, false)["summary"].clone();
        assert_eq!(summary(r#"{"summary": "a \ud800 b"}"#), "a \u{fffd} b");
        assert_eq!(
            summary(r#"{"summary": "\udc00\ud83d\ude00\ud83d"}"#),
            "\u{fffd}\u{1f600}\u{fffd}"
        );
        assert_eq!(summary(r#"{"summary": "\\ud800"}"#), "\\ud800");
        assert_eq!(summary("{\"summary\": \"\\ud800\\ü\"}"), Value::Null);
    }

    proptest! {
        #[test]
        fn a_payload_cut_anywhere_is_read_as_far_as_it_goes(
            summary in "\\PC{0,40}|[\\\\\"\u{1f600}\u{0}-\u{20}]{0,20}", other: u64, at: prop::sample::Index,
        ) {
            let whole = json!({"summary": summary, "z": [other, {"x": summary}]}).to_string();
            let chars = whole.chars().count();
            let keep = at.index(chars + 1);
            let head: String = whole.chars().take(keep).collect();
            let read = parse(&head, true);
            if let Some(text) = read.get("summary").and_then(Value::as_str) {
                prop_assert!(summary.starts_with(text.trim_end_matches('\u{fffd}')), "{head}");
            }
            let complete = json!(summary).to_string().chars().count() + 12;
            prop_assert!(keep < complete || read["summary"] == json!(summary), "{}", head);
        }
    }
}
