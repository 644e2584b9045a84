//! What a pass holds in memory is bounded, whatever a board holds; and nothing is left out for that.

use kanban_store::board::{Mark, PassQuery};

use crate::support::{TestBoard, chats, ids, tail};

/// What a pass reads of a payload.
const HEAD: usize = 16_384;

#[test]
fn b2_of_a_long_payload_the_beginning_is_read() {
    let mut test = TestBoard::new();
    test.task("t_1");
    let insert = |payload: &str| {
        format!(
            "INSERT INTO task_events (task_id, kind, payload, created_at) \
             VALUES ('t_1', 'completed', {payload}, 200);"
        )
    };
    let payloads = [
        format!("printf('%.*c', {HEAD}, 'x')"),
        format!("printf('%.*c', {}, 'x')", HEAD + 1),
        // The cut goes through a character.
        format!("'x' || replace(printf('%.*c', {HEAD}, 'x'), 'x', 'ü')"),
        "printf('%.*c', 5000000, 'x')".to_owned(),
        "zeroblob(100000)".to_owned(),
        "CAST(zeroblob(5000000) AS TEXT)".to_owned(),
    ];
    test.run(&payloads.iter().map(|payload| insert(payload)).collect::<String>());
    let mut board = test.open();
    let pass = board.read(&tail(&Mark::default())).unwrap();
    let read = |at: usize| {
        let event = &pass.events[at];
        (event.payload.as_ref().map(String::len), event.payload_cut)
    };
    assert_eq!(read(0), (Some(HEAD), None));
    assert_eq!(read(1), (Some(HEAD), Some(16_385)));
    assert_eq!(read(2).1, Some(32_769));
    assert!(pass.events[2].payload.as_ref().unwrap().starts_with("xüü"));
    assert_eq!(read(3), (None, Some(5_000_000)));
    assert_eq!(read(4), (None, Some(100_000)));
    assert_eq!(read(5), (None, Some(5_000_000)));
    // B6: the print of what is read as a whole elsewhere does not depend on how much a pass reads.
    let next = board.read(&tail(&pass.next)).unwrap();
    assert!(next.replaced.is_none() && next.events.is_empty());
    for id in 1..=6 {
        let mark =
            Mark { event: id, event_print: board.event_print(id).unwrap(), ..Mark::default() };
        assert!(board.read(&tail(&mark)).unwrap().replaced.is_none(), "event {id}");
    }
}

#[test]
fn b6_a_long_payload_that_was_changed_is_noticed() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    for size in [100_000, 5_000_000] {
        test.run(&format!("UPDATE task_events SET payload = printf('%.*c', {size}, 'x')"));
        let mut board = test.open();
        let mark = board.read(&tail(&Mark::default())).unwrap().next;
        test.run("UPDATE task_events SET payload = payload || 'y'");
        assert!(board.read(&tail(&mark)).unwrap().replaced.is_some(), "{size}");
    }
}

#[test]
fn b2_a_name_that_is_too_long_spoils_its_row_alone() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "good", 0);
    let long = "c".repeat(5_000);
    test.subscribe("t_1", &long, 0);
    test.run(&format!(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at) VALUES
         ('{long}', 'api_server', 'x', 150), ('t_1', '{long}', 'x', 150);
         INSERT INTO task_events (task_id, kind, created_at) VALUES ('{long}', 'completed', 200);
         UPDATE tasks SET title = '{}', result = printf('%.*c', 100000, 'x')",
        "t".repeat(9_000)
    ));
    test.event("t_1", "completed");
    let mut board = test.open();
    let pass = board.read(&tail(&Mark::default())).unwrap();
    assert_eq!((ids(&pass), chats(&pass)), (vec![2], vec!["good"]));
    let spoilt: Vec<String> = pass.spoilt.iter().map(|(n, why)| format!("{n}: {why}")).collect();
    assert_eq!(spoilt.len(), 4, "{spoilt:?}");
    assert!(spoilt.iter().all(|line| line.ends_with("is too long") && line.len() < 400));
    assert_eq!(
        (pass.tasks[0].title.len(), pass.tasks[0].result.as_ref().unwrap().len()),
        (8_192, 8_192)
    );
}

#[test]
fn b2_what_events_are_is_listed_without_what_they_carry() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.run(
        "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES
         ('t_1', 'completed', printf('%.*c', 5000000, 'x'), 100), ('t_2', 'blocked', NULL, 200),
         ('t_1', 'heartbeat', printf('%.*c', 200000, 'x'), 300), ('t_1', 'status', '{}', 400),
         ('t_1', 'crashed', '{}', 'never')",
    );
    let mut board = test.open();
    let mut listed = |task, after| {
        let events = board.event_stamps(task, after).unwrap().into_iter();
        events.map(|event| (event.id, event.kind, event.created_at)).collect::<Vec<_>>()
    };
    let (first, second, last) = (
        (1, "completed".to_owned(), 100),
        (2, "blocked".to_owned(), 200),
        (4, "status".to_owned(), 400),
    );
    assert_eq!(listed(None, 0), [first.clone(), second, last.clone()]);
    assert_eq!(listed(Some("t_1"), 0), [first, last.clone()]);
    assert_eq!(listed(Some("t_1"), 1), [last]);
}

/// Reads everything as a reader does who knows where each task goes on.
#[test]
fn f2_more_events_than_a_pass_has_room_for_come_in_parts_without_a_gap() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "late", 0);
    test.subscribe("t_1", "cursor", 5);
    test.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO task_events (task_id, kind, created_at)
         SELECT iif(i % 10, 't_1', 't_' || i), 'completed', iif(i <= 3000, 100, 200) FROM n;
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at)
         SELECT DISTINCT task_id, 'api_server', 'other', 100 FROM task_events WHERE task_id <> 't_1'",
    );
    let mut board = test.open();
    let mut seen = Vec::new();
    let mut wanted = PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) };
    let mut passes = 0;
    loop {
        let pass = board.read(&wanted).unwrap();
        passes += 1;
        assert!(pass.events.len() <= 100 + 2 * 1_024, "{} events", pass.events.len());
        let own: Vec<i64> =
            pass.events.iter().filter(|event| event.task == "t_1").map(|event| event.id).collect();
        let part = pass.parts.iter().find(|part| part.task == "t_1");
        if let Some(part) = part {
            // Nothing between the range's ends is missing, and nothing lies outside of it.
            let above = part.above.unwrap_or(0);
            let last = part.up_to.unwrap_or(5_000);
            let expected: Vec<i64> = (above + 1..=last).filter(|id| id % 10 != 0).collect();
            assert_eq!(own, expected);
            // F3: what is older than the row, although it is not shown yet.
            assert_eq!(part.history, [(1, 2_999)]);
        }
        seen.extend(ids(&pass));
        wanted.resume = pass
            .parts
            .iter()
            .filter_map(|part| Some((part.task.clone(), Some(part.up_to?))))
            .collect();
        let more = pass.more || !wanted.resume.is_empty();
        wanted.after = pass.next;
        wanted.sweep_above = pass.sweep_from;
        if !more {
            break;
        }
        assert!(passes < 200);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (1..=5_000).collect::<Vec<i64>>());

    // A task that is left out is left out altogether, until it has a new row.
    test.event("t_1", "blocked");
    let other = test.event("t_10", "blocked");
    let aside = PassQuery { resume: vec![("t_1".into(), None)], ..tail(&wanted.after) };
    let pass = board.read(&aside).unwrap();
    assert!(pass.parts.is_empty() && ids(&pass).contains(&other));
    assert!(pass.events.iter().all(|event| event.task == "t_10"));
    test.subscribe("t_1", "new", 0);
    let pass = board.read(&aside).unwrap();
    assert!(pass.parts.iter().any(|part| part.task == "t_1" && part.above.is_none()));
}

#[test]
fn d4_a_task_with_a_long_story_holds_up_no_other() {
    let mut test = TestBoard::new();
    for task in ["t_long", "t_short"] {
        test.subscribe(task, "chat", 0);
    }
    test.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
         INSERT INTO task_events (task_id, kind, created_at) SELECT 't_long', 'blocked', 200 FROM n",
    );
    let short = test.event("t_short", "completed");
    let mut board = test.open();
    let first = board.read(&PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) }).unwrap();
    assert!(!ids(&first).contains(&short) && first.parts.len() == 2);
    let resume = vec![("t_long".into(), Some(1_024)), ("t_short".into(), Some(0))];
    let next = board.read(&PassQuery { resume, ..tail(&first.next) }).unwrap();
    assert!(ids(&next).contains(&short));
    assert!(next.parts.iter().any(|part| part.task == "t_long" && part.up_to.is_some()));
    assert!(next.parts.iter().any(|part| part.task == "t_short" && part.up_to.is_none()));
}
