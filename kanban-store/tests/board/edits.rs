//! Changes to rows: raised only, compared and set, redone as a whole (laws B4, B5, O2, S3).

use std::{sync::mpsc, thread, time::Duration};

use diesel::connection::SimpleConnection;
use kanban_store::{
    StoreError,
    board::{AgedQuery, Board, EditOutcome, MAX_EDITS, Mark, PassQuery, RowEdit},
};

use super::support::{TestBoard, foreign, key, tail};

const PATIENCE: Duration = Duration::from_secs(20);

fn raise(task: &str, to: i64) -> RowEdit {
    RowEdit::Raise { key: key(task, "a"), created_at: 150, to }
}

#[test]
fn a_cursor_is_raised_and_never_lowered() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 5);
    let mut board = test.open();
    let mut one = |edit: RowEdit| board.change(&[edit], PATIENCE).unwrap()[0];
    assert_eq!(one(raise("t_1", 9)), EditOutcome::Won);
    assert_eq!(one(raise("t_1", 9)), EditOutcome::Won);
    assert_eq!(one(raise("t_1", 3)), EditOutcome::Won);
    assert_eq!(one(raise("t_2", 3)), EditOutcome::Gone);
    let other_row = RowEdit::Raise { key: key("t_1", "a"), created_at: 151, to: 20 };
    assert_eq!(one(other_row), EditOutcome::Lost);
    assert_eq!(test.cursor("t_1"), 9);
    test.run("UPDATE kanban_notify_subs SET last_event_id = 'nonsense'");
    assert_eq!(one(raise("t_1", 30)), EditOutcome::Lost);
}

#[test]
fn an_owner_is_set_only_over_the_one_that_was_seen() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    let mut stamp = |from: Option<&str>, to: Option<&str>| {
        let edit = RowEdit::Stamp {
            key: key("t_1", "a"),
            from: from.map(Into::into),
            to: to.map(Into::into),
        };
        board.change(&[edit], PATIENCE).unwrap()[0]
    };
    assert_eq!(stamp(Some(""), Some("us.default")), EditOutcome::Lost);
    assert_eq!(stamp(None, Some("us.default")), EditOutcome::Won);
    assert_eq!(stamp(None, Some("us.default")), EditOutcome::Won);
    assert_eq!(stamp(None, Some("us.other")), EditOutcome::Lost);
    assert_eq!(stamp(Some("us.default"), None), EditOutcome::Won);
    test.run("DELETE FROM kanban_notify_subs");
    assert_eq!(stamp(None, Some("us")), EditOutcome::Gone);
}

#[test]
fn a_row_with_something_to_tell_is_not_deleted() {
    let mut test = TestBoard::new();
    let told = test.event("t_1", "completed");
    test.event("t_1", "archived");
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    let delete = |created_at| RowEdit::Delete { key: key("t_1", "a"), created_at, aged: None };
    let mut one = |edit: RowEdit| board.change(&[edit], PATIENCE).unwrap()[0];
    assert_eq!(one(delete(150)), EditOutcome::Lost);
    one(raise("t_1", told));
    assert_eq!(one(delete(151)), EditOutcome::Lost);
    assert_eq!(one(delete(150)), EditOutcome::Won);
    assert_eq!(one(delete(150)), EditOutcome::Gone);
}

/// Law S3: done or blocked, nothing to tell, and nothing new since; asked for, and asked again in the
/// transaction that deletes.
#[test]
fn s3_report_25_a_row_to_which_nothing_happens_any_more_is_aged() {
    let mut test = TestBoard::new();
    let cases = [
        ("t_done", "done", 200, true),
        ("t_blocked", "blocked", 200, true),
        ("t_ready", "ready", 200, false),
        ("t_lately", "done", 900, false),
    ];
    for (task, status, at, _) in cases {
        test.task(task);
        test.run(&format!("UPDATE tasks SET status = '{status}' WHERE id = '{task}'"));
        let event = test.event(task, "completed");
        test.run(&format!("UPDATE task_events SET created_at = {at} WHERE id = {event}"));
        test.subscribe(task, "a", event);
    }
    // Something is still to be told, and a row that is younger than its task's last event.
    test.subscribe("t_done", "untold", 0);
    test.subscribe("t_done", "young", 100);
    test.run("UPDATE kanban_notify_subs SET created_at = 800 WHERE chat_id = 'young'");
    let mut board = test.open();
    let wanted = |above, limit| PassQuery {
        aged: Some(AgedQuery { before: 500, above, limit }),
        ..tail(&Mark::default())
    };
    let seen = board.read(&wanted(i64::MIN, 10)).unwrap().aged;
    let tasks: Vec<&str> = seen.iter().map(|row| row.key.task.as_str()).collect();
    let aged: Vec<&str> = cases.iter().filter(|case| case.3).map(|case| case.0).collect();
    assert_eq!(tasks, aged);
    assert_eq!(board.read(&wanted(i64::MIN, 1)).unwrap().aged, seen[..1]);
    assert_eq!(board.read(&wanted(seen[0].rowid, 10)).unwrap().aged, seen[1..]);

    let delete = |task: &str| {
        let (key, created_at) = (key(task, "a"), 150);
        RowEdit::Delete { key, created_at, aged: Some(500) }
    };
    for (task, _, _, aged) in cases {
        let outcome = board.change(&[delete(task)], PATIENCE).unwrap()[0];
        assert_eq!(outcome == EditOutcome::Won, aged, "{task}: {outcome:?}");
    }
    assert_eq!(test.int("SELECT count(*) FROM kanban_notify_subs"), Some(4));
}

#[test]
fn many_changes_are_several_transactions() {
    let mut test = TestBoard::new();
    test.run("BEGIN");
    for n in 0..600 {
        test.subscribe(&format!("t_{n}"), "a", 0);
    }
    test.run("COMMIT");
    let mut board = test.open();
    let edits: Vec<RowEdit> = (0..600).map(|n| raise(&format!("t_{n}"), 4)).collect();
    assert!(edits.len() > 2 * MAX_EDITS);
    let outcomes = board.change(&edits, PATIENCE).unwrap();
    assert_eq!(outcomes, vec![EditOutcome::Won; 600]);
    assert_eq!(
        test.int("SELECT count(*) FROM kanban_notify_subs WHERE last_event_id = 4"),
        Some(600)
    );
}

/// Field reports 147 and 150: no claim is lost, no error reaches anybody.
#[test]
fn two_claimers_share_rows_without_an_error() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 0);
    let path = test.path.clone();
    let rounds = 300;
    let claimers: Vec<_> = ["us.one", "us.two"]
        .into_iter()
        .map(|owner| {
            let path = path.clone();
            thread::spawn(move || {
                let mut board = Board::open(&path).unwrap();
                let mut won = 0;
                for _ in 0..rounds {
                    let take =
                        RowEdit::Stamp { key: key("t_1", "a"), from: None, to: Some(owner.into()) };
                    if board.change(&[take], PATIENCE).unwrap()[0] == EditOutcome::Won {
                        won += 1;
                        let mine = RowEdit::Stamp {
                            key: key("t_1", "a"),
                            from: Some(owner.into()),
                            to: None,
                        };
                        // Nobody else can have taken it meanwhile.
                        let back = board.change(&[mine], PATIENCE).unwrap();
                        assert_eq!(back, [EditOutcome::Won]);
                    }
                }
                won
            })
        })
        .collect();
    let won: Vec<i32> = claimers.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(won.iter().sum::<i32>() > 0);
    assert_eq!(test.text("SELECT notifier_profile FROM kanban_notify_subs"), None);
}

/// Field report 148: nobody of 25 hears of a lock.
#[test]
fn twenty_five_claimers_of_a_hundred_claims_each_meet_no_lock() {
    let mut test = TestBoard::new();
    let names: Vec<String> = (0..25).map(|number| format!("chat-{number}")).collect();
    for name in &names {
        test.subscribe("t_1", name, 0);
    }
    thread::scope(|scope| {
        for name in &names {
            let path = &test.path;
            scope.spawn(move || {
                for claim in 1..=100 {
                    // A connection of its own each time: setting one up takes locks, too.
                    let mut board = Board::open(path).unwrap();
                    let raise =
                        RowEdit::Raise { key: key("t_1", name), created_at: 150, to: claim };
                    assert_eq!(board.change(&[raise], PATIENCE).unwrap(), [EditOutcome::Won]);
                }
            });
        }
    });
    let raised = "SELECT count(*) FROM kanban_notify_subs WHERE last_event_id = 100";
    assert_eq!(test.int(raised), Some(25));
}

#[test]
fn a_held_lock_is_waited_for_or_reported() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    test.run("BEGIN IMMEDIATE");
    assert_eq!(board.try_change(&[raise("t_1", 2)]).unwrap(), None);
    let busy = board.change(&[raise("t_1", 2)], Duration::from_millis(40));
    assert!(matches!(busy, Err(StoreError::BoardBusy { .. })), "{busy:?}");
    // Reading goes on meanwhile.
    assert_eq!(board.subscriptions(0, 9).unwrap().0.len(), 1);

    let (ready, started) = mpsc::channel();
    let waiting = thread::spawn(move || {
        ready.send(()).unwrap();
        let outcomes = board.change(&[raise("t_1", 2)], PATIENCE).unwrap();
        (board, outcomes)
    });
    started.recv().unwrap();
    // What the holder does is neither lost nor overwritten.
    test.run("UPDATE kanban_notify_subs SET last_event_id = 7; COMMIT");
    let (_board, outcomes) = waiting.join().unwrap();
    assert_eq!(outcomes, [EditOutcome::Won]);
    assert_eq!(test.cursor("t_1"), 7);
}

/// Field report 162: a foreign commit is always seen.
#[test]
fn our_own_commit_is_told_from_a_foreign_one() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    let before = board.data_version().unwrap();
    let done = board.try_change(&[raise("t_1", 1)]).unwrap().unwrap();
    let after = board.data_version().unwrap();
    assert_eq!(done.own_step, Some((before, after)));
    assert_ne!(before, after);
    // A foreign commit shows in the reader's number before our step begins.
    let mut other = foreign(&test.path);
    other.batch_execute("UPDATE kanban_notify_subs SET user_id = 'x'").unwrap();
    let done = board.try_change(&[raise("t_1", 2)]).unwrap().unwrap();
    let (start, end) = done.own_step.unwrap();
    assert_ne!(start, after);
    assert_eq!(board.data_version().unwrap(), end);
    // A change that changes nothing moves nothing.
    let done = board.try_change(&[raise("t_1", 2)]).unwrap().unwrap();
    assert_eq!(done.own_step, Some((end, end)));
}

#[test]
fn a_checkpoint_moves_the_log_and_keeps_it() {
    let mut test = TestBoard::new();
    test.subscribe("t_1", "a", 0);
    let mut board = test.open();
    assert!(board.wal_bytes() > 0);
    let size = || std::fs::metadata(&test.path).unwrap().len();
    let before = size();
    board.checkpoint().unwrap();
    assert!(size() > before);
    assert!(board.wal_bytes() > 0);
}
