//! Blocked, put back, scheduled and promoted tasks.

use kanban_store::{
    StoreError,
    write::{
        BlockKind, Promotion, Stop, Unblocked, archive, block_with, depend, link, promote,
        recompute_ready, schedule, unblock,
    },
};

use super::*;

fn because(reason: &str) -> Stop {
    Stop { reason: Some(reason.into()), run: None }
}

#[test]
fn a_block_of_another_kind_is_no_loop() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    let kinds = [None, Some(BlockKind::Capability), Some(BlockKind::Transient), None];
    for (turn, kind) in (0..).zip(kinds) {
        let came = block_with(&mut board, &id, &because("x"), kind, 101 + turn).unwrap();
        assert!(matches!(came, Blocked::Blocked(_)), "{kind:?}");
        let came = unblock(&mut board, &id, 101 + turn).unwrap();
        assert_eq!(came.status, "ready");
    }
    // The last one stays on the task, so that the next is seen as a loop.
    let came = block_with(&mut board, &id, &Stop::default(), None, 110).unwrap();
    assert!(matches!(came, Blocked::Loop(_)));
    let wrong = refused(&mut test, || block(&mut board, &id, None, Some("dependency"), 111));
    assert!(matches!(wrong, StoreError::BadValue { .. }));
    let again = refused(&mut test, || block(&mut board, &id, None, None, 111));
    assert!(matches!(again, StoreError::WrongStatus { .. }));
}

#[test]
fn a_task_that_waits_for_others_is_put_back() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    let late = Stop { reason: None, run: Some(3) };
    let late = refused(&mut test, || depend(&mut board, &id, &late, 101));
    assert!(matches!(late, StoreError::RunOver { .. }));
    depend(&mut board, &id, &because("needs the other"), 102).unwrap();
    assert_eq!(
        last(&mut board, &id),
        r#"dependency_wait 1 {"reason": "needs the other", "kind": "dependency"}"#
    );
    let row = "SELECT status || block_kind || block_recurrences FROM tasks";
    assert_eq!(test.text(row).as_deref(), Some("tododependency0"));
    assert_eq!(recompute_ready(&mut board, 103).unwrap(), 1);
    assert_eq!(last(&mut board, &id), "promoted - NULL");
}

#[test]
fn what_is_unblocked_waits_for_its_parents_and_starts_afresh() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    block(&mut board, &child, None, None, 101).unwrap();
    link(&mut board, &parent, &child, 102).unwrap();
    test.run("UPDATE tasks SET consecutive_failures = 3, last_failure_error = 'x'");
    let came = unblock(&mut board, &child, 103).unwrap();
    assert_eq!(came, Unblocked { status: "todo", event: came.event });
    assert_eq!(last(&mut board, &child), r#"unblocked - {"status": "todo"}"#);
    let row = format!(
        "SELECT consecutive_failures || coalesce(last_failure_error, '-') || block_recurrences \
         FROM tasks WHERE id = '{child}'"
    );
    assert_eq!(test.text(&row).as_deref(), Some("0-1"));
    // Up to 0.19 an archived parent is waited for here, and nowhere else.
    archive(&mut board, &parent, 104).unwrap();
    assert_eq!(status(&mut board, &child), "ready");
    block(&mut board, &child, None, Some("transient"), 105).unwrap();
    assert_eq!(unblock(&mut board, &child, 106).unwrap().status, "todo");
    assert!(matches!(
        refused(&mut test, || unblock(&mut board, &child, 107)),
        StoreError::WrongStatus { .. }
    ));
}

#[test]
fn a_scheduled_task_waits_until_it_is_unblocked() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    schedule(&mut board, &id, &because("tomorrow"), 101).unwrap();
    assert_eq!(last(&mut board, &id), r#"scheduled 1 {"reason": "tomorrow"}"#);
    let row = "SELECT status || outcome || summary FROM task_runs";
    assert_eq!(test.text(row).as_deref(), Some("scheduledscheduledtomorrow"));
    assert_eq!(recompute_ready(&mut board, 102).unwrap(), 0);
    assert!(matches!(
        refused(&mut test, || schedule(&mut board, &id, &Stop::default(), 103)),
        StoreError::WrongStatus { .. }
    ));
    unblock(&mut board, &id, 104).unwrap();
    assert_eq!(last(&mut board, &id), "unblocked - NULL");
    schedule(&mut board, &id, &Stop::default(), 105).unwrap();
    assert_eq!(last(&mut board, &id), r#"scheduled - {"reason": null}"#);
}

#[test]
fn a_promotion_by_hand_needs_force_while_parents_are_open() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    let mut by = Promotion { actor: "me".into(), ..Promotion::default() };
    assert!(matches!(
        refused(&mut test, || promote(&mut board, &child, &by, 101)),
        StoreError::WrongStatus { .. }
    ));
    link(&mut board, &parent, &child, 102).unwrap();
    let waits = refused(&mut test, || promote(&mut board, &child, &by, 103));
    let advice = format!("task {child} waits for {parent}: finish or archive them, or unlink them");
    assert_eq!(waits.to_string(), advice);
    by.force = true;
    by.reason = Some("cannot wait".into());
    promote(&mut board, &child, &by, 104).unwrap();
    assert_eq!(
        last(&mut board, &child),
        r#"promoted_manual - {"actor": "me", "reason": "cannot wait", "forced": true}"#
    );
    assert_eq!(status(&mut board, &child), "ready");
}

#[test]
fn ready_is_who_waits_for_nobody_and_may_try_again() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    for (task, set) in [
        ("t_todo", "status = 'todo'"),
        ("t_tried", "status = 'blocked', consecutive_failures = 1"),
        ("t_failed", "status = 'blocked', consecutive_failures = 2"),
        ("t_patient", "status = 'blocked', consecutive_failures = 2, max_retries = 3"),
        ("t_hasty", "status = 'blocked', max_retries = 0"),
        ("t_stuck", "status = 'blocked'"),
        ("t_freed", "status = 'blocked'"),
        ("t_later", "status = 'scheduled'"),
    ] {
        test.task(task);
        test.run(&format!("UPDATE tasks SET {set} WHERE id = '{task}'"));
    }
    test.event("t_stuck", "unblocked");
    test.event("t_stuck", "blocked");
    test.event("t_freed", "blocked");
    test.event("t_freed", "unblocked");
    let before = test.int("SELECT max(id) FROM task_events").unwrap();
    assert_eq!(recompute_ready(&mut board, 300).unwrap(), 4);
    let told: Vec<String> =
        board.events(None, before, 10).unwrap().into_iter().map(|event| event.task).collect();
    assert_eq!(told, ["t_tried", "t_patient", "t_freed", "t_todo"]);
    // The failures count on.
    assert_eq!(test.int("SELECT sum(consecutive_failures) FROM tasks"), Some(5));
    assert_eq!(recompute_ready(&mut board, 301).unwrap(), 0);
}
