//! Just enough of Rust's lexer to tell code from comments and literals.

/// The same text with comments, strings and characters blanked, line breaks kept.
pub fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        if let Some(length) = blank_length(rest, previous) {
            let (blank, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            out.extend(blank.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
            previous = ' ';
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or("");
            previous = first;
        }
    }
    out
}

/// Whether `word` stands in `code` by itself, not as a part of a longer name.
pub fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        let after = code.get(at..).and_then(|from| from.strip_prefix(word));
        let after = after.and_then(|after| after.chars().next());
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many bytes from here on are not code, if any.
fn blank_length(rest: &str, previous: char) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if !is_name(previous)
        && let Some(length) = raw_string(rest)
    {
        return Some(length);
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if rest.starts_with("'\\") {
        return Some(quoted(rest, '\''));
    }
    // One character between quotes; anything else after a quote is a lifetime.
    let mut characters = rest.strip_prefix('\'')?.chars();
    let inner = characters.next()?;
    (characters.next()? == '\'').then(|| inner.len_utf8().saturating_add(2))
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut skip = false;
    let following = rest.chars().skip(1).chain([' ']);
    for ((at, c), next) in rest.char_indices().zip(following) {
        if skip {
            skip = false;
        } else if (c, next) == ('/', '*') {
            depth = depth.saturating_add(1);
            skip = true;
        } else if (c, next) == ('*', '/') {
            depth = depth.saturating_sub(1);
            skip = true;
            if depth == 0 {
                return at.saturating_add(2);
            }
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and so on, with a `b` or `c` in front or not.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let hashes = after.chars().take_while(|c| *c == '#').count();
    let body = after.trim_start_matches('#').strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let opened = rest.len().saturating_sub(body.len());
    let closed = body.find(&close).map_or(body.len(), |at| at.saturating_add(close.len()));
    Some(opened.saturating_add(closed))
}

/// From an opening quote to the closing one that no backslash escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at.saturating_add(1);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let cases = [
            ("a // b", "a"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("x\"y") g"#, "f( ) g"),
            ("r#\"a\" b\"# c", "c"),
            ("br\"a\" c", "c"),
            ("'a' 'b: '\\'' x", "'b: x"),
            ("\"a\nb\"c", "c"),
        ];
        for (text, wanted) in cases {
            let found = code_only(text);
            let words: Vec<&str> = found.split_whitespace().collect();
            assert_eq!(words.join(" "), wanted, "{text}");
            assert_eq!(found.len(), text.len(), "{text}");
            assert_eq!(found.lines().count(), text.lines().count(), "{text}");
        }
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code_only("fn f<'a>(x: &'a str)"), "fn f<'a>(x: &'a str)");
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_text() {
        for text in ["\"abc", "/* abc", "r#\"abc\"", "'\\"] {
            assert!(code_only(text).trim().is_empty(), "{text}");
        }
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("x = unsafe { }", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(has_word("unsafe_code unsafe", "unsafe"));
    }
}
