//! Rules for Rust sources.

use super::{Problem, lexer};

/// All rules on one file; `path` is relative to the root.
pub fn check(path: &str, content: &str) -> Vec<Problem> {
    let code = lexer::code_only(content);
    let mut problems = Vec::new();
    problems.extend(opening(path, content));
    problems.extend(length(path, content));
    problems.extend(attributes(path, &code));
    problems.extend(unsafe_code(path, &code));
    problems.extend(board_files(path, &code));
    problems.extend(sleeping(path, content, &code));
    problems
}

const LINES: usize = 400;

/// Generated, so its length is not ours to choose.
const GENERATED: &str = "kanban-store/src/ledger/schema.rs";

/// The one file that talks to SQLite behind Diesel's back.
const UNSAFE: &str = "kanban-store/src/board/close_guard.rs";

const BOARD: &str = "kanban-store/src/board/";

/// Reads what lies beside a board and is no database; clippy wants a reason for each call there.
const BOARD_FILES: &str = "kanban-store/src/board/file.rs";

/// Closing any handle on a file drops every lock that this process has on it, SQLite's included.
const OPENING: [&str; 8] = [
    "File::open",
    "File::create",
    "OpenOptions",
    "fs::read",
    "fs::read_to_string",
    "fs::write",
    "fs::copy",
    "fs::File",
];

fn opening(path: &str, content: &str) -> Option<Problem> {
    let crate_doc = r#"#![doc = include_str!("../README.md")]"#;
    if path.ends_with("src/lib.rs") && content.starts_with(crate_doc) {
        return None;
    }
    let paragraph: Vec<&str> = content
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let ends = paragraph.last().map(|line| line.trim_end_matches(['`', ')', '*', '"']));
    match ends {
        Some(line) if line.ends_with(['.', '!', '?', ':']) => None,
        Some(_) => Some(Problem::line(path, 0, "opens with a `//!` that is no sentence")),
        None => Some(Problem::line(path, 0, "does not open with a `//!` sentence")),
    }
}

fn length(path: &str, content: &str) -> Option<Problem> {
    let lines = content.lines().count();
    let long = lines > LINES && path != GENERATED;
    long.then(|| Problem::file(path, format!("has {lines} lines; the limit is {LINES}")))
}

/// An `expect` says when it has become needless; an `allow` stays for ever.
fn attributes(path: &str, code: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (start, _) in code.match_indices("#[").chain(code.match_indices("#![")) {
        let attribute = code.get(start..).unwrap_or("");
        let attribute = attribute.get(..closing(attribute)).unwrap_or(attribute);
        let words = attribute.replace(' ', "");
        if words.contains("[allow(") || words.contains(",allow(") {
            let index = code.get(..start).map_or(0, |before| before.matches('\n').count());
            problems.push(Problem::line(path, index, "allows a lint: `expect` it, with a reason"));
        }
    }
    problems
}

/// Where the first bracket that opens in `code` closes again.
fn closing(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        if c == '[' {
            depth = depth.saturating_add(1);
        } else if c == ']' {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    code.len()
}

fn unsafe_code(path: &str, code: &str) -> Vec<Problem> {
    if path == UNSAFE {
        return Vec::new();
    }
    lines_with(path, code, "is unsafe, outside the one file that may be", |line| {
        lexer::has_word(line, "unsafe")
    })
}

fn board_files(path: &str, code: &str) -> Vec<Problem> {
    if !path.starts_with(BOARD) || path == BOARD_FILES {
        return Vec::new();
    }
    lines_with(path, before_tests(code), "opens a file beside SQLite", |line| {
        OPENING.iter().any(|name| lexer::has_word(line, name)) || line.contains("std::fs::{")
    })
}

/// A test that sleeps is slow when it passes and fails on a slow machine. Benchmarks are no tests.
fn sleeping(path: &str, content: &str, code: &str) -> Vec<Problem> {
    let is_bench = path.contains("/benches/");
    let is_test = !is_bench && (path.starts_with("tests/") || path.contains("/tests/"));
    let from = if is_test { 0 } else { before_tests(code).lines().count() };
    let mut problems = Vec::new();
    let mut marked = false;
    let mut paused = false;
    for (index, (line, source)) in code.lines().zip(content.lines()).enumerate() {
        let marked_before = marked;
        marked = source.contains("// sleep: ");
        if line.contains("#[") && line.contains("test") {
            paused = line.contains("start_paused = true");
        }
        let sleeps = line.contains("sleep(") && lexer::has_word(line, "sleep");
        if index >= from && sleeps && !paused && !marked && !marked_before {
            let what = "sleeps in a test: pause time, or say why with `// sleep: `";
            problems.push(Problem::line(path, index, what));
        }
    }
    problems
}

/// Unit tests stand at the end of a file.
fn before_tests(code: &str) -> &str {
    let at = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
    code.get(..at).unwrap_or(code)
}

fn lines_with(path: &str, code: &str, what: &str, is_bad: impl Fn(&str) -> bool) -> Vec<Problem> {
    let bad = code.lines().enumerate().filter(|(_, line)| is_bad(line));
    bad.map(|(index, _)| Problem::line(path, index, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with a problem, for a file whose first line is in order.
    fn lines(path: &str, body: &str) -> Vec<Option<usize>> {
        check(path, &format!("//! A file.\n{body}")).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_file_opens_with_a_sentence() {
        assert_eq!(check("a/src/a.rs", "use std::fmt;\n").len(), 1);
        assert_eq!(check("a/src/a.rs", "//! No sentence\n").len(), 1);
        assert_eq!(check("a/src/a.rs", "//!\n//! Late.\n").len(), 1);
        assert!(check("a/src/a.rs", "//! One that goes\n//! on (here).\n").is_empty());
    }

    #[test]
    fn a_readme_opens_a_library_only() {
        let text = "#![doc = include_str!(\"../README.md\")]\n";
        assert!(check("a/src/lib.rs", text).is_empty());
        assert_eq!(check("a/src/a.rs", text).len(), 1);
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(lines("a/src/a.rs", &"\n".repeat(400)), [None]);
        assert!(lines("a/src/a.rs", &"\n".repeat(399)).is_empty());
        assert!(lines(GENERATED, &"\n".repeat(400)).is_empty());
    }

    #[test]
    fn an_allowed_lint_is_found() {
        let bad = "#[allow(dead_code)]\n#![allow(\n    x)]\n#[cfg_attr(test, allow(x))]\n";
        assert_eq!(lines("a/src/a.rs", bad), [Some(2), Some(5), Some(3)]);
        let good = "#[expect(dead_code, reason = \"x\")]\n// #[allow(x)]\nself.allow(x);\n";
        assert!(lines("a/src/a.rs", good).is_empty());
    }

    #[test]
    fn unsafe_code_is_found() {
        let bad = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines("a/src/a.rs", bad), [Some(3)]);
        assert!(lines(UNSAFE, bad).is_empty());
        assert!(lines("a/src/a.rs", "#![deny(unsafe_code)] // unsafe\n").is_empty());
    }

    #[test]
    fn a_file_opened_beside_sqlite_is_found() {
        let bad = ["std::fs::File::open(p)", "OpenOptions::new()", "fs::read(p)", "fs::copy(p, q)"];
        for body in bad.into_iter().chain(["fs::read_to_string(p)", "use std::fs::{self, read};"]) {
            assert_eq!(lines("kanban-store/src/board/a.rs", body).len(), 1, "{body}");
            assert!(lines(BOARD_FILES, body).is_empty());
            assert!(lines("kanban-store/src/ledger/a.rs", body).is_empty());
        }
        assert!(
            lines("kanban-store/src/board/a.rs", "fs::metadata(p); fs::read_dir(p)").is_empty()
        );
    }

    #[test]
    fn a_sleeping_test_is_found() {
        assert_eq!(lines("tests/it/a.rs", "thread::sleep(d);\n"), [Some(2)]);
        assert_eq!(lines("a/tests/it/a.rs", "time::sleep(d).await;\n"), [Some(2)]);
        let unit = "fn f() { sleep(d); }\n#[cfg(test)]\nmod tests {\n    fn t() { sleep(d); }\n}\n";
        assert_eq!(lines("a/src/a.rs", unit), [Some(5)]);
        assert!(lines("tests/benches/b/a.rs", "thread::sleep(d);\n").is_empty());
    }

    #[test]
    fn a_sleep_in_paused_time_passes() {
        let paused = "#[tokio::test(start_paused = true)]\nasync fn t() { sleep(d).await; }\n";
        assert!(lines("tests/it/a.rs", paused).is_empty());
        let next = format!("{paused}#[tokio::test]\nasync fn u() {{ sleep(d).await; }}\n");
        assert_eq!(lines("tests/it/a.rs", &next), [Some(5)]);
    }

    #[test]
    fn a_sleep_with_a_reason_passes() {
        assert!(
            lines("tests/it/a.rs", "// sleep: the child has no signal.\nsleep(d);\n").is_empty()
        );
        assert!(lines("tests/it/a.rs", "sleep(d); // sleep: as above.\n").is_empty());
    }
}
