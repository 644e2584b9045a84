//! A board at a glance, also one that is broken in places.

use super::support::TestBoard;

#[test]
fn statuses_come_in_the_order_of_a_tasks_life_with_the_last_to_be_moved_first() {
    let mut test = TestBoard::new();
    for (task, status, at) in [
        ("t_1", "done", 10),
        ("t_2", "done", 30),
        ("t_3", "done", 20),
        ("t_4", "running", 5),
        ("t_5", "todo", 1),
        ("t_6", "archived", 1),
        ("t_7", "odd", 1),
    ] {
        test.task(task);
        test.run(&format!(
            "UPDATE tasks SET status = '{status}', completed_at = {at} WHERE id = '{task}'"
        ));
    }
    test.run("UPDATE tasks SET last_heartbeat_at = 77, assignee = 'ada' WHERE id = 't_4'");
    test.run(
        "INSERT INTO task_runs (id, task_id, status, started_at) VALUES (9, 't_4', 'running', 44);
         UPDATE tasks SET current_run_id = 9 WHERE id = 't_4'",
    );
    let mut board = test.open();
    let seen = board.overview(2).unwrap();
    let columns: Vec<(&str, i64)> =
        seen.columns.iter().map(|column| (column.status.as_str(), column.count)).collect();
    assert_eq!(columns, [("todo", 1), ("running", 1), ("done", 3), ("odd", 1)]);
    let done: Vec<&str> = seen.columns[2].tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(done, ["t_2", "t_3"]);
    let running = &seen.running[0];
    assert_eq!((running.id.as_str(), running.assignee.as_deref()), ("t_4", Some("ada")));
    assert_eq!((running.since, running.heartbeat_at), (Some(44), Some(77)));
}

#[test]
fn b2_values_of_a_wrong_type_spoil_themselves_only() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.task("t_2");
    test.run(
        "UPDATE tasks SET title = x'00ff', status = 'running', started_at = 'x' WHERE id = 't_1'",
    );
    test.run("UPDATE tasks SET status = x'01' WHERE id = 't_2'");
    let seen = test.open().overview(5).unwrap();
    assert_eq!(seen.columns.len(), 1);
    assert_eq!((seen.running.len(), seen.running[0].since), (1, None));
}
