//! Rules for the text of every file, whatever language it is in.

use super::Problem;

/// Whether it is a text file that people of this project write.
pub fn is_ours(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with(".ci/")
        || matches!(name.rsplit_once('.'), Some((_, "rs" | "toml" | "md" | "sql" | "sh" | "py")))
}

/// White space, the end of the file, and words that mean something on one machine only.
pub fn check(path: &str, content: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in content.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            problems.push(Problem::line(path, index, "has white space at its end"));
        }
        if path.ends_with(".rs") && line.contains('\t') {
            problems.push(Problem::line(path, index, "has a tab"));
        }
        if let Some(word) = FOREIGN.iter().find(|word| names(line, word)) {
            problems.push(Problem::line(path, index, format!("names `{word}`: of one machine")));
        }
    }
    if !content.is_empty() && !content.ends_with('\n') {
        problems.push(Problem::file(path, "does not end with a line break"));
    }
    problems
}

/// Home folders: a path that begins in one is true on one machine only. Written in parts, so that this
/// file does not hold what it looks for.
const FOREIGN: [&str; 2] = [concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// An absolute path counts where it begins: the same letters inside a longer path do not.
fn names(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let word = word.to_lowercase();
    line.match_indices(&word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !word.starts_with('/')
            || !before.is_some_and(|c| c.is_alphanumeric() || "._~-/*}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_at_the_end_of_a_line_is_found() {
        assert_eq!(check("a.md", "x \n"), [Problem::line("a.md", 0, "has white space at its end")]);
        assert_eq!(check("a.rs", "x\r\n").len(), 0, "lines() takes the whole line break");
        assert!(check("a.md", "x\n\ty\n").is_empty());
    }

    #[test]
    fn tabs_are_found_in_rust() {
        assert_eq!(check("a.rs", "\tx\n").len(), 1);
    }

    #[test]
    fn a_missing_line_break_at_the_end_is_found() {
        assert_eq!(check("a.toml", "x").len(), 1);
        assert!(check("a.toml", "").is_empty());
    }

    #[test]
    fn words_of_one_machine_are_found() {
        for word in FOREIGN {
            assert_eq!(check("a.md", &format!("see {word}x\n")).len(), 1, "{word}");
        }
        assert!(check("a.md", &format!("~/x{}y\n", FOREIGN[1])).is_empty());
    }

    #[test]
    fn only_text_is_looked_at() {
        assert!(is_ours("a/b.rs") && is_ours(".ci/run") && is_ours("README.md"));
        assert!(!is_ours("tests/data/board.db") && !is_ours("Cargo.lock"));
    }
}
