//! Paths of files in prose: whole paths with a known ending, outside of links and of code.

/// Endings of what people are sent.
const ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "svg", "mp4", "mov", "avi", "mkv", "webm",
    "mp3", "wav", "ogg", "opus", "m4a", "flac", "pdf", "docx", "doc", "odt", "rtf", "txt", "md",
    "epub", "xlsx", "xls", "ods", "csv", "tsv", "json", "xml", "yaml", "yml", "pptx", "ppt", "odp",
    "key", "zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "apk", "ipa", "html", "htm",
];

/// So much of a text is looked at, in bytes.
const LONGEST: usize = 64 << 10;

/// The paths in a text, in order, each once.
pub(super) fn paths(text: &str) -> Vec<String> {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let mut found: Vec<String> = Vec::new();
    for prose in prose(text.get(..end).unwrap_or_default()) {
        for word in prose.split(is_separator) {
            if let Some(path) = path(word)
                && !found.iter().any(|known| known == path)
            {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// The text without code: what is fenced, and what stands between backticks.
fn prose(text: &str) -> Vec<&str> {
    let mut fence = None;
    let mut prose = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        let sign = ["```", "~~~"].into_iter().find(|sign| start.starts_with(sign));
        match (fence, sign) {
            (None, Some(sign)) => fence = Some(sign),
            (Some(open), Some(sign)) if open == sign => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let mut rest = line;
                while let Some(at) = rest.find('`') {
                    let (before, code) = rest.split_at(at);
                    prose.push(before);
                    let inner = code.trim_start_matches('`');
                    let sign = code.get(..code.len().saturating_sub(inner.len()));
                    // What is never closed is no code.
                    let after = sign.and_then(|sign| inner.split_once(sign));
                    rest = after.map_or(inner, |(_, after)| after);
                }
                prose.push(rest);
            }
        }
    }
    prose
}

/// What stands between words. A path with a blank in it is not found.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>' | '{' | '}' | ',' | ';' | '|' | '='
        )
}

/// The path that a word is.
fn path(word: &str) -> Option<&str> {
    let word = word.trim_matches(|c| matches!(c, '*' | '_' | '!' | '?'));
    let word = word.trim_end_matches(['.', ':']);
    // `../a`, `a/b` and `https://a/b` begin otherwise; `//host/a` is no path.
    let body = word.strip_prefix("~/").or_else(|| word.strip_prefix('/'))?;
    let climbs = body.split('/').any(|part| matches!(part, "" | "." | ".."));
    let name = body.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let known = ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending));
    (known && !stem.is_empty() && !climbs && !body.chars().any(char::is_control)).then_some(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn report_44_only_whole_paths_with_a_known_ending_are_found() {
        for (text, found) in [
            ("done: /home/u/out.pdf", &["/home/u/out.pdf"][..]),
            ("(~/a/b.PNG), /c/d.tar.gz.", &["~/a/b.PNG", "/c/d.tar.gz"]),
            ("**/a/b.md** and /a/b.md again", &["/a/b.md"]),
            ("see https://example.org/a/b.pdf and file:///etc/x.txt", &[]),
            ("link](/a/b.pdf)", &["/a/b.pdf"]),
            ("./a.pdf ../../etc/passwd.txt a/b.pdf", &[]),
            ("/a/../../etc/shadow.txt /a/./b.txt //host/share.pdf", &[]),
            ("`/a/b.pdf` and ``/c.pdf`` and /d.pdf", &["/d.pdf"]),
            ("```\n/a/b.pdf\n```\n/c.pdf", &["/c.pdf"]),
            ("~~~sh\n/a/b.pdf\n```\n/b.pdf\n~~~\n/c.pdf", &["/c.pdf"]),
            ("```\n/a/b.pdf is never closed", &[]),
            ("/etc/passwd /a/.env /a/id_rsa /a/.pdf /", &[]),
            ("C:\\Users\\u\\out.pdf", &[]),
            ("path=/a/b.csv;next", &["/a/b.csv"]),
            ("/a/\u{e9}t\u{e9}.pdf", &["/a/\u{e9}t\u{e9}.pdf"]),
        ] {
            assert_eq!(paths(text), found, "{text}");
        }
        // Only the beginning of a long text is looked at, and no character is cut.
        assert!(paths(&format!("{}/a.pdf", "\u{20ac} ".repeat(30_000))).is_empty());
    }

    proptest! {
        #[test]
        fn whatever_is_found_is_a_whole_path(text in "([/~.` a-c\n]|https://|\\.pdf|\\PC){0,60}") {
            for path in paths(&text) {
                prop_assert!(path.starts_with('/') || path.starts_with("~/"), "{path}");
                prop_assert!(!path.contains("..") || !path.split('/').any(|part| part == ".."));
                prop_assert!(text.contains(&path));
            }
        }
    }
}
