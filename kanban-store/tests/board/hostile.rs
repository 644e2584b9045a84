//! Boards whose cells hold anything, and files with damaged pages (law B2).

use std::{fs, path::Path, sync::LazyLock};

use kanban_store::board::{AgedQuery, Board, Mark, PassQuery, TaskFilter};
use proptest::prelude::*;

use crate::support::{TestBoard, chats, ids, tail};

/// How many cases are tried: so many, or as many as `KANBAN_GATEWAY_TEST_CASES` says.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("KANBAN_GATEWAY_TEST_CASES").ok();
    let cases = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual);
    println!("{cases} cases");
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A value of any type, as SQL.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("NULL".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        prop::sample::select(vec!["0", "1", "-1", "9223372036854775807", "-9223372036854775808"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["9e999", "-9e999", "0.5", "200.0", "1e300"])
            .prop_map(str::to_owned),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| format!("x'{}'", hex(&bytes))),
        prop::collection::vec(any::<u8>(), 0..40)
            .prop_map(|bytes| format!("CAST(x'{}' AS TEXT)", hex(&bytes))),
        any::<String>().prop_map(|text| format!("CAST(x'{}' AS TEXT)", hex(text.as_bytes()))),
        prop::sample::select(vec![
            "t_1",
            "completed",
            "api_server",
            "{",
            "[[",
            "\u{1b}[2J\u{202e}"
        ])
        .prop_map(|text| format!("'{text}'")),
        prop::sample::select(vec![4_096, 4_097, 20_000, 300_000, 5_000_000])
            .prop_map(|n| format!("printf('%.*c', {n}, 'x')")),
        prop::sample::select(vec![4_096, 4_097, 300_000]).prop_map(|n| format!("zeroblob({n})")),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A row of a table, as SQL; what the table's own constraints refuse is left out.
fn row() -> impl Strategy<Value = String> {
    const COLUMNS: [(&str, &[&str]); 3] = [
        (
            "tasks",
            &[
                "id",
                "title",
                "assignee",
                "status",
                "created_at",
                "result",
                "session_id",
                "max_runtime_seconds",
            ],
        ),
        ("task_events", &["task_id", "run_id", "kind", "payload", "created_at"]),
        (
            "kanban_notify_subs",
            &[
                "task_id",
                "platform",
                "chat_id",
                "thread_id",
                "user_id",
                "notifier_profile",
                "created_at",
                "last_event_id",
            ],
        ),
    ];
    let sane = |column: &str| match column {
        "task_id" | "id" => "'t_1'",
        "kind" => "'completed'",
        "platform" => "'api_server'",
        "chat_id" => "'chat' || abs(random())",
        "created_at" => "200",
        _ => "NULL",
    };
    (prop::sample::select(COLUMNS.to_vec()), prop::collection::vec(prop::option::of(value()), 8))
        .prop_map(move |((table, columns), values)| {
            let cells = columns
                .iter()
                .zip(values)
                .map(|(column, value)| value.unwrap_or_else(|| sane(column).to_owned()));
            let cells: Vec<String> = cells.collect();
            format!(
                "INSERT OR IGNORE INTO {table} ({}) VALUES ({});",
                columns.join(", "),
                cells.join(", ")
            )
        })
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn b2_no_cell_of_any_value_fails_a_pass_or_hides_another_row(rows in prop::collection::vec(row(), 1..20)) {
        let mut test = TestBoard::new();
        test.task("t_good");
        test.subscribe("t_good", "good", 0);
        for row in &rows {
            test.run(row);
        }
        let event = test.event("t_good", "completed");
        let mut board = test.open();
        let aged = Some(AgedQuery { before: i64::MAX, above: i64::MIN, limit: 100 });
        for sweep_above in [Some(0), None] {
            let wanted = PassQuery { sweep_above, aged, ..tail(&Mark::default()) };
            let pass = board.read(&wanted).unwrap();
            prop_assert!(ids(&pass).contains(&event) && chats(&pass).contains(&"good"));
            let most = rows.len() * 10;
            prop_assert!(pass.spoilt.len() <= most && pass.events.len() <= rows.len() + 1);
            for (name, why) in &pass.spoilt {
                prop_assert!(name.len() < 2_000 && why.len() < 200, "{name}: {why}");
            }
            prop_assert!(board.read(&tail(&pass.next)).unwrap().replaced.is_none());
        }
        let tasks = board.list_tasks(&TaskFilter { archived: true, ..TaskFilter::default() }).unwrap();
        prop_assert!(tasks.iter().any(|task| task.id == "t_good"));
        prop_assert!(board.events(None, 0, 1_000).unwrap().iter().any(|found| found.id == event));
        let (subscriptions, _) = board.subscriptions(0, 1_000).unwrap();
        prop_assert!(subscriptions.iter().any(|row| row.key.chat == "good"));
        board.overview(10).unwrap();
        board.task_details("t_1").unwrap();
        board.oldest_event().unwrap();
    }
}

/// Reads all that is read of a board; an error is an answer, and says something.
fn look(path: &Path) {
    let looked = || {
        let mut board = Board::open(path)?;
        board.oldest_event()?;
        board.sequence()?;
        let first = board.read(&PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) })?;
        board.read(&tail(&Mark::default()))?;
        board.read(&tail(&first.next))?;
        board.events(None, 0, 1_000)?;
        board.subscriptions(0, 1_000)?;
        board.overview(10)?;
        board.task_details("t_1")
    };
    if let Err(error) = looked() {
        assert!(!error.to_string().is_empty());
    }
}

/// A board in one file.
static BASE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut test = TestBoard::new();
    test.run("BEGIN");
    for n in 0..30 {
        let task = format!("t_{n}");
        test.task(&task);
        test.subscribe(&task, "chat", 0);
        test.event(&task, "completed");
    }
    let copy = test.folder.path().join("copy.db");
    test.run(&format!("COMMIT; VACUUM INTO '{}'", copy.display()));
    fs::read(copy).unwrap()
});

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn b2_a_damaged_file_is_an_error_at_the_worst(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        end in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        header: bool,
    ) {
        let mut bytes = BASE.clone();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.db");
        for (at, byte) in damage {
            let from = if header { 0 } else { 100 };
            let at = from + at.index(bytes.len() - from);
            bytes[at] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        fs::write(&copy, bytes).unwrap();
        look(&copy);
    }
}
