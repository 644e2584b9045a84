//! Claims, heartbeats and what ends an attempt.

use kanban_store::{
    StoreError,
    write::{
        CLAIM_SECONDS, Claim, Claimant, Completion, Handover, Metadata, archive, claim,
        claim_review, complete, complete_with, extend_claim, heartbeat, link, unblock,
    },
};

use super::*;

fn worker(lock: &str) -> Claimant {
    Claimant { lock: lock.into(), seconds: CLAIM_SECONDS }
}

fn summary(text: &str) -> Completion {
    Completion { result: None, summary: Some(text.into()) }
}

#[test]
fn a_claim_begins_an_attempt() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    test.run("UPDATE tasks SET max_runtime_seconds = 60, current_step_key = 'build'");
    let won = claim(&mut board, &id, &worker("host:1"), 200).unwrap();
    assert_eq!(won, Claim { run: 1, expires: 1_100, event: 2 });
    let payload = r#"claimed 1 {"lock": "host:1", "expires": 1100, "run_id": 1}"#;
    assert_eq!(last(&mut board, &id), payload);
    let row =
        "SELECT status || claim_lock || claim_expires || started_at || current_run_id FROM tasks";
    assert_eq!(test.text(row).as_deref(), Some("runninghost:111002001"));
    let row = "SELECT profile || step_key || status || claim_lock || claim_expires || \
               max_runtime_seconds || started_at FROM task_runs";
    assert_eq!(test.text(row).as_deref(), Some("adabuildrunninghost:1110060200"));
    let refusal = refused(&mut test, || claim(&mut board, &id, &worker("host:2"), 201));
    assert_eq!(
        refusal.to_string(),
        format!("cannot claim task {id}: it is running; it has to be ready")
    );
    assert!(matches!(
        refused(&mut test, || claim(&mut board, "t_none", &worker("host:2"), 201)),
        StoreError::UnknownTask { .. }
    ));
    // A second attempt keeps the first start. The claim holds for a second at least.
    test.run("UPDATE tasks SET status = 'ready', claim_lock = NULL");
    let hasty = Claimant { lock: "host:3".into(), seconds: -5 };
    assert_eq!(claim(&mut board, &id, &hasty, 300).unwrap().expires, 301);
    assert_eq!(test.int("SELECT started_at FROM tasks"), Some(200));
    // The first one had been left open.
    let row = "SELECT status || outcome || ended_at FROM task_runs WHERE id = 1";
    assert_eq!(test.text(row).as_deref(), Some("reclaimedreclaimed300"));
    // Ready, but not free.
    test.run("UPDATE tasks SET status = 'ready', current_run_id = NULL");
    let refusal = refused(&mut test, || claim(&mut board, &id, &worker("host:2"), 301));
    assert!(matches!(refusal, StoreError::Claimed { holder, .. } if holder == "host:3"));
}

#[test]
fn a_claim_on_what_waits_is_refused_and_leaves_an_event() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    link(&mut board, &parent, &child, 101).unwrap();
    test.run(&format!("UPDATE tasks SET status = 'ready' WHERE id = '{child}'"));
    let refusal = claim(&mut board, &child, &worker("host:1"), 102).unwrap_err();
    let StoreError::ParentsOpen { parents, .. } = refusal else { panic!("{refusal}") };
    assert_eq!(parents, [parent.as_str()]);
    assert_eq!(status(&mut board, &child), "todo");
    assert_eq!(last(&mut board, &child), r#"claim_rejected - {"reason": "parents_not_done"}"#);
    archive(&mut board, &parent, 103).unwrap();
    claim(&mut board, &child, &worker("host:1"), 104).unwrap();
}

#[test]
fn a_review_is_claimed_whatever_the_parents_do() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    link(&mut board, &parent, &child, 101).unwrap();
    assert!(matches!(
        refused(&mut test, || claim_review(&mut board, &child, &worker("r:1"), 102)),
        StoreError::WrongStatus { .. }
    ));
    test.run("UPDATE tasks SET status = 'review'");
    claim_review(&mut board, &child, &worker("r:1"), 103).unwrap();
    assert_eq!(
        last(&mut board, &child),
        r#"claimed 1 {"lock": "r:1", "expires": 1003, "run_id": 1, "source_status": "review"}"#
    );
}

#[test]
fn a_heartbeat_is_heard_while_the_attempt_goes_on() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    assert!(matches!(
        refused(&mut test, || heartbeat(&mut board, &id, None, None, 101)),
        StoreError::WrongStatus { .. }
    ));
    let run = claim(&mut board, &id, &worker("host:1"), 102).unwrap().run;
    heartbeat(&mut board, &id, Some("half é"), Some(run), 103).unwrap();
    assert_eq!(last(&mut board, &id), r#"heartbeat 1 {"note": "half é"}"#);
    heartbeat(&mut board, &id, Some(""), None, 104).unwrap();
    assert_eq!(last(&mut board, &id), "heartbeat 1 NULL");
    let beat = "SELECT t.last_heartbeat_at || r.last_heartbeat_at FROM tasks t, task_runs r";
    assert_eq!(test.text(beat).as_deref(), Some("104104"));
    let refusal = refused(&mut test, || heartbeat(&mut board, &id, None, Some(7), 105));
    assert!(matches!(refusal, StoreError::RunOver { run: 7, .. }));

    assert_eq!(extend_claim(&mut board, &id, &worker("host:1"), 105).unwrap(), 1_005);
    let both = "SELECT t.claim_expires || r.claim_expires FROM tasks t, task_runs r";
    assert_eq!(test.text(both).as_deref(), Some("10051005"));
    let refusal = refused(&mut test, || extend_claim(&mut board, &id, &worker("host:2"), 106));
    assert!(matches!(refusal, StoreError::ClaimLost { lock, .. } if lock == "host:2"));
}

#[test]
fn a_completion_hands_over_what_came_of_it() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    let made = create_task(
        &mut board,
        &NewTask { created_by: Some("ada".into()), ..new_task("made on the way") },
        101,
    )
    .unwrap();
    let run = claim(&mut board, &id, &worker("host:1"), 102).unwrap().run;
    test.run("UPDATE tasks SET consecutive_failures = 1, last_failure_error = 'x'");
    let handover = Handover {
        metadata: Metadata::parse(r#"{"tests": 12, "artifacts": ["/out/a.png"]}"#).unwrap(),
        artifacts: vec!["/out/b.png".into(), "/out/a.png".into()],
        created: vec![format!(" {made} "), made.clone()],
        run: Some(run),
    };
    let said = summary(&format!("did {made} and t_deadbeef1\nmore"));
    let event = complete_with(&mut board, &id, &said, &handover, 110).unwrap();
    let events = board.events(Some(&id), event - 1, 10).unwrap();
    let payload = format!(
        r#"{{"result_len": 0, "summary": "did {made} and t_deadbeef1", "verified_cards": ["{made}"], "artifacts": ["/out/a.png", "/out/b.png"]}}"#
    );
    assert_eq!(events[0].payload.as_deref(), Some(payload.as_str()));
    assert_eq!(
        last(&mut board, &id),
        r#"suspected_hallucinated_references 1 {"phantom_refs": ["t_deadbeef1"], "source": "completion_summary"}"#
    );
    let row =
        "SELECT status || outcome || ended_at || metadata || (claim_lock IS NULL) FROM task_runs";
    assert_eq!(
        test.text(row).as_deref(),
        Some(r#"donecompleted110{"tests": 12, "artifacts": ["/out/a.png", "/out/b.png"]}1"#)
    );
    let row = format!(
        "SELECT status || completed_at || consecutive_failures || coalesce(last_failure_error, '-') \
         FROM tasks WHERE id = '{id}'"
    );
    assert_eq!(test.text(&row).as_deref(), Some("done1100-"));
}

#[test]
fn a_completion_is_refused_for_tasks_that_the_worker_did_not_make() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (id, other, child) =
        (make(&mut board, "one"), make(&mut board, "other"), make(&mut board, "child"));
    link(&mut board, &id, &child, 101).unwrap();
    let handover = |cards: &[&str]| Handover {
        created: cards.iter().map(|card| (*card).to_owned()).collect(),
        ..Handover::default()
    };
    // Made by somebody else and not linked; not there at all.
    let named = handover(&[&other, "t_00000000", &child]);
    let refusal = complete_with(&mut board, &id, &summary("done"), &named, 102).unwrap_err();
    assert!(matches!(refusal, StoreError::PhantomCards { cards, .. } if cards.len() == 2));
    assert_eq!(status(&mut board, &id), "ready");
    assert_eq!(
        last(&mut board, &id),
        format!(
            r#"completion_blocked_hallucination - {{"phantom_cards": ["{other}", "t_00000000"], "verified_cards": ["{child}"], "summary_preview": "done"}}"#
        )
    );
    // A preview of nothing is none.
    let silent = Completion { result: Some(" ".into()), summary: Some(String::new()) };
    let blank = || complete_with(&mut board, &id, &silent, &named, 103);
    assert!(matches!(refused(&mut test, blank), StoreError::Blank { .. }));
    // Nothing is written about a task that is not there.
    let unknown = || complete_with(&mut board, "t_none", &summary("x"), &handover(&["t_a"]), 103);
    assert!(matches!(refused(&mut test, unknown), StoreError::UnknownTask { .. }));
    complete_with(&mut board, &id, &silent, &handover(&[&child]), 104).unwrap();
}

#[test]
fn a_completion_is_refused_whole() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let id = make(&mut board, "one");
    claim(&mut board, &id, &worker("host:1"), 101).unwrap();
    let blank = refused(&mut test, || complete(&mut board, &id, &summary(" \n"), 102));
    assert_eq!(blank.to_string(), "the summary is blank: give one with something in it");
    let late = Handover { run: Some(99), ..Handover::default() };
    let late = || complete_with(&mut board, &id, &summary("late"), &late, 102);
    assert!(matches!(refused(&mut test, late), StoreError::RunOver { run: 99, .. }));
    // What lies in the temporary folder goes away with it.
    test.run("UPDATE tasks SET workspace_path = '/tmp/ws/one'");
    let files = Handover { artifacts: vec!["/tmp/ws/one/a.png".into()], ..Handover::default() };
    let lost = || complete_with(&mut board, &id, &summary("files"), &files, 102);
    assert!(matches!(refused(&mut test, lost), StoreError::ScratchArtifact { .. }));
    test.run("UPDATE tasks SET workspace_path = '/tmp/ws/on', status = 'review'");
    // Hermes 0.19 completes no reviews.
    let review = || complete_with(&mut board, &id, &summary("files"), &files, 102);
    assert!(matches!(refused(&mut test, review), StoreError::WrongStatus { .. }));
    test.run("UPDATE tasks SET status = 'running'");
    complete_with(&mut board, &id, &summary("files"), &files, 102).unwrap();
}

#[test]
fn what_is_archived_ends_its_attempt_and_holds_nobody_up() {
    let mut test = TestBoard::new();
    let mut board = test.open();
    let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
    link(&mut board, &parent, &child, 101).unwrap();
    claim(&mut board, &parent, &worker("host:1"), 102).unwrap();
    archive(&mut board, &parent, 103).unwrap();
    assert_eq!(last(&mut board, &parent), "archived 1 NULL");
    let row = "SELECT status || outcome || ended_at FROM task_runs";
    assert_eq!(test.text(row).as_deref(), Some("reclaimedreclaimed103"));
    assert_eq!(last(&mut board, &child), "promoted - NULL");
    assert!(matches!(
        refused(&mut test, || archive(&mut board, &parent, 104)),
        StoreError::WrongStatus { .. }
    ));
    // Nobody worked on this one, and no attempt is made up.
    archive(&mut board, &child, 105).unwrap();
    assert_eq!(last(&mut board, &child), "archived - NULL");
    assert!(matches!(
        refused(&mut test, || unblock(&mut board, &child, 106)),
        StoreError::WrongStatus { .. }
    ));
}
