//! What a new task may say besides.

use kanban_store::{
    StoreError,
    write::{Start, TaskOptions, Workspace, archive, create_task_with},
};

use super::*;

fn parents(ids: &[&String]) -> TaskOptions {
    TaskOptions { parents: ids.iter().map(|id| (*id).clone()).collect(), ..TaskOptions::default() }
}

#[test]
fn every_option_is_written() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let parent = make(&mut board, "parent");
    let new = NewTask {
        body: Some("body".into()),
        session_id: Some("s-1".into()),
        idempotency_key: Some("k".into()),
        priority: 3,
        ..new_task("all")
    };
    let options = TaskOptions {
        parents: vec![parent.clone(), String::new(), parent.clone()],
        start: Start::Normal,
        workspace: Workspace::Worktree,
        workspace_path: Some("/repo".into()),
        branch: Some(" feature ".into()),
        tenant: Some("acme".into()),
        max_runtime_seconds: Some(60),
        skills: Some(vec![" é ".into(), "b".into(), "é".into(), String::new()]),
        max_retries: Some(0),
        goal_mode: true,
        goal_max_turns: Some(9),
    };
    let id = create_task_with(&mut board, &new, &options, 110).unwrap();
    assert_eq!(
        last(&mut board, &id),
        format!(
            r#"created - {{"assignee": "ada", "status": "todo", "parents": ["{parent}", "{parent}"], "tenant": "acme", "branch_name": "feature", "skills": ["é", "b"], "goal_mode": true}}"#
        )
    );
    let row = format!(
        "SELECT status || priority || workspace_kind || workspace_path || branch_name || tenant || \
         max_runtime_seconds || skills || max_retries || goal_mode || goal_max_turns || session_id || \
         idempotency_key || coalesce(project_id, '-') FROM tasks WHERE id = '{id}'"
    );
    let stored = r#"todo3worktree/repofeatureacme60["\u00e9", "b"]019s-1k-"#;
    assert_eq!(test.text(&row).as_deref(), Some(stored));
    assert_eq!(test.int("SELECT count(*) FROM task_links"), Some(1));
}

#[test]
fn a_task_begins_where_its_parents_let_it() {
    let test = TestBoard::new();
    let mut board = test.open();
    let (open, done, away) =
        (make(&mut board, "open"), make(&mut board, "done"), make(&mut board, "away"));
    complete(&mut board, &done, &Completion::default(), 101).unwrap();
    archive(&mut board, &away, 101).unwrap();
    for (options, begins) in [
        (parents(&[&done]), "ready"),
        (parents(&[&done, &open]), "todo"),
        (parents(&[&away]), "todo"),
        (TaskOptions { start: Start::Triage, ..parents(&[&open]) }, "triage"),
        (TaskOptions { start: Start::Blocked, ..parents(&[&open]) }, "blocked"),
    ] {
        let id = create_task_with(&mut board, &new_task("x"), &options, 102).unwrap();
        assert_eq!(status(&mut board, &id), begins, "{options:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let skills =
        |name: &str| TaskOptions { skills: Some(vec![name.into()]), ..TaskOptions::default() };
    let branch = TaskOptions { branch: Some("b".into()), ..TaskOptions::default() };
    for options in [skills("a,b"), skills(" Web "), skills("hermes-cli"), branch] {
        let bad =
            refused(&mut test, || create_task_with(&mut board, &new_task("x"), &options, 101));
        assert!(matches!(bad, StoreError::BadValue { .. }), "{options:?}: {bad}");
    }
    let unknown = TaskOptions { parents: vec!["t_none".into()], ..TaskOptions::default() };
    for start in [Start::Normal, Start::Triage, Start::Blocked] {
        let options = TaskOptions { start, ..unknown.clone() };
        let bad =
            refused(&mut test, || create_task_with(&mut board, &new_task("x"), &options, 101));
        assert_eq!(bad.to_string(), "there are no tasks t_none on this board to wait for");
    }
    let nobody = NewTask { assignee: Some(" ".into()), ..new_task("x") };
    let bad = refused(&mut test, || create_task(&mut board, &nobody, 101));
    assert!(matches!(bad, StoreError::Blank { .. }));
}

#[test]
fn an_empty_key_is_no_key_and_an_archived_task_has_none() {
    let test = TestBoard::new();
    let mut board = test.open();
    let keyed = |key: &str| NewTask { idempotency_key: Some(key.into()), ..new_task("x") };
    let mut create = |key: &str| create_task(&mut board, &keyed(key), 101).unwrap();
    assert_ne!(create(""), create(""));
    let first = create("k");
    assert_eq!(create("k"), first);
    archive(&mut board, &first, 102).unwrap();
    assert_ne!(create_task(&mut board, &keyed("k"), 103).unwrap(), first);
}

#[test]
fn a_folder_that_lasts_is_the_boards_own_unless_one_is_named() {
    let home = tempfile::tempdir().unwrap();
    let named = home.path().join("kanban/boards/ops");
    let about = |folder: &std::path::Path| {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("board.json"), r#"{"default_workdir": "/srv/shed"}"#).unwrap();
    };
    about(&named);
    about(&home.path().join("kanban/boards/default"));
    for path in [home.path().join("kanban.db"), named.join("kanban.db")] {
        drop(create(&path, SHAPE));
        let mut board = Board::open(&path).unwrap();
        let mut foreign = TestBoard {
            folder: tempfile::tempdir().unwrap(),
            path: path.clone(),
            foreign: super::super::support::foreign(&path),
        };
        for (workspace, path, kept) in [
            (Workspace::Dir, None, "/srv/shed"),
            (Workspace::Worktree, None, "/srv/shed"),
            (Workspace::Dir, Some("/mine"), "/mine"),
            (Workspace::Scratch, None, "none"),
        ] {
            let options = TaskOptions {
                workspace,
                workspace_path: path.map(str::to_owned),
                ..TaskOptions::default()
            };
            let id = create_task_with(&mut board, &new_task("x"), &options, 101).unwrap();
            let row =
                format!("SELECT coalesce(workspace_path, 'none') FROM tasks WHERE id = '{id}'");
            assert_eq!(foreign.text(&row).as_deref(), Some(kept), "{workspace:?}");
        }
    }
}
