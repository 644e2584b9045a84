//! Sweeps: every unseen event of every row, whatever the position says (law F2).

use kanban_store::board::{Mark, PassQuery};

use super::support::{TestBoard, ids, tail};

#[test]
fn first_sight_reads_no_history_and_everything_unseen() {
    let mut test = TestBoard::new();
    for task in ["t_old", "t_new", "t_none"] {
        test.task(task);
    }
    let old = test.event("t_old", "completed");
    let unheard = test.event("t_none", "completed");
    let unseen = test.event("t_new", "blocked");
    test.event("t_new", "heartbeat");
    test.subscribe("t_old", "a", old);
    test.subscribe("t_new", "a", 0);
    let mut board = test.open();
    let first = PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) };
    let pass = board.read(&first).unwrap();
    assert_eq!(ids(&pass), [unseen]);
    assert_eq!(pass.next.event, 4);
    assert_eq!(pass.rows.len(), 2);
    assert!(!pass.more && pass.sweep_from.is_none());
    assert!(unheard < unseen);

    // Swept again later: still unseen, since nobody raised the cursor. The tail comes after it.
    let later = test.event("t_old", "status");
    let again = PassQuery { sweep_above: Some(0), ..tail(&pass.next) };
    assert_eq!(ids(&board.read(&again).unwrap()), [unseen, later]);
    assert_eq!(ids(&board.read(&tail(&pass.next)).unwrap()), [later]);
}

#[test]
fn a_cut_sweep_goes_on_where_it_was_cut() {
    let mut test = TestBoard::new();
    let tasks = ["t_1", "t_2", "t_3", "t_4", "t_5"];
    for task in tasks {
        test.task(task);
        test.subscribe(task, "a", 0);
    }
    test.task("t_told");
    test.subscribe("t_told", "a", 100);
    let mut events = Vec::new();
    for task in tasks {
        events.push(test.event(task, "blocked"));
        test.event("t_told", "blocked");
    }
    let mut board = test.open();
    let mut wanted = PassQuery { sweep_above: Some(0), limit: 2, ..tail(&Mark::default()) };
    let mut swept = Vec::new();
    let mut late = None;
    loop {
        let pass = board.read(&wanted).unwrap();
        swept.extend(ids(&pass));
        // News between two parts of a sweep belong to the tail.
        late.get_or_insert_with(|| test.event("t_told", "completed"));
        wanted.after = pass.next;
        wanted.sweep_above = pass.sweep_from;
        if !pass.more {
            break;
        }
    }
    events.extend(late);
    assert_eq!(swept, events);
}

#[test]
fn a_hundred_thousand_caught_up_rows_are_swept() {
    let mut test = TestBoard::new();
    test.run(
        "BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO tasks (id, title, status, created_at)
         SELECT printf('t_%08x', (i * 2654435761) % 4294967296), 'x', 'done', 1 FROM n;
         INSERT INTO task_events (task_id, kind, created_at) SELECT id, 'completed', 1 FROM tasks;
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, created_at, last_event_id)
         SELECT task_id, 'api_server', 's', 1, id FROM task_events ORDER BY created_at, task_id;
         COMMIT;",
    );
    test.run("UPDATE kanban_notify_subs SET last_event_id = 0 WHERE rowid = 70000");
    let mut board = test.open();
    let first = PassQuery { sweep_above: Some(0), ..tail(&Mark::default()) };
    let start = std::time::Instant::now();
    let pass = board.read(&first).unwrap();
    println!("first sight of 100 000 rows: {:?}", start.elapsed());
    assert_eq!(pass.events.len(), 1);
    assert_eq!(pass.next.event, 100_000);
    assert_eq!(pass.rows.len(), 101);

    let mut mark = pass.next;
    mark.rowid = 0;
    let everything = PassQuery { limit: 1_000_000, ..tail(&mark) };
    let start = std::time::Instant::now();
    let pass = board.read(&everything).unwrap();
    println!("reading all of them: {:?}", start.elapsed());
    assert_eq!(pass.next.rowid, 100_000);

    // Nothing was ever told: every part costs what it finds, not what there is.
    test.run("UPDATE kanban_notify_subs SET last_event_id = 0");
    let mut wanted = PassQuery { sweep_above: Some(0), limit: 512, ..tail(&pass.next) };
    let start = std::time::Instant::now();
    let mut swept = 0;
    loop {
        let part = board.read(&wanted).unwrap();
        swept += part.events.len();
        wanted.after = part.next;
        wanted.sweep_above = part.sweep_from;
        if !part.more {
            break;
        }
    }
    assert_eq!(swept, 100_000);
    println!("sweeping 100 000 unseen events: {:?}", start.elapsed());

    let event = test.event("t_none", "completed");
    let start = std::time::Instant::now();
    assert_eq!(ids(&board.read(&tail(&pass.next)).unwrap()), [event]);
    println!("a pass with one new event: {:?}", start.elapsed());
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        board.data_version().unwrap();
    }
    println!("1000 looks at the data version: {:?}", start.elapsed());
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        board.read(&tail(&pass.next)).unwrap();
    }
    println!("1000 passes: {:?}", start.elapsed());
}
