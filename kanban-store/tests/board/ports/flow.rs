//! News and changes on boards that are well.

use std::thread;

use futures_executor::block_on;
use kanban_notify::{
    ids::{BoardId, EventId},
    ports::{Boards, Change},
    record::{RowChange, RowOutcome},
    subscription::SubKey,
    time::Timestamp,
    verdict::Detail,
};

use super::{Running, board, nudged, polled, raise, wal};

#[test]
fn a_commit_is_told_after_a_nudge_and_read_once() {
    let mut test = board();
    let running = Running::new(nudged());
    assert!(running.set.add(&test.path, "default").unwrap());
    assert!(!running.set.add(&test.path, "default").unwrap());
    let start = running.opened();
    assert!(!start.has_delivery_mode);
    let pass = running.read(start.id, &start.position);
    assert_eq!(pass.rows.len(), 1);

    let event = test.event("t_1", "completed");
    running.set.nudge_path(&wal(&test));
    assert_eq!(running.next(), Change::Board(start.id));
    let pass = running.read(start.id, &pass.next);
    assert_eq!(pass.events[0].id, EventId(event));
    assert_eq!(pass.next.event_print.as_ref().unwrap().id, EventId(event));
    assert_eq!(running.raise(start.id, event), [RowOutcome::Won]);
    assert_eq!(test.cursor("t_1"), event);

    running.set.announce(Change::Degraded(BoardId(99), Detail::new("from elsewhere")));
    assert_eq!(running.degraded().0, BoardId(99));
    let status = running.set.status();
    assert_eq!((status[0].id, status[0].degraded.clone()), (Some(start.id), None));
}

/// Field report 166: no word comes from the file system.
#[test]
fn a_commit_is_found_without_any_nudge() {
    let mut test = board();
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    running.read(start.id, &start.position);
    for _ in 0..20 {
        test.event("t_1", "completed");
        assert_eq!(running.next(), Change::Board(start.id));
        running.read(start.id, &start.position);
    }
}

/// Field report 162: our own write starts no loop.
#[test]
fn our_own_raises_are_no_news() {
    let test = board();
    let running = Running::new(polled());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    running.read(start.id, &start.position);
    for to in 1..=60 {
        assert_eq!(running.raise(start.id, to), [RowOutcome::Won]);
    }
    let marker = Change::Degraded(BoardId(99), Detail::new("marker"));
    running.set.announce(marker.clone());
    assert_eq!(running.next(), marker);
}

/// Field report 63.
#[test]
fn a_held_lock_stops_changes_and_not_reads() {
    let mut test = board();
    let running = Running::new(nudged());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    test.run("BEGIN IMMEDIATE");
    let set = running.set.clone();
    let changing = thread::spawn(move || block_on(set.change(start.id, vec![raise(4), raise(2)])));
    for _ in 0..50 {
        assert_eq!(running.read(start.id, &start.position).rows.len(), 1);
    }
    test.run("COMMIT");
    assert_eq!(changing.join().unwrap().unwrap(), [RowOutcome::Won, RowOutcome::Won]);
    assert_eq!(test.cursor("t_1"), 4);
}

#[test]
fn many_changes_are_answered_in_order() {
    let mut test = board();
    test.run("BEGIN");
    for n in 0..700 {
        test.subscribe("t_2", &format!("c{n}"), 0);
    }
    test.run("COMMIT");
    let running = Running::new(nudged());
    running.set.add(&test.path, "default").unwrap();
    let start = running.opened();
    let changes: Vec<RowChange> = (0..700)
        .map(|n| RowChange::Raise {
            key: SubKey {
                task: if n % 3 == 0 { "t_none" } else { "t_2" }.into(),
                platform: "api_server".into(),
                chat: format!("c{n}"),
                thread: String::new(),
            },
            created_at: Timestamp::from_secs(150),
            to: EventId(9),
        })
        .collect();
    let outcomes = block_on(running.set.change(start.id, changes)).unwrap();
    assert_eq!(outcomes.len(), 700);
    for (n, outcome) in outcomes.iter().enumerate() {
        let wanted = if n % 3 == 0 { RowOutcome::Gone } else { RowOutcome::Won };
        assert_eq!(*outcome, wanted);
    }
}
