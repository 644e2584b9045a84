//! One pass: identity, tail, limits, spoilt rows (laws B2, B6, F2).

use kanban_store::board::{Mark, PassQuery};

use super::support::{TestBoard, chats, ids, key, tail};

#[test]
fn the_tail_reads_the_kinds_that_matter_and_steps_over_the_rest() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "a", 0);
    test.subscribe("t_1", "b", 0);
    let mut board = test.open();
    test.event("t_1", "created");
    let done = test.event("t_1", "completed");
    let beat = test.event("t_1", "heartbeat");
    let pass = board.read(&tail(&Mark::default())).unwrap();
    assert_eq!(ids(&pass), [done]);
    assert_eq!(chats(&pass), ["a", "b"]);
    assert_eq!(pass.next.event, beat);
    assert_eq!(pass.newest, beat);
    assert!(!pass.more && pass.spoilt.is_empty() && pass.replaced.is_none());

    let again = board.read(&tail(&pass.next)).unwrap();
    assert!(again.events.is_empty() && again.rows.is_empty() && again.tasks.is_empty());
    assert_eq!(again.next, pass.next);
}

#[test]
fn a_limit_cuts_events_and_rows_and_says_so() {
    let mut test = TestBoard::new();
    for task in ["t_1", "t_2", "t_3", "t_4", "t_5"] {
        test.task(task);
        test.subscribe(task, "a", 0);
    }
    let events = ["t_1", "t_2", "t_3", "t_4", "t_5"].map(|task| test.event(task, "blocked"));
    test.event("t_1", "heartbeat");
    let mut board = test.open();
    let mut mark = Mark::default();
    let mut seen = Vec::new();
    let mut passes = 0;
    loop {
        let pass = board.read(&PassQuery { limit: 2, ..tail(&mark) }).unwrap();
        assert!(pass.events.len() <= 2);
        seen.extend(ids(&pass));
        mark = pass.next;
        passes += 1;
        if !pass.more {
            break;
        }
    }
    assert_eq!(seen, events);
    assert_eq!((mark.event, mark.rowid, passes), (6, 5, 3));
}

/// Law F3: a row is judged once, so whoever sees it has to see all that it has not been told.
#[test]
fn a_row_comes_with_everything_above_its_cursor() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.task("t_2");
    let old = test.event("t_1", "completed");
    let mut board = test.open();
    let mark = board.read(&tail(&Mark::default())).unwrap().next;

    // A row made after its event was read, as older releases make them: with cursor 0.
    test.subscribe("t_1", "late", 0);
    let pass = board.read(&tail(&mark)).unwrap();
    assert_eq!((ids(&pass), chats(&pass)), (vec![old], vec!["late"]));

    // A cut neither hides a later event of a task it shows nor leaves a gap before it.
    let first = test.event("t_1", "blocked");
    let other = test.event("t_2", "blocked");
    let second = test.event("t_1", "gave_up");
    test.subscribe("t_1", "ahead", second);
    let pass = board.read(&PassQuery { limit: 1, ..tail(&pass.next) }).unwrap();
    assert_eq!(ids(&pass), [old, first, second]);
    assert_eq!((pass.more, pass.next.event), (true, first));
    let pass = board.read(&PassQuery { limit: 9, ..tail(&pass.next) }).unwrap();
    assert_eq!(ids(&pass), [old, first, other, second]);
    assert_eq!((pass.more, pass.next.event), (false, second));
}

#[test]
fn events_of_a_task_without_rows_have_no_gap_either() {
    let mut test = TestBoard::new();
    test.task("t_1");
    let events = [0, 1, 2].map(|_| test.event("t_1", "blocked"));
    let mut board = test.open();
    let pass = board.read(&PassQuery { limit: 1, ..tail(&Mark::default()) }).unwrap();
    assert_eq!(ids(&pass), events);
    assert_eq!(pass.next.event, events[0]);
}

#[test]
fn a_board_that_was_empty_at_first_sight_loses_nothing() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let first = PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) };
    let pass = board.read(&first).unwrap();
    assert_eq!(pass.next, Mark::default());
    test.task("t_1");
    let event = test.event("t_1", "completed");
    assert_eq!(ids(&board.read(&tail(&pass.next)).unwrap()), [event]);
}

#[test]
fn a_replaced_file_is_told_by_its_ids_and_by_its_events() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    let mut board = test.open();
    let mark = board.read(&tail(&Mark::default())).unwrap().next;
    assert_eq!(mark.event, 1);

    let ahead = Mark { event: 40, ..mark.clone() };
    let pass = board.read(&tail(&ahead)).unwrap();
    assert!(pass.replaced.unwrap().contains("highest event id is 1"));
    assert!(pass.events.is_empty());

    test.run("UPDATE task_events SET payload = '{}' WHERE id = 1");
    let pass = board.read(&tail(&mark)).unwrap();
    assert!(pass.replaced.unwrap().contains("event 1"));
}

#[test]
fn events_that_were_cleared_away_replace_nothing() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    let mut board = test.open();
    let mark = board.read(&tail(&Mark::default())).unwrap().next;
    test.run("DELETE FROM task_events");
    let pass = board.read(&tail(&mark)).unwrap();
    assert_eq!((pass.replaced, pass.newest), (None, 0));
    assert_eq!(pass.next, mark);
    let event = test.event("t_1", "blocked");
    assert_eq!(event, 2);
    assert_eq!(ids(&board.read(&tail(&pass.next)).unwrap()), [2]);
    assert_eq!(board.sequence().unwrap(), 2);
}

/// Field report 168.
#[test]
fn what_is_broken_spoils_its_own_row_only() {
    let mut test = TestBoard::shaped(
        &super::support::SHAPE
            .replace("last_event_id INTEGER NOT NULL DEFAULT 0", "last_event_id INTEGER")
            .replace("chat_id TEXT NOT NULL", "chat_id NOT NULL"),
    );
    test.task("t_1");
    test.run("UPDATE tasks SET title = x'ff', result = 12");
    test.subscribe("t_1", "good", 0);
    test.run(
        "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at, last_event_id) VALUES
         ('t_1', 'telegram', 77, 150, 0),
         ('t_1', 'telegram', 'dated', '2026-01-01', 0),
         ('t_1', 'telegram', 'unset', 150, NULL),
         ('t_1', 'telegram', x'00ff', 150, 0);
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at, last_event_id, notifier_profile)
         VALUES ('t_1', 'telegram', 'blob owner', 150, 0, x'01');
         INSERT INTO task_events (task_id, kind, payload, created_at) VALUES
         ('t_1', 'completed', x'7b7d', 200),
         ('t_1', 'completed', '{broken', 200),
         ('t_1', 'completed', NULL, 'yesterday'),
         ('t_1', 'blocked', CAST(x'ff' AS TEXT), 200),
         (x'01', 'blocked', NULL, 200),
         ('t_1', 'blocked', NULL, 200.0);",
    );
    let mut board = test.open();
    let pass = board.read(&tail(&Mark::default())).unwrap();
    assert_eq!(ids(&pass), [1, 2, 4, 6]);
    assert_eq!(pass.next.event, 6);
    assert_eq!(pass.events[0].payload, None);
    assert_eq!(pass.events[1].payload.as_deref(), Some("{broken"));
    assert_eq!(chats(&pass), ["good"]);
    assert_eq!(pass.tasks[0].title, "");
    assert_eq!(pass.tasks[0].result.as_deref(), Some("12"));
    let spoilt = format!("{:?}", pass.spoilt);
    for part in [
        "t_1/telegram/77/",
        "chat_id is an integer",
        "t_1/telegram/dated/",
        "created_at is text",
        "t_1/telegram/unset/",
        "last_event_id is NULL",
        "chat_id is a blob",
        "notifier_profile is a blob",
        "event 1",
        "payload is a blob",
        "event 3",
        "event 5",
        "task_id is a blob",
    ] {
        assert!(spoilt.contains(part), "{part} is not in {spoilt}");
    }
    assert_eq!(pass.spoilt.len(), 9);
}

#[test]
fn watched_keys_and_owners_are_read_as_they_are() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.subscribe("t_1", "null", 3);
    test.subscribe("t_1", "empty", 4);
    test.run("UPDATE kanban_notify_subs SET notifier_profile = '', user_id = 'u' WHERE chat_id = 'empty'");
    let mut board = test.open();
    let wanted = PassQuery {
        watch: vec![key("t_1", "null"), key("t_1", "empty"), key("t_1", "gone")],
        ..tail(&Mark::default())
    };
    let watched = board.read(&wanted).unwrap().watched;
    let owner = |index: usize| watched[index].1.as_ref().unwrap().owner.clone();
    assert_eq!(owner(0), None);
    assert_eq!(owner(1), Some(String::new()));
    assert_eq!(watched[1].1.as_ref().unwrap().user.as_deref(), Some("u"));
    assert_eq!(watched[2].1, None);
}

#[test]
fn of_long_results_the_beginning_is_read() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.run(&format!("UPDATE tasks SET result = '{}'", "ü".repeat(30_000)));
    test.event("t_1", "completed");
    let mut board = test.open();
    let pass = board.read(&tail(&Mark::default())).unwrap();
    assert_eq!(pass.tasks[0].result.as_deref(), Some("ü".repeat(4_096).as_str()));
}

#[test]
fn no_read_transaction_outlives_a_pass() {
    let mut test = TestBoard::new();
    test.task("t_1");
    let mut board = test.open();
    board.read(&tail(&Mark::default())).unwrap();
    test.event("t_1", "completed");
    // A reader's snapshot would keep the log from being cut.
    test.run("PRAGMA wal_checkpoint(TRUNCATE)");
    assert_eq!(board.wal_bytes(), 0);
    let version = board.data_version().unwrap();
    assert_eq!(board.data_version().unwrap(), version);
    test.event("t_1", "completed");
    assert_ne!(board.data_version().unwrap(), version);
}

/// Law B3: nobody commits beside a read, where that can be had; a read never waits for long.
#[test]
fn a_read_goes_on_beside_a_writer_that_stays() {
    let mut test = TestBoard::new();
    test.task("t_1");
    let mut board = test.open();
    let done = test.event("t_1", "completed");
    test.run("BEGIN IMMEDIATE");
    test.event("t_1", "blocked");
    let pass = board.read(&tail(&Mark::default())).unwrap();
    assert_eq!(ids(&pass), [done], "what is not committed is not there");
    test.run("COMMIT");
    assert_eq!(ids(&board.read(&tail(&pass.next)).unwrap()).len(), 1);
    // It let go of the lock.
    test.event("t_1", "completed");
}

/// Field report 164: every heartbeat is a commit, and none of them is a reason to read what is there.
#[test]
fn a_heartbeat_beside_ten_thousand_rows_reads_none_of_them() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.event("t_1", "completed");
    test.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at)
         SELECT 't_1', 'api_server', 'session-' || i, 100 FROM n",
    );
    let mut board = test.open();
    let mark = board.read(&PassQuery { limit: 20_000, ..tail(&Mark::default()) }).unwrap().next;
    let timed = |read: &mut dyn FnMut()| {
        let began = std::time::Instant::now();
        read();
        began.elapsed()
    };
    let all = (0..3).map(|_| timed(&mut || drop(board.subscriptions(0, 20_000).unwrap()))).min();
    let mut passes = std::time::Duration::ZERO;
    for beat in 0..200 {
        test.run(&format!("UPDATE tasks SET last_heartbeat_at = {beat}"));
        passes += timed(&mut || {
            let pass = board.read(&tail(&mark)).unwrap();
            assert!(pass.rows.is_empty() && pass.events.is_empty() && pass.tasks.is_empty());
            assert_eq!(pass.next, mark);
        });
    }
    assert!(passes < 50 * all.unwrap(), "{passes:?} for 200 passes, {all:?} for all rows");
}
