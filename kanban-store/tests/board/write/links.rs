//! Links, comments and assignments.

use kanban_store::{
    StoreError,
    write::{Claimant, assign, claim, comment, link, unlink},
};

use super::*;

#[test]
fn a_link_holds_up_and_its_end_lets_go() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    link(&mut board, &parent, &child, 101).unwrap();
    let payload = format!(r#"{{"parent": "{parent}", "child": "{child}"}}"#);
    assert_eq!(last(&mut board, &child), format!("linked - {payload}"));
    assert_eq!(status(&mut board, &child), "todo");
    // Once more is told once more, and is one link.
    link(&mut board, &parent, &child, 102).unwrap();
    assert_eq!(test.int("SELECT count(*) FROM task_links"), Some(1));
    unlink(&mut board, &parent, &child, 103).unwrap();
    let events = board.events(Some(&child), 0, 10).unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["created", "linked", "linked", "unlinked", "promoted"]);
    assert_eq!(events[3].payload.as_deref(), Some(payload.as_str()));
    assert_eq!(status(&mut board, &child), "ready");
    let gone = refused(&mut test, || unlink(&mut board, &parent, &child, 104));
    assert!(matches!(gone, StoreError::NotLinked { .. }));
    // Of a parent that is done nobody waits.
    complete(&mut board, &parent, &Completion::default(), 105).unwrap();
    link(&mut board, &parent, &child, 106).unwrap();
    assert_eq!(status(&mut board, &child), "ready");
}

#[test]
fn no_task_waits_for_itself() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let ids: Vec<String> = ["a", "b", "c"].map(|title| make(&mut board, title)).to_vec();
    link(&mut board, &ids[0], &ids[1], 101).unwrap();
    link(&mut board, &ids[1], &ids[2], 101).unwrap();
    for (parent, child) in [(2, 0), (1, 0), (1, 1)] {
        let cycle = refused(&mut test, || link(&mut board, &ids[parent], &ids[child], 102));
        assert!(matches!(cycle, StoreError::Cycle { .. }), "{parent} {child}: {cycle}");
    }
    for (parent, child) in [("t_none", &ids[0]), (&ids[0], &"t_none".to_owned())] {
        let unknown = refused(&mut test, || link(&mut board, parent, child, 102));
        assert!(matches!(unknown, StoreError::UnknownTask { task } if task == "t_none"));
    }
    // A circle that somebody else made does not keep us busy for ever.
    test.run(&format!("INSERT INTO task_links VALUES ('{}', '{}')", ids[2], ids[0]));
    let other = make(&mut board, "other");
    link(&mut board, &other, &ids[0], 103).unwrap();
}

#[test]
fn a_comment_is_trimmed_and_its_event_is_not() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    assert_eq!(comment(&mut board, &id, " ada ", "  é\u{a0}", 101).unwrap(), 1);
    let row = "SELECT task_id || author || body || created_at FROM task_comments";
    assert_eq!(test.text(row), Some(format!("{id}adaé101")));
    assert_eq!(last(&mut board, &id), r#"commented - {"author": " ada ", "len": 4}"#);
    for (author, body) in [("ada", " \u{1f}"), ("", "text")] {
        let blank = refused(&mut test, || comment(&mut board, &id, author, body, 102));
        assert!(matches!(blank, StoreError::Blank { .. }));
    }
    let unknown = refused(&mut test, || comment(&mut board, "t_none", "ada", "text", 102));
    assert!(matches!(unknown, StoreError::UnknownTask { .. }));
}

#[test]
fn who_takes_a_task_over_starts_without_the_failures_of_the_one_before() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    test.run("UPDATE tasks SET consecutive_failures = 2, last_failure_error = 'x'");
    assign(&mut board, &id, Some(" ADA "), 101).unwrap();
    assert_eq!(last(&mut board, &id), r#"assigned - {"assignee": "ada"}"#);
    assert_eq!(test.int("SELECT consecutive_failures FROM tasks"), Some(2));
    assign(&mut board, &id, None, 102).unwrap();
    assert_eq!(last(&mut board, &id), r#"assigned - {"assignee": null}"#);
    let row = "SELECT consecutive_failures || coalesce(last_failure_error, '-') || \
               coalesce(assignee, '-') FROM tasks";
    assert_eq!(test.text(row).as_deref(), Some("0--"));
    let blank = refused(&mut test, || assign(&mut board, &id, Some(" "), 103));
    assert!(matches!(blank, StoreError::Blank { .. }));
    let unknown = refused(&mut test, || assign(&mut board, "t_none", None, 103));
    assert!(matches!(unknown, StoreError::UnknownTask { .. }));
    let claimant = Claimant { lock: "host:1".into(), seconds: 60 };
    claim(&mut board, &id, &claimant, 104).unwrap();
    let busy = refused(&mut test, || assign(&mut board, &id, Some("bob"), 105));
    let advice = format!("host:1 works on task {id}: wait for it, or end that attempt first");
    assert_eq!(busy.to_string(), advice);
}
