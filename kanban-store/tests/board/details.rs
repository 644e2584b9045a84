//! One task as it is stored, found by a part of its id; lists with filters.

use kanban_store::board::{FoundTask, TaskFilter};
use serde_json::json;

use super::support::TestBoard;

#[test]
fn a_task_is_found_by_its_id_or_the_beginning_of_it() {
    let mut test = TestBoard::new();
    for task in ["t_abc1", "t_abc2", "t_abc", "t_ff%", "other"] {
        test.task(task);
    }
    let mut board = test.open();
    let mut find = |text: &str| board.find_task(text).unwrap();
    let one = |id: &str| FoundTask::One(id.to_owned());
    assert_eq!(find("t_abc"), one("t_abc"), "exact before everything");
    assert_eq!(find("t_abc2"), one("t_abc2"));
    assert_eq!(find("abc2"), one("t_abc2"));
    assert_eq!(find("t_f"), one("t_ff%"));
    assert_eq!(find("o"), one("other"));
    assert_eq!(
        find("t_ab"),
        FoundTask::Several(["t_abc", "t_abc1", "t_abc2"].map(Into::into).into())
    );
    for nothing in ["", "t_%", "%", "t_abc3", "T_ABC"] {
        assert_eq!(find(nothing), FoundTask::None, "{nothing:?}");
    }
}

#[test]
fn everything_that_is_stored_of_a_task_is_told_whatever_its_type() {
    let mut test = TestBoard::new();
    test.task("t_1");
    test.task("t_2");
    test.run(
        "ALTER TABLE tasks ADD COLUMN \"odd \"\"name\" TEXT;
         UPDATE tasks SET body = 'says \"hello\"', priority = 3, result = x'00ff',
             \"odd \"\"name\" = 2.5 WHERE id = 't_1';
         INSERT INTO task_links (parent_id, child_id) VALUES ('t_1', 't_2');
         INSERT INTO task_comments (task_id, author, body, created_at)
             VALUES ('t_1', 'ada', 'first', 5), ('t_2', 'bob', 'other', 6);
         INSERT INTO task_runs (task_id, status, started_at, outcome)
             VALUES ('t_1', 'done', 7, 'crashed'), ('t_1', 'running', 8, NULL)",
    );
    test.run(
        "UPDATE tasks SET tenant = CAST(x'ff41' AS TEXT), max_retries = 9e999 WHERE id = 't_1'",
    );
    let mut board = test.open();
    let seen = board.task_details("t_1").unwrap().unwrap();
    assert_eq!(seen.task["body"], json!("says \"hello\""));
    assert_eq!((&seen.task["priority"], &seen.task["result"]), (&json!(3), &json!(null)));
    assert_eq!(seen.task["odd \"name"], json!("2.5"), "as its column stores it");
    assert_eq!((&seen.task["tenant"], &seen.task["max_retries"]), (&json!(null), &json!(null)));
    assert_eq!((seen.parents.len(), &seen.children[..]), (0, &["t_2".to_owned()][..]));
    assert_eq!(seen.comments.len(), 1);
    assert_eq!(seen.comments[0]["author"], json!("ada"));
    let outcomes: Vec<_> = seen.runs.iter().map(|run| run["outcome"].clone()).collect();
    assert_eq!(outcomes, [json!("crashed"), json!(null)]);
    assert_eq!(board.task_details("t_2").unwrap().unwrap().parents, ["t_1"]);
    assert_eq!(board.task_details("t_9").unwrap(), None);
}

#[test]
fn a_list_of_tasks_can_be_narrowed() {
    let mut test = TestBoard::new();
    for (task, status, assignee, priority) in [
        ("t_1", "ready", "'ada'", 0),
        ("t_2", "ready", "NULL", 5),
        ("t_3", "done", "'ada'", 0),
        ("t_4", "archived", "'ada'", 9),
    ] {
        test.task(task);
        test.run(&format!(
            "UPDATE tasks SET status = '{status}', assignee = {assignee}, priority = {priority} \
             WHERE id = '{task}'"
        ));
    }
    let mut board = test.open();
    let mut ids = |filter: TaskFilter| -> Vec<String> {
        board.list_tasks(&filter).unwrap().into_iter().map(|task| task.id).collect()
    };
    assert_eq!(ids(TaskFilter::default()), ["t_2", "t_1", "t_3"]);
    assert_eq!(ids(TaskFilter { archived: true, ..TaskFilter::default() })[0], "t_4");
    let status = |name: &str| TaskFilter { status: Some(name.into()), ..TaskFilter::default() };
    assert_eq!(ids(status("archived")), ["t_4"]);
    assert_eq!(ids(TaskFilter { limit: Some(1), ..status("ready") }), ["t_2"]);
    let ada = TaskFilter { assignee: Some("ada".into()), ..TaskFilter::default() };
    assert_eq!(ids(ada), ["t_1", "t_3"]);
}
