//! `.env` files as Hermes reads them, without touching this process's environment.
//!
//! Hermes uses python-dotenv: an unquoted value may hold spaces, `$` and `#`, and only `${NAME}` is
//! replaced. A reader with other rules would hand out a wrong API key.

use std::{collections::BTreeMap, io, path::Path};

use crate::platforms::read_whole;

/// What a file assigns.
#[derive(Debug, Default)]
pub(super) struct Dotenv {
    /// The assignments, the last one of each name.
    pub values: BTreeMap<String, String>,
    /// The lines, counted from 1, that are neither assignment nor comment: skipped, as in Hermes.
    pub broken: Vec<usize>,
}

/// What a file assigns.
///
/// # Errors
///
/// When the file cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Dotenv> {
    let bytes = read_whole(path)?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// What a text assigns.
fn parse(text: &str) -> Dotenv {
    let Dotenv { mut values, mut broken } = Dotenv::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = rest.get(start..).unwrap_or_default();
        match assignment(rest) {
            Ok((name, value, after)) => {
                let value = expand(&value, &values);
                values.insert(name, value);
                rest = after;
            }
            Err(stopped) => {
                if !is_passed_over(rest) {
                    let before = text.len().saturating_sub(rest.len());
                    let ends = text.bytes().take(before).filter(|byte| *byte == b'\n').count();
                    broken.push(ends + 1);
                }
                rest = after_line(stopped);
            }
        }
    }
    Dotenv { values, broken }
}

/// Whether a line that assigns nothing is meant so: a comment, or a name alone.
fn is_passed_over(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default().trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, rest) =
        line.split_at(line.find(|c: char| c == '#' || c.is_whitespace()).unwrap_or(line.len()));
    let rest = rest.trim_start();
    !name.contains('=') && (rest.is_empty() || rest.starts_with('#'))
}

/// One assignment at the start of `text`, and what follows it; else where reading stopped.
fn assignment(text: &str) -> Result<(String, String, &str), &str> {
    let line = text.strip_prefix("export").filter(|rest| rest.starts_with(is_blank));
    let line = line.unwrap_or(text).trim_start_matches(is_blank);
    let (name, rest) = match line.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\''),
        None => {
            let end = line.find(|c: char| c == '=' || c == '#' || c.is_whitespace());
            end.map(|end| line.split_at(end))
        }
    }
    .ok_or(text)?;
    let rest = rest.trim_start_matches(is_blank).strip_prefix('=').ok_or(text)?;
    let rest = rest.trim_start_matches(is_blank);
    let (value, rest) = match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            rest.get(1..).and_then(|inside| quoted(inside, quote)).ok_or(text)?
        }
        _ => {
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            return named(name, before_comment(line), after).ok_or(text);
        }
    };
    let after = rest.trim_start_matches(is_blank);
    // After a closing quote only a comment may follow.
    let clean = after.is_empty() || after.starts_with(['#', '\n', '\r']);
    let found = clean.then(|| named(name, value, after_line(after))).flatten();
    found.ok_or(after)
}

fn named<'t>(name: &str, value: String, after: &'t str) -> Option<(String, String, &'t str)> {
    (!name.is_empty()).then(|| (name.to_owned(), value, after))
}

/// An unquoted value: up to a blank followed by `#`.
fn before_comment(line: &str) -> String {
    let comment = line
        .char_indices()
        .zip(line.chars().skip(1))
        .find(|((_, c), next)| c.is_whitespace() && *next == '#')
        .map(|((at, _), _)| at);
    comment.and_then(|at| line.get(..at)).unwrap_or(line).trim_end().to_owned()
}

/// The text up to the closing quote with its escapes undone, and what follows the quote.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some((value, text.get(at + 1..)?));
        }
        if c != '\\' {
            value.push(c);
            continue;
        }
        let (_, escaped) = chars.next()?;
        match (quote, escaped) {
            (_, '\\' | '\'') => value.push(escaped),
            ('"', '"') => value.push('"'),
            ('"', 'n') => value.push('\n'),
            ('"', 'r') => value.push('\r'),
            ('"', 't') => value.push('\t'),
            _ => value.extend(['\\', escaped]),
        }
    }
    None
}

/// Replaces `${NAME}` and `${NAME:-default}` by earlier values of the same file.
fn expand(value: &str, values: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else {
            break;
        };
        let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
        expanded.push_str(before);
        expanded.push_str(values.get(name).map_or(default, String::as_str));
        rest = after;
    }
    expanded + rest
}

fn after_line(text: &str) -> &str {
    text.find('\n').and_then(|at| text.get(at..)).unwrap_or_default()
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n' && c != '\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Option<String> {
        parse(line).values.remove("K")
    }

    #[test]
    fn values_are_read_as_python_dotenv_reads_them() {
        for (line, value) in [
            ("K=plain", "plain"),
            ("export K=plain", "plain"),
            ("  K = spaced out  ", "spaced out"),
            ("K=", ""),
            ("K=pa$$word$x", "pa$$word$x"),
            ("K=a#b", "a#b"),
            ("K=#b", "#b"),
            ("K=a b # comment", "a b"),
            ("K=a\t#comment", "a"),
            ("K='single $x #no'", "single $x #no"),
            (r"K='it\'s'", "it's"),
            (r#"K="double \"q\" \n#no" # comment"#, "double \"q\" \n#no"),
            ("K=\"two\nlines\"", "two\nlines"),
            ("'K'=x", "x"),
            ("K=first\nK=second", "second"),
            ("A=1\nK=x${A}y${B:-d}${C}", "x1yd"),
            ("K=${unclosed", "${unclosed"),
            ("\u{feff}K=bom", "bom"),
            ("K=crlf\r\nL=1", "crlf"),
            ("K=\"quoted\"\r\nL=1", "quoted"),
        ] {
            assert_eq!(one(line).as_deref(), Some(value), "{line}");
        }
    }

    #[test]
    fn lines_that_assign_nothing_are_skipped() {
        let read = parse("# K=no\nword\n=x\nK # why\nA='open\nB=\"x\" y\nC=1\n\nD=2\ntwo words");
        let names: Vec<&str> = read.values.keys().map(String::as_str).collect();
        assert_eq!((names, read.broken), (vec!["C", "D"], vec![3, 5, 6, 10]));
        // An open quote ends at the next one, wherever that is.
        let read = parse("A=\"open\nB=\"x\"\nC=1");
        assert_eq!(
            (read.values.into_keys().collect(), read.broken),
            (vec!["C".to_owned()], vec![1])
        );
        assert!(parse("").values.is_empty() && parse("\n\n").broken.is_empty());
    }
}
