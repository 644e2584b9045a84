//! `cargo xtask tidy`: the house rules that no compiler knows.

mod layout;
pub mod lexer;
mod manifest;
mod rust;
mod text;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// One broken rule, with where.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    path: String,
    line: Option<usize>,
    what: String,
}

impl Problem {
    /// About a whole file, or one that is missing.
    pub fn file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    /// About one line; `index` counts from 0, as `enumerate` does.
    pub fn line(path: &str, index: usize, what: impl Into<String>) -> Self {
        let line = Some(index.saturating_add(1));
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

/// Prints every problem, not only the first.
pub fn run(workspace: &Workspace) -> Result<()> {
    let files = workspace.files()?;
    let mut problems = layout::check(&files);
    for path in files.iter().filter(|path| text::is_ours(path)) {
        let Some(content) = workspace.text(path)? else {
            problems.push(Problem::file(path, "is not UTF-8"));
            continue;
        };
        problems.extend(text::check(path, &content));
        if path.ends_with(".rs") {
            problems.extend(rust::check(path, &content));
        }
    }
    for member in &workspace.members {
        let path = workspace.relative(member.manifest_path.as_std_path()).display().to_string();
        if let Some(content) = workspace.text(&path)? {
            problems.extend(manifest::check(&path, &content)?);
        }
    }
    if problems.is_empty() {
        eprintln!("tidy: {} files obey", files.len());
        return Ok(());
    }
    for Problem { path, line, what } in &problems {
        match line {
            Some(line) => eprintln!("{path}:{line}: {what}"),
            None => eprintln!("{path}: {what}"),
        }
    }
    bail!("{} untidy places", problems.len());
}
