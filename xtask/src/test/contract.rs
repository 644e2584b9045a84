//! The table that ends a run: push platforms by cases of their contract, made of what the runner told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::results::{Outcome, Results};

/// The variable that tells the tests where to say whose cases a module has.
pub const VARIABLE: &str = "KANBAN_GATEWAY_CONTRACT";

/// The modules that the contract's macros put its tests into.
const CASES: &str = "contract_cases";
const OWN_WAY: &str = "contract_own_way";

/// One row's outcome in each case, as it is shown.
type Cells<'a> = BTreeMap<&'a str, &'static str>;

/// The platform of each module, by the path that the runner tells.
pub type Owners = BTreeMap<String, String>;

/// What there is to show, and what is not as it must be.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Lines for people; empty where no case ran.
    pub text: String,
    /// Each cell that is missing or not green, in words.
    pub gaps: Vec<String>,
}

/// An empty folder for the tests to tell in.
pub fn folder(target: &Path) -> Result<std::path::PathBuf> {
    let folder = target.join("push-contract");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// What the tests told there.
pub fn owners(folder: &Path) -> Result<Owners> {
    let mut owners = Owners::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        // The test program's name stands before the path, and the macro's module behind it.
        let module = entry.file_name().to_string_lossy().into_owned();
        let path = module.split_once("::").and_then(|(_, path)| path.rsplit_once("::"));
        if let Some((path, _)) = path {
            owners.insert(path.to_owned(), fs::read_to_string(entry.path())?);
        }
    }
    Ok(owners)
}

/// The platforms that docs/PLATFORMS.md lists, which a test compares with the list in the code.
pub fn listed(docs: &str) -> Vec<&str> {
    let table = docs.lines().skip_while(|line| !line.starts_with("| platform | guarantee |"));
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

/// The table of what ran; `listed` are the platforms that must be in it.
pub fn table(results: &Results, owners: &Owners, listed: &[&str]) -> Table {
    let found: Vec<(&str, &str, &'static str)> = results.iter().filter_map(cell).collect();
    let cases: BTreeSet<&str> = found.iter().map(|(_, case, _)| *case).collect();
    let mut rows: BTreeMap<String, Cells<'_>> =
        listed.iter().map(|name| ((*name).to_owned(), Cells::new())).collect();
    for (module, case, shown) in &found {
        rows.entry(label(module, owners)).or_default().insert(case, shown);
    }
    let mut gaps = Vec::new();
    for (name, cells) in &rows {
        for case in &cases {
            let shown = cells.get(case).copied().unwrap_or(MISSING);
            if ![GREEN, OWN].contains(&shown) {
                gaps.push(format!("{name}: {}: {shown}", words(case)));
            }
        }
    }
    if cases.is_empty() {
        gaps.push("no case of the contract of push platforms ran".to_owned());
        return Table { text: String::new(), gaps };
    }
    Table { text: show(&rows, &cases), gaps }
}

/// What a module's row is called: its platform, and a name for each further way to reach that.
fn label(module: &str, owners: &Owners) -> String {
    let Some(platform) = owners.get(module) else {
        return module.to_owned();
    };
    let first = owners.iter().find(|(_, of)| *of == platform).map(|(path, _)| path.as_str());
    match module.rsplit_once("::") {
        Some((_, way)) if first != Some(module) => format!("{platform}, {way}"),
        _ => platform.clone(),
    }
}

const GREEN: &str = "ok";
const OWN: &str = "own";
const MISSING: &str = "-";

/// The module, the case and what to show, if the test is a case of the contract.
fn cell((path, outcome): (&str, Outcome)) -> Option<(&str, &str, &'static str)> {
    let (place, case) = path.rsplit_once("::")?;
    let (module, kind) = place.rsplit_once("::")?;
    let shown = match (outcome, kind) {
        (Outcome::Passed, CASES) => GREEN,
        (Outcome::Passed, OWN_WAY) => OWN,
        (Outcome::Failed, CASES | OWN_WAY) => "FAILED",
        (Outcome::Ignored, CASES | OWN_WAY) => "ignored",
        _ => return None,
    };
    Some((module, case, shown))
}

fn words(case: &str) -> String {
    case.replace('_', " ")
}

fn show(rows: &BTreeMap<String, Cells<'_>>, cases: &BTreeSet<&str>) -> String {
    let width = rows.keys().map(String::len).max().unwrap_or_default();
    let all = rows.values().flat_map(BTreeMap::values).copied().chain([GREEN]);
    let cell = all.map(str::len).max().unwrap_or_default();
    let mut text = "push platforms by contract case\n".to_owned();
    let _ = write!(text, "{:width$}", "");
    for number in 1..=cases.len() {
        let _ = write!(text, " {number:>cell$}");
    }
    for (name, cells) in rows {
        let _ = write!(text, "\n{name:width$}");
        for case in cases {
            let _ = write!(text, " {:>cell$}", cells.get(case).copied().unwrap_or(MISSING));
        }
    }
    text.push('\n');
    for (at, case) in cases.iter().enumerate() {
        let _ = writeln!(text, "{:>4}: {}", at.saturating_add(1), words(case));
    }
    if rows.values().any(|cells| cells.values().any(|shown| *shown == OWN)) {
        text.push_str(
            " own: passed, by a test of the platform's own: it is another kind of thing\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(lines: &[&str]) -> Results {
        let mut results = Results::default();
        lines.iter().for_each(|line| results.add(line));
        results
    }

    #[test]
    fn the_platforms_are_those_of_the_first_table_alone() {
        let docs = "# x\n\n| platform | guarantee | keys |\n|---|---|---|\n| `a` | `b` | c |\n\
                    | `d_e` | f |\n\ntext\n| `g` | h |\n";
        assert_eq!(listed(docs), ["a", "d_e"]);
        let docs = include_str!("../../../docs/PLATFORMS.md");
        let there = listed(docs);
        assert!(there.contains(&"telegram") && there.contains(&"email"), "{there:?}");
    }

    fn owners(all: &[(&str, &str)]) -> Owners {
        all.iter()
            .map(|(module, platform)| ((*module).to_owned(), (*platform).to_owned()))
            .collect()
    }

    #[test]
    fn each_cell_is_what_the_runner_told() {
        let results = results(&[
            "test push::a::contract_cases::x_y ... ok",
            "test push::a::contract_cases::z ... ok",
            "test push::a::hook::contract_cases::z ... ok",
            "test push::a::hook::contract_own_way::x_y ... ok",
            "test push::b::service::contract_cases::x_y ... ok",
            "test push::b::service::contract_cases::z ... ok",
            "test push::a::report_1_something_else ... FAILED",
        ]);
        let owners =
            owners(&[("push::a", "a"), ("push::a::hook", "a"), ("push::b::service", "b_c")]);
        let table = table(&results, &owners, &["a", "b_c"]);
        assert!(table.gaps.is_empty(), "{table:?}");
        let lines: Vec<&str> = table.text.lines().collect();
        assert_eq!(
            lines,
            [
                "push platforms by contract case",
                "          1   2",
                "a        ok  ok",
                "a, hook own  ok",
                "b_c      ok  ok",
                "   1: x y",
                "   2: z",
                " own: passed, by a test of the platform's own: it is another kind of thing",
            ]
        );
    }

    #[test]
    fn what_is_missing_failed_or_left_out_is_a_gap() {
        let results = results(&[
            "test push::a::contract_cases::x ... ok",
            "test push::a::contract_cases::y ... FAILED",
            "test push::b::contract_cases::x ... ignored, later",
        ]);
        let owners = owners(&[("push::a", "a"), ("push::b", "b")]);
        let table = table(&results, &owners, &["a", "b", "c"]);
        let gaps = ["a: y: FAILED", "b: x: ignored", "b: y: -", "c: x: -", "c: y: -"];
        assert_eq!(table.gaps, gaps);
        assert!(table.text.contains("\nc       -       -\n"), "{}", table.text);
    }

    #[test]
    fn a_run_without_any_case_is_a_gap_and_no_table() {
        let table = table(&results(&["test a ... ok"]), &Owners::new(), &["a"]);
        assert_eq!((table.text.as_str(), table.gaps.len()), ("", 1));
    }

    #[test]
    fn modules_are_told_by_the_files_that_their_tests_wrote() {
        let target = std::env::temp_dir().join(format!("kgw-contract-{}", std::process::id()));
        let there = folder(&target).unwrap();
        fs::write(there.join("it::push::a::hook::contract_cases"), "a").unwrap();
        assert_eq!(super::owners(&there).unwrap(), owners(&[("push::a::hook", "a")]));
        assert!(super::owners(&folder(&target).unwrap()).unwrap().is_empty());
        fs::remove_dir_all(target).unwrap();
    }
}
