//! `cargo xtask test --list-faults`: the fault cases, asked of the tests themselves.

use anyhow::{Result, ensure};

use crate::cmd;
use crate::workspace::Workspace;

/// The test that knows them, and the variable that makes it print them.
const TEST: &str = "faults::list::every_fault_has_one_name_and_every_column";
const VARIABLE: &str = "KANBAN_GATEWAY_LIST_FAULTS";
const MARK: &str = "fault\t";

/// Prints one line for each case, its columns between bars.
pub fn list(workspace: &Workspace) -> Result<()> {
    let line = format!("test --quiet --package tests --test it -- --exact {TEST} --nocapture");
    let said = cmd::capture(cmd::cargo(workspace, &line).env(VARIABLE, "1"))?;
    let cases: Vec<String> = said.lines().filter_map(columns).collect();
    ensure!(!cases.is_empty(), "the test `{TEST}` listed nothing");
    for case in &cases {
        println!("{case}");
    }
    eprintln!("{} fault cases", cases.len());
    Ok(())
}

/// The runner may have written on the same line before.
fn columns(line: &str) -> Option<String> {
    let (_, columns) = line.split_once(MARK)?;
    Some(columns.split('\t').collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn a_case_is_found_wherever_its_line_begins() {
        assert_eq!(columns("test x ... fault\ta\tb").as_deref(), Some("a | b"));
        assert_eq!(columns("test result: ok"), None);
    }
}
