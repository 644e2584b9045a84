//! The list of all fault cases, made of what the tests run; `cargo xtask test --list-faults` prints it.

use std::{collections::BTreeSet, path::Path};

use super::{
    cases,
    registry::{KNOWN, Known},
};

/// Set, the list is printed, each line after this word and a tab.
const VARIABLE: &str = "KANBAN_GATEWAY_LIST_FAULTS";
const MARK: &str = "fault";

struct Line {
    name: String,
    injected: String,
    verdict: String,
    outcome: String,
    cites: String,
}

fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    // Both walks take every case of this table, and nothing else.
    for case in cases::all("http://elsewhere.example") {
        lines.push(Line {
            name: case.name.to_owned(),
            injected: case.injected,
            verdict: case.verdict.to_owned(),
            outcome: case.outcome.words(),
            cites: case.cites.to_owned(),
        });
    }
    for known in KNOWN {
        for (test, injected, verdict, outcome) in known.entries {
            let cites = cited(test);
            lines.push(Line {
                name: (*test).to_owned(),
                injected: (*injected).to_owned(),
                verdict: (*verdict).to_owned(),
                outcome: (*outcome).to_owned(),
                cites: if cites.is_empty() { known.cites.to_owned() } else { cites },
            });
        }
    }
    lines
}

/// The laws and reports that a test's name begins with.
fn cited(test: &str) -> String {
    let mut words = test.split('_');
    let mut cited = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "report" => cited.push(format!("report_{}", words.next().unwrap_or_default())),
            law if is_law(&law.to_uppercase()) => cited.push(law.to_uppercase()),
            _ => break,
        }
    }
    cited.join(", ")
}

fn is_law(word: &str) -> bool {
    let (letter, number) = word.split_at(word.len().min(1));
    "ABDFOSW".contains(letter) && number.parse::<u8>().is_ok()
}

fn is_cited(cites: &str) -> bool {
    cites.split(", ").all(|cite| match cite.strip_prefix("report_") {
        Some(row) => row.parse::<u16>().is_ok(),
        None => is_law(cite),
    })
}

#[test]
fn every_fault_has_one_name_and_every_column() {
    let lines = lines();
    let listed = std::env::var_os(VARIABLE).is_some();
    let mut names = BTreeSet::new();
    for Line { name, injected, verdict, outcome, cites } in &lines {
        assert!(names.insert(name), "{name} is there twice");
        assert!(is_cited(cites), "{name}: {cites:?}");
        let columns = [name, injected, verdict, outcome, cites];
        for column in columns {
            assert!(!column.trim().is_empty(), "{name}");
            assert!(!column.contains(['\t', '\n', '\r']), "{name}: {column:?}");
        }
        if listed {
            println!("{MARK}\t{}", columns.map(String::as_str).join("\t"));
        }
    }
    assert!(lines.len() >= 150, "{}", lines.len());
}

/// A test that is gone, or one that nobody entered, is found here.
#[test]
fn the_registry_has_the_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for Known { file, entries, .. } in KNOWN {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let there = tests(&text);
        assert!(!there.is_empty(), "{file} has no test");
        let mut entered = BTreeSet::new();
        for (name, ..) in *entries {
            let (test, value) = name.split_once('/').unwrap_or((name, ""));
            let tried = value.is_empty() || moments(&text).contains(&value);
            assert!(tried, "{file}: {test} tries no {value}");
            entered.insert(test);
        }
        assert_eq!(there, entered, "{file}");
    }
}

/// The values of a source's `MOMENTS`.
fn moments(text: &str) -> Vec<&str> {
    let list = text
        .split_once("const MOMENTS")
        .and_then(|(_, rest)| rest.split_once(';')?.1.split_once(';'));
    let list = list.map_or("", |(list, _)| list);
    list.split("Moment::").skip(1).map(|word| word.trim_matches([',', ' ', '\n', ']'])).collect()
}

/// The names of the tests in a source that are run.
fn tests(text: &str) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in text.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        is_ignored |= line.starts_with("#[ignore");
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if let Some((name, _)) = function.and_then(|rest| rest.split_once('(')) {
            if is_test && !is_ignored {
                tests.insert(name);
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    tests
}

#[test]
fn tests_are_found_and_ignored_ones_are_not() {
    let text = "#[test]\nfn a() {}\nfn b() {}\n#[tokio::test(start_paused = true)]\n/// x\n\
                async fn c() {}\n#[test]\n#[ignore = \"slow\"]\nfn d() {}\n";
    assert_eq!(tests(text), ["a", "c"].into());
}
