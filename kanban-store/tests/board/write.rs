//! What the commands write, beside what the real package was seen to write.

mod attempts;
mod blocks;
mod generations;
mod links;
mod options;
mod reviews;

use kanban_store::{
    StoreError,
    board::{
        Board, TaskFilter,
        discovery::{Homes, discover},
    },
    write::{
        Blocked, Completion, NewSubscription, NewTask, block, complete, create_board,
        create_named_board, create_task, subscribe, unsubscribe,
    },
};

use super::support::{SHAPE, TestBoard, create, files, key};

fn new_task(title: &str) -> NewTask {
    NewTask {
        title: title.into(),
        assignee: Some("Ada".into()),
        created_by: Some("user".into()),
        ..NewTask::default()
    }
}

/// A task that is made with nothing but a title.
fn make(board: &mut Board, title: &str) -> String {
    create_task(board, &new_task(title), 100).unwrap()
}

fn status(board: &mut Board, task: &str) -> String {
    board.task(task).unwrap().unwrap().status
}

/// The newest event of a task: kind, attempt and payload.
fn last(board: &mut Board, task: &str) -> String {
    let event = board.events(Some(task), 0, 100).unwrap().pop().unwrap();
    let run = event.run.map_or("-".to_owned(), |run| run.to_string());
    format!("{} {run} {}", event.kind, event.payload.unwrap_or_else(|| "NULL".into()))
}

/// Every row of the board, to see that nothing was written.
fn everything(test: &mut TestBoard) -> String {
    let tables = ["tasks", "task_events", "task_runs", "task_links", "task_comments"];
    let mut all = String::new();
    for table in tables {
        let columns = format!(
            "SELECT group_concat('quote(' || name || ')', '||') FROM pragma_table_info('{table}')"
        );
        let columns = test.text(&columns).unwrap();
        let rows = format!("SELECT group_concat({columns}, '|') FROM {table}");
        all.push_str(&test.text(&rows).unwrap_or_default());
    }
    all
}

/// Stops unless it is refused without a trace.
#[track_caller]
fn refused<T: std::fmt::Debug>(
    test: &mut TestBoard,
    operation: impl FnOnce() -> Result<T, StoreError>,
) -> StoreError {
    let before = everything(test);
    let refusal = operation().unwrap_err();
    assert_eq!(everything(test), before, "{refusal}");
    refusal
}

#[test]
fn a_new_board_appears_complete_and_is_never_put_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/kanban.db");
    create_board(&path).unwrap();
    let mut reference = TestBoard::new();
    let mut board = TestBoard {
        path: path.clone(),
        foreign: super::support::foreign(&path),
        folder: tempfile::tempdir().unwrap(),
    };
    assert_eq!(board.schema(), reference.schema());
    assert_eq!(board.text("SELECT journal_mode FROM pragma_journal_mode").as_deref(), Some("wal"));
    drop(board);
    assert_eq!(files(path.parent().unwrap()).into_iter().collect::<Vec<_>>(), ["kanban.db"]);
    assert!(matches!(create_board(&path), Err(StoreError::BoardExists { .. })));
    Board::open(&path).unwrap();
}

#[test]
fn a_named_board_is_found_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let env = move |name: &str| (name == "HERMES_HOME").then(|| home.clone());
    let homes = Homes::find(&env).unwrap();
    create_named_board(&homes, "My-Board", None, 77).unwrap();
    let found = discover(&env).unwrap();
    assert_eq!((found[1].slug.as_str(), found[1].name.as_str()), ("my-board", "My Board"));
    assert!(found[1].present);
    let about = std::fs::read_to_string(homes.boards().join("my-board/board.json")).unwrap();
    assert!(about.starts_with("{\n  \"slug\": \"my-board\",\n  \"name\": \"My Board\","));
    assert!(about.ends_with("\"created_at\": 77,\n  \"archived\": false\n}"));
}

#[test]
fn a_task_is_made_and_completed_as_hermes_does_it() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = create_task(&mut board, &new_task(" Étude "), 100).unwrap();
    assert!(id.starts_with("t_") && id.len() == 10);
    let events = board.events(Some(&id), 0, 10).unwrap();
    assert_eq!(
        events[0].payload.as_deref(),
        Some(
            r#"{"assignee": "ada", "status": "ready", "parents": [], "tenant": null, "branch_name": null, "skills": null, "goal_mode": null}"#
        )
    );
    let completion = Completion {
        result: Some("line one\nline two é".into()),
        summary: Some("did it\nmore".into()),
    };
    let event = complete(&mut board, &id, &completion, 110).unwrap();
    let events = board.events(Some(&id), 0, 10).unwrap();
    assert_eq!((events[1].id, events[1].run), (event, Some(1)));
    assert_eq!(events[1].payload.as_deref(), Some(r#"{"result_len": 19, "summary": "did it"}"#));
    assert_eq!(
        test.text("SELECT status || profile || outcome || summary FROM task_runs").as_deref(),
        Some("completedadacompleteddid it\nmore")
    );
    assert_eq!(board.task(&id).unwrap().unwrap().status, "done");
    assert!(matches!(
        complete(&mut board, &id, &completion, 111),
        Err(StoreError::WrongStatus { .. })
    ));
    assert!(matches!(
        complete(&mut board, "t_none", &completion, 111),
        Err(StoreError::UnknownTask { .. })
    ));
    // Nothing to say: no attempt is made up.
    let silent = create_task(&mut board, &new_task("two"), 120).unwrap();
    complete(&mut board, &silent, &Completion::default(), 121).unwrap();
    let events = board.events(Some(&silent), 0, 10).unwrap();
    assert_eq!(events[1].run, None);
    assert_eq!(events[1].payload.as_deref(), Some(r#"{"result_len": 0, "summary": null}"#));
    assert_eq!(board.list_tasks(&TaskFilter::default()).unwrap().len(), 2);
}

#[test]
fn the_same_key_is_the_same_task() {
    let test = TestBoard::new();
    let mut board = test.open();
    let keyed = NewTask { idempotency_key: Some("k".into()), ..new_task("one") };
    let id = create_task(&mut board, &keyed, 100).unwrap();
    assert_eq!(create_task(&mut board, &keyed, 101).unwrap(), id);
    assert!(matches!(create_task(&mut board, &new_task("  "), 100), Err(StoreError::EmptyTitle)));
}

#[test]
fn the_second_block_for_the_same_reason_is_a_loop() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = create_task(&mut board, &new_task("one"), 100).unwrap();
    let first = block(&mut board, &id, Some("need é"), Some("needs_input"), 101).unwrap();
    assert!(matches!(first, Blocked::Blocked(_)));
    test.run("UPDATE tasks SET status = 'ready'");
    let second = block(&mut board, &id, None, Some("needs_input"), 102).unwrap();
    assert!(matches!(second, Blocked::Loop(_)));
    let payloads: Vec<String> = board
        .events(Some(&id), 1, 10)
        .unwrap()
        .into_iter()
        .map(|event| format!("{} {:?} {}", event.kind, event.run, event.payload.unwrap()))
        .collect();
    assert_eq!(
        payloads,
        [
            r#"blocked Some(1) {"reason": "need é", "kind": "needs_input", "recurrences": 1}"#,
            r#"block_loop_detected None {"reason": null, "kind": "needs_input", "recurrences": 2, "limit": 2}"#,
        ]
    );
    assert_eq!(board.task(&id).unwrap().unwrap().status, "triage");
}

#[test]
fn a_finished_parent_makes_its_children_ready() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let parent = create_task(&mut board, &new_task("parent"), 100).unwrap();
    let other = create_task(&mut board, &new_task("other"), 100).unwrap();
    for (child, status) in [("t_free", "todo"), ("t_tied", "todo"), ("t_stuck", "blocked")] {
        test.task(child);
        test.run(&format!(
            "UPDATE tasks SET status = '{status}' WHERE id = '{child}';
             INSERT INTO task_links VALUES ('{parent}', '{child}')"
        ));
    }
    test.event("t_stuck", "blocked");
    test.run(&format!("INSERT INTO task_links VALUES ('{other}', 't_tied')"));
    complete(&mut board, &parent, &Completion::default(), 110).unwrap();
    let status = |board: &mut Board, id: &str| board.task(id).unwrap().unwrap().status;
    assert_eq!(status(&mut board, "t_free"), "ready");
    assert_eq!(status(&mut board, "t_tied"), "todo");
    assert_eq!(status(&mut board, "t_stuck"), "blocked");
    let last = board.events(Some("t_free"), 0, 10).unwrap().pop().unwrap();
    assert_eq!((last.kind.as_str(), last.payload), ("promoted", None));
}

#[test]
fn a_subscription_starts_caught_up_and_is_filled_not_overwritten() {
    let newer = format!(
        "{SHAPE} ALTER TABLE kanban_notify_subs ADD COLUMN chat_type TEXT;
         ALTER TABLE kanban_notify_subs ADD COLUMN delivery_mode TEXT NOT NULL DEFAULT 'notify';"
    );
    for ddl in [SHAPE, newer.as_str()] {
        let mut test = TestBoard::shaped(ddl);
        let mut board = test.open();
        let id = create_task(&mut board, &new_task("one"), 100).unwrap();
        let mut new = NewSubscription {
            key: key(&id, "session"),
            user: None,
            owner: Some("us.default".into()),
            mode: None,
        };
        assert!(subscribe(&mut board, &new, 120).unwrap());
        assert_eq!(test.cursor(&id), 1);
        if board.features().delivery_mode {
            assert_eq!(
                test.text("SELECT delivery_mode || chat_type FROM kanban_notify_subs").as_deref(),
                Some("notify+wakedm")
            );
        }
        new.owner = Some("somebody".into());
        new.user = Some("me".into());
        new.mode = Some("wake".into());
        assert!(!subscribe(&mut board, &new, 130).unwrap());
        let row = board.subscriptions(0, 9).unwrap().0.pop().unwrap();
        assert_eq!((row.created_at, row.owner.as_deref()), (120, Some("us.default")));
        // Hermes fills it in since it has modes of delivery.
        assert_eq!(row.user.is_some(), board.features().delivery_mode);
        if board.features().delivery_mode {
            assert_eq!(row.mode.as_deref(), Some("wake"));
        }
        assert!(unsubscribe(&mut board, &new.key).unwrap());
        assert!(!unsubscribe(&mut board, &new.key).unwrap());
        new.key.task = "t_none".into();
        assert!(matches!(subscribe(&mut board, &new, 140), Err(StoreError::UnknownTask { .. })));
    }
    // Keeps the helper used where only some features are on.
    let folder = tempfile::tempdir().unwrap();
    drop(create(&folder.path().join("x.db"), SHAPE));
}
