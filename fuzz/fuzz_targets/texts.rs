//! Wakes and pings of any events: ours from the first marker to the only reference, and never too long.

#![no_main]

use fuzz::Told;
use kanban_notify::{
    facts::{HANDOFF_CHARS, NAME_CHARS, TITLE_CHARS, facts},
    record::Facts,
    text::{ping, wake},
};
use libfuzzer_sys::fuzz_target;

/// The longest entry, in characters.
const ENTRY: usize = 64 + TITLE_CHARS + HANDOFF_CHARS + 4 * NAME_CHARS + 300;

fuzz_target!(|input: (Vec<(Told, String)>, u16, bool)| {
    let (events, most, repeat) = input;
    let all: Vec<(Facts, String)> = events
        .into_iter()
        .map(|(told, board)| {
            let (event, task) = told.event();
            (facts(&event, task.as_ref()), board)
        })
        .collect();
    let members: Vec<(&Facts, &str)> =
        all.iter().map(|(facts, board)| (facts, board.as_str())).collect();
    if !members.is_empty() {
        check_wake(&members, usize::from(most), repeat);
    }
    for (facts, board) in members {
        check_ping(facts, board, repeat);
    }
});

fn check_wake(members: &[(&Facts, &str)], most: usize, repeat: bool) {
    let told = wake::text(members, |named| format!("kgw:{named:08x}"), repeat, most);
    assert!(told.named >= 1 && told.named <= members.len());
    // One is named however small the bound is.
    assert!(told.named == 1 || told.text.len() <= most, "{} of {most}", told.text.len());
    assert!(told.text.len() <= most.max(640) + 4 * ENTRY);
    assert!(told.text.starts_with("[kanban] "));
    let reference = format!("\nReference: kgw:{:08x}", told.named);
    assert!(told.text.ends_with(&reference), "{}", told.text);
    let folded = told.text.to_ascii_lowercase();
    assert_eq!((folded.matches("[kanban]").count(), folded.matches("kgw:").count()), (1, 1));
    for phrase in ["not a request to decompose", "do not recreate"] {
        assert!(told.text.contains(phrase), "{}", told.text);
    }
    let named = told.text.lines().filter(|line| {
        let line = line.strip_prefix("[kanban] ").unwrap_or(line);
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ')
            .starts_with("Task ")
    });
    assert_eq!(named.count(), told.named, "{}", told.text);
    assert!(!told.text.contains(|c: char| c.is_control() && c != '\n'), "{:?}", told.text);
}

fn check_ping(facts: &Facts, board: &str, repeat: bool) {
    let told = ping::text(facts, board, repeat);
    assert!(told.chars().count() <= ENTRY);
    assert!(told.split('\n').count() <= 7, "{told}");
    assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
    let named = format!("\n({} on ", facts.task);
    assert_eq!(told.matches(named.as_str()).count(), 1, "{told}");
}
