//! Hand-overs for review and what else is new, on boards of a Hermes after 0.19.

use kanban_store::{
    StoreError,
    write::{
        Claimant, HandedBack, Handover, Metadata, Promotion, Review, Stop, TaskOptions, archive,
        block_with, claim, claim_review, complete_with, create_task_with, depend, link, promote,
        recompute_ready, request_changes, request_review, unblock,
    },
};

use super::{generations::generation, *};

fn worker(lock: &str) -> Claimant {
    Claimant { lock: lock.into(), seconds: 60 }
}

fn review(run: Option<i64>) -> Review {
    Review {
        summary: Some("look at it\nplease".into()),
        reviewer: Some(" Grace ".into()),
        run,
        ..Review::default()
    }
}

#[test]
fn a_task_goes_to_the_reviewer_and_back() {
    let mut test = generation("main");
    let mut board = test.open();
    let id = make(&mut board, "one");
    let run = claim(&mut board, &id, &worker("ada:1"), 101).unwrap().run;
    // Without a word on whose attempt it is, nobody's claim is taken away.
    let busy = refused(&mut test, || request_review(&mut board, &id, &review(None), 102));
    assert!(matches!(busy, StoreError::Claimed { .. }));
    let late = refused(&mut test, || request_review(&mut board, &id, &review(Some(9)), 102));
    assert!(matches!(late, StoreError::RunOver { .. }));
    let mut first = review(Some(run));
    first.metadata = Metadata::parse(r#"{"artifacts": ["/out/a.png"]}"#).unwrap();
    request_review(&mut board, &id, &first, 103).unwrap();
    assert_eq!(
        last(&mut board, &id),
        r#"review_requested 1 {"summary": "look at it", "implementer": "ada", "reviewer": "grace", "artifacts": ["/out/a.png"]}"#
    );
    let row = "SELECT t.status || assignee || r.status || outcome || summary || metadata || ended_at \
               FROM tasks t, task_runs r";
    let kept =
        "reviewgracereviewreview_requestedlook at it\nplease{\"artifacts\": [\"/out/a.png\"]}103";
    assert_eq!(test.text(row).as_deref(), Some(kept));

    let run = claim_review(&mut board, &id, &worker("grace:1"), 104).unwrap().run;
    let blank = refused(&mut test, || request_changes(&mut board, &id, " ", Some(run), 105));
    assert!(matches!(blank, StoreError::Blank { .. }));
    let back = request_changes(&mut board, &id, " too long ", Some(run), 105).unwrap();
    let HandedBack { implementer, status: to, event: _ } = back;
    assert_eq!((implementer.as_str(), to), ("ada", "ready"));
    assert_eq!(
        last(&mut board, &id),
        r#"changes_requested 2 {"reason": "too long", "implementer": "ada", "reviewer": "grace", "status": "ready"}"#
    );
    let row = "SELECT t.status || assignee || r.status || outcome || summary \
               FROM tasks t, task_runs r WHERE r.id = 2";
    assert_eq!(test.text(row).as_deref(), Some("readyadareadychanges_requestedtoo long"));

    // Who asked for changes looks at it again, unless somebody else is named.
    let again = Review { summary: None, reviewer: None, ..review(None) };
    request_review(&mut board, &id, &again, 106).unwrap();
    assert_eq!(
        last(&mut board, &id),
        r#"review_requested - {"summary": null, "implementer": "ada", "reviewer": "grace"}"#
    );
    complete(&mut board, &id, &Completion::default(), 107).unwrap();
    // Somebody approved without a word, and something is said all the same.
    let told = last(&mut board, &id);
    assert!(told.starts_with(r#"completed 3 {"result_len": 0, "summary": "Approved"#), "{told}");
    let row = "SELECT metadata FROM task_runs WHERE id = 3";
    let kept = r#"{"source_status": "review", "approval": "manual"}"#;
    assert_eq!(test.text(row).as_deref(), Some(kept));
}

#[test]
fn a_review_needs_to_know_who_and_what() {
    let mut test = generation("main");
    let mut board = test.open();
    let id = make(&mut board, "one");
    claim(&mut board, &id, &worker("ada:1"), 101).unwrap();
    let no_review = refused(&mut test, || request_changes(&mut board, &id, "why", None, 102));
    assert!(matches!(no_review, StoreError::NoReview { .. }));
    request_review(&mut board, &id, &Review { force: true, ..review(None) }, 103).unwrap();
    let run = claim_review(&mut board, &id, &worker("grace:1"), 104).unwrap().run;
    test.run("UPDATE task_events SET payload = '{' WHERE kind = 'review_requested'");
    let nobody = refused(&mut test, || request_changes(&mut board, &id, "why", Some(run), 105));
    assert!(matches!(nobody, StoreError::NoReview { .. }));
    test.run(
        "UPDATE tasks SET status = 'ready', claim_lock = NULL;
         UPDATE task_runs SET outcome = 'changes_requested'",
    );
    let whom = Review { reviewer: None, ..review(None) };
    let nobody = refused(&mut test, || request_review(&mut board, &id, &whom, 106));
    assert!(matches!(nobody, StoreError::NoReview { .. }));
}

#[test]
fn whoever_waits_for_a_parent_is_neither_reviewed_nor_completed() {
    let mut test = generation("main");
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    link(&mut board, &parent, &child, 101).unwrap();
    test.run(&format!("UPDATE tasks SET status = 'review' WHERE id = '{child}'"));
    let done =
        || complete_with(&mut board, &child, &Completion::default(), &Handover::default(), 1);
    assert!(matches!(refused(&mut test, done), StoreError::ParentsOpen { .. }));
    // Out of review it goes back to wait, and an event says so.
    let claimed = claim_review(&mut board, &child, &worker("grace:1"), 102);
    assert!(matches!(claimed, Err(StoreError::ParentsOpen { .. })));
    assert_eq!(
        last(&mut board, &child),
        r#"dependency_wait - {"reason": "parent_reopened", "source_status": "review"}"#
    );
    let by = Promotion { actor: "me".into(), reason: None, force: true };
    let forced = refused(&mut test, || promote(&mut board, &child, &by, 103));
    assert!(matches!(forced, StoreError::ParentsOpen { .. }));
    test.run(&format!("UPDATE tasks SET status = 'ready' WHERE id = '{child}'"));
    let asked = refused(&mut test, || request_review(&mut board, &child, &review(None), 104));
    assert!(matches!(asked, StoreError::ParentsOpen { .. }));
    test.run(&format!("UPDATE tasks SET status = 'todo' WHERE id = '{child}'"));
    // It waits for a review still, and goes on with it.
    archive(&mut board, &parent, 105).unwrap();
    assert_eq!(last(&mut board, &child), r#"promoted - {"status": "review"}"#);
    assert_eq!(status(&mut board, &child), "review");
    test.run(&format!("UPDATE tasks SET status = 'todo' WHERE id = '{child}'"));
    promote(&mut board, &child, &by, 106).unwrap();
    assert_eq!(last(&mut board, &child), r#"promoted_manual - {"actor": "me", "reason": null}"#);
}

#[test]
fn a_review_that_was_blocked_goes_on_as_one() {
    let mut test = generation("main");
    let mut board = test.open();
    let id = make(&mut board, "one");
    test.run("UPDATE tasks SET status = 'review'");
    claim_review(&mut board, &id, &worker("grace:1"), 101).unwrap();
    block_with(&mut board, &id, &Stop::default(), None, 102).unwrap();
    assert_eq!(
        last(&mut board, &id),
        r#"blocked 1 {"reason": null, "kind": null, "recurrences": 1, "source_status": "review"}"#
    );
    assert_eq!(unblock(&mut board, &id, 103).unwrap().status, "review");
    assert_eq!(
        last(&mut board, &id),
        r#"unblocked - {"status": "review", "resume_status": "review"}"#
    );
    claim_review(&mut board, &id, &worker("grace:1"), 104).unwrap();
    depend(&mut board, &id, &Stop::default(), 105).unwrap();
    assert_eq!(
        last(&mut board, &id),
        r#"dependency_wait 2 {"reason": null, "kind": "dependency", "source_status": "review"}"#
    );
    assert_eq!(recompute_ready(&mut board, 106).unwrap(), 1);
    assert_eq!(status(&mut board, &id), "review");
}

#[test]
fn children_hear_what_their_parents_are_told() {
    let mut test = generation("main");
    let mut board = test.open();
    let parent = make(&mut board, "parent");
    test.run(&format!(
        "UPDATE tasks SET tenant = 'acme';
         INSERT INTO kanban_notify_subs (task_id, platform, chat_id, user_id, notifier_profile, \
         created_at, last_event_id, delivery_mode, delivery_metadata) \
         VALUES ('{parent}', 'api_server', 's-1', 'u', 'us', 1, 1, 'wake', '{{\"k\": 1}}')"
    ));
    let options = TaskOptions { parents: vec![parent.clone()], ..TaskOptions::default() };
    let child = create_task_with(&mut board, &new_task("child"), &options, 110).unwrap();
    let other = make(&mut board, "other");
    link(&mut board, &parent, &other, 111).unwrap();
    for (task, heard, made) in [(&child, 2, 110), (&other, 4, 111)] {
        let row = format!(
            "SELECT platform || chat_id || user_id || notifier_profile || created_at || \
             last_event_id || delivery_mode || delivery_metadata || chat_type \
             FROM kanban_notify_subs WHERE task_id = '{task}'"
        );
        let kept = format!("api_servers-1uus{made}{heard}wake{{\"k\": 1}}dm");
        assert_eq!(test.text(&row), Some(kept));
    }
    let tenant = format!("SELECT tenant FROM tasks WHERE id = '{child}'");
    assert_eq!(test.text(&tenant).as_deref(), Some("acme"));
    // A task that begins blocked stays so until somebody unblocks it.
    let options =
        TaskOptions { start: kanban_store::write::Start::Blocked, ..TaskOptions::default() };
    let stuck = create_task_with(&mut board, &new_task("stuck"), &options, 112).unwrap();
    assert_eq!(
        last(&mut board, &stuck),
        r#"blocked - {"reason": "initial_status", "status": "blocked", "actor": "user"}"#
    );
    assert_eq!(recompute_ready(&mut board, 113).unwrap(), 0);
}
