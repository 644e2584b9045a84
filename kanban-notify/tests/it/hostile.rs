//! Whatever a board holds: texts are bounded, single lines, ours where they must be, and nothing panics
//! (laws B2, W9).

use kanban_notify::{
    event::{Event, Kind, Task},
    facts::{HANDOFF_CHARS, NAME_CHARS, TITLE_CHARS, facts, facts_and_cut},
    ids::EventId,
    record::Facts,
    text::{ping, wake},
    time::Timestamp,
    verdict::Detail,
};
use proptest::prelude::*;

/// How many cases are tried: so many, or as many as `KANBAN_GATEWAY_TEST_CASES` says.
#[expect(clippy::disallowed_methods, reason = "the number of cases is no setting of the domain")]
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("KANBAN_GATEWAY_TEST_CASES").ok();
    let cases = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual);
    println!("{cases} cases");
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What somebody would write who wants to pass for us, or to harm a terminal.
const PIECES: [&str; 24] = [
    "[kanban]",
    "[KAN\u{200b}BAN]",
    "kgw:0123",
    "k\u{200d}gw:0123",
    "\nReference: kgw:ffff",
    "\r\n",
    "\n\n",
    "\u{1b}[31m",
    "\u{9b}2J",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\"",
    "\u{201d}",
    "```",
    "Task t_1 was completed.",
    "\\ud800",
    "\u{e0041}",
    "1. Task t_9",
    "\t",
];

/// A text of any kind.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z ]{0,40}",
        1 => (0_usize..4).prop_map(|n| "long ".repeat(10_usize.pow(u32::try_from(n).unwrap()))),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// JSON, broken JSON, or none at all.
fn payload() -> impl Strategy<Value = Option<String>> {
    let key = prop::sample::select(vec![
        "summary",
        "reason",
        "error",
        "status",
        "kind",
        "reviewer",
        "implementer",
        "failures",
        "limit_seconds",
        "budget_used",
        "budget_max",
        "recurrences",
    ]);
    let value = prop_oneof![
        6 => text().prop_map(serde_json::Value::from),
        1 => any::<i64>().prop_map(serde_json::Value::from),
        1 => any::<f64>().prop_map(serde_json::Value::from),
        1 => Just(serde_json::Value::Null),
        1 => text().prop_map(|text| serde_json::json!([text, {"summary": text}])),
    ];
    let object = prop::collection::btree_map(key, value, 0..6);
    let whole = object.prop_map(|fields| serde_json::json!(fields).to_string());
    let broken =
        (whole.clone(), any::<prop::sample::Index>(), text()).prop_map(|(whole, at, more)| {
            let mut at = at.index(whole.len() + 1);
            while !whole.is_char_boundary(at) {
                at -= 1;
            }
            format!("{}{more}{}", &whole[..at], &whole[at..])
        });
    prop_oneof![4 => whole.prop_map(Some), 2 => broken.prop_map(Some), 1 => text().prop_map(Some), 1 => Just(None)]
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(Kind::READ.map(|(kind, _)| kind).to_vec());
    let cut = prop::option::weighted(0.3, any::<u64>());
    (kind, payload(), cut, text(), any::<i64>(), any::<Option<i64>>()).prop_map(
        |(kind, payload, payload_cut, task, at, run)| Event {
            id: EventId(at),
            task,
            kind,
            payload,
            payload_cut,
            run,
            created_at: Timestamp::from_secs(at),
        },
    )
}

fn task() -> impl Strategy<Value = Task> {
    (text(), text(), prop::option::of(text()), prop::option::of(text()), any::<Option<i64>>())
        .prop_map(|(id, title, assignee, result, max_runtime_seconds)| Task {
            id,
            title,
            assignee,
            result,
            max_runtime_seconds,
            ..Task::default()
        })
}

/// Nothing that breaks a line, controls a terminal, turns text around, or passes for us.
fn assert_tame(text: &str, most: usize) {
    assert!(text.chars().count() <= most, "{} characters: {text:?}", text.chars().count());
    let wild = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '"')
    };
    assert!(!text.contains(wild), "{text:?}");
    let folded = text.to_ascii_lowercase();
    assert!(!folded.contains("[kanban]") && !folded.contains("kgw:"), "{text:?}");
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn w9_what_is_told_of_an_event_is_tame(event in event(), task in prop::option::of(task())) {
        let (facts, cut) = facts_and_cut(&event, task.as_ref());
        assert_tame(&facts.task, 64);
        assert_tame(&facts.title, TITLE_CHARS);
        assert_tame(facts.handoff.as_deref().unwrap_or_default(), HANDOFF_CHARS);
        assert_tame(facts.assignee.as_deref().unwrap_or_default(), NAME_CHARS);
        for (_, value) in &facts.notes {
            assert_tame(value, 64);
        }
        prop_assert!(event.payload_cut.is_none() || cut.is_some());
        // The same event is told in the same way each time it is read.
        prop_assert_eq!(facts_and_cut(&event, task.as_ref()), (facts, cut));
    }

    #[test]
    fn w9_b2_details_are_tame(text in text()) {
        let detail = Detail::new(&text);
        prop_assert!(detail.as_str().chars().count() <= Detail::MAX_CHARS);
        let wild = |c: char| c.is_control() || c == '\u{202e}';
        prop_assert!(!detail.as_str().contains(wild));
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn w9_w6_a_wake_is_ours_from_its_marker_to_its_reference(
        events in prop::collection::vec((event(), prop::option::of(task()), text()), 1..12),
        most in 0_usize..20_000,
        repeat: bool,
    ) {
        let all: Vec<(Facts, &str)> = events
            .iter()
            .map(|(event, task, board)| (facts(event, task.as_ref()), board.as_str()))
            .collect();
        let members: Vec<(&Facts, &str)> = all.iter().map(|(facts, board)| (facts, *board)).collect();
        let told = wake::text(&members, |named| format!("kgw:{named:08x}"), repeat, most);
        prop_assert!(told.named >= 1 && told.named <= members.len());
        // One is named however small the bound is, and a single one has a bound of its own.
        prop_assert!(told.named == 1 || told.text.len() <= most, "{} of {most}", told.text.len());
        prop_assert!(told.text.len() <= most.max(640) + 4 * (64 + TITLE_CHARS + HANDOFF_CHARS + 4 * NAME_CHARS + 200));
        let lines: Vec<&str> = told.text.split('\n').collect();
        let reference = format!("Reference: kgw:{:08x}", told.named);
        prop_assert_eq!(lines.last().copied(), Some(reference.as_str()));
        prop_assert!(told.text.starts_with("[kanban] "));
        let folded = told.text.to_ascii_lowercase();
        prop_assert_eq!((folded.matches("[kanban]").count(), folded.matches("kgw:").count()), (1, 1));
        for phrase in ["not a request to decompose", "do not recreate"] {
            prop_assert_eq!(told.text.matches(phrase).count(), 1);
        }
        let named = lines.iter().filter(|line| {
            let line = line.strip_prefix("[kanban] ").unwrap_or(line);
            line.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').starts_with("Task ")
        });
        prop_assert_eq!(named.count(), told.named);
        let wild = |c: char| c.is_control() && c != '\n';
        prop_assert!(!told.text.contains(wild));
    }

    #[test]
    fn w9_a_ping_is_a_few_lines_and_names_its_task_last(
        event in event(), task in prop::option::of(task()), board in text(), repeat: bool,
    ) {
        let facts = facts(&event, task.as_ref());
        let told = ping::text(&facts, &board, repeat);
        prop_assert!(told.chars().count() <= 64 + TITLE_CHARS + HANDOFF_CHARS + 4 * NAME_CHARS + 300);
        prop_assert!(told.split('\n').count() <= 7, "{told}");
        let wild = |c: char| c.is_control() && c != '\n';
        prop_assert!(!told.contains(wild));
        let named = format!("\n({} on ", facts.task);
        prop_assert_eq!(told.matches(named.as_str()).count(), 1);
    }
}
