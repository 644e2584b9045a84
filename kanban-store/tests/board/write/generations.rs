//! Files of other generations: each is written as its own Hermes would write it (law B2).

use kanban_store::{
    StoreError,
    write::{
        BlockKind, Claimant, Handover, Promotion, Start, Stop, TaskOptions, Workspace, archive,
        block_with, claim, claim_review, complete_with, create_task_with, depend, link, promote,
        recompute_ready, request_changes, request_review, schedule, unblock, unlink,
    },
};

use super::*;

/// What a file of 0.17 lacks, and each one before it.
const BEFORE_0_18: &str = "ALTER TABLE tasks DROP COLUMN block_kind;
     ALTER TABLE tasks DROP COLUMN block_recurrences; ALTER TABLE tasks DROP COLUMN project_id;";
const BEFORE_0_16: &str = "ALTER TABLE tasks DROP COLUMN goal_mode;
     ALTER TABLE tasks DROP COLUMN goal_max_turns; DROP TABLE task_attachments;";
const BEFORE_0_15: &str = "DROP INDEX idx_tasks_session_id;
     ALTER TABLE tasks DROP COLUMN session_id; ALTER TABLE tasks DROP COLUMN branch_name;
     ALTER TABLE tasks DROP COLUMN model_override;";

/// What is there after 0.19.
const AFTER_0_19: &str = "ALTER TABLE tasks ADD COLUMN provider_override TEXT;
     ALTER TABLE tasks ADD COLUMN completion_contract TEXT;
     ALTER TABLE kanban_notify_subs ADD COLUMN chat_type TEXT;
     ALTER TABLE kanban_notify_subs ADD COLUMN user_id_alt TEXT;
     ALTER TABLE kanban_notify_subs ADD COLUMN delivery_mode TEXT NOT NULL DEFAULT 'notify';
     ALTER TABLE kanban_notify_subs ADD COLUMN delivery_metadata TEXT;";

/// A board of a Hermes of this generation: `0.13`, `0.15`, `0.17`, `0.18` or `main`.
pub(super) fn generation(release: &str) -> TestBoard {
    let steps: &[&str] = match release {
        "0.13" => &[BEFORE_0_18, BEFORE_0_16, BEFORE_0_15],
        "0.15" => &[BEFORE_0_18, BEFORE_0_16],
        "0.17" => &[BEFORE_0_18],
        "0.18" => &[],
        _ => &[AFTER_0_19],
    };
    TestBoard::shaped(&format!("{SHAPE} {}", steps.concat()))
}

fn worker() -> Claimant {
    Claimant { lock: "host:1".into(), seconds: 60 }
}

#[test]
fn b2_a_new_task_tells_what_its_hermes_tells() {
    for (release, told) in [
        ("0.13", r#""parents": [], "tenant": null, "skills": null}"#),
        ("0.15", r#""parents": [], "tenant": null, "branch_name": null, "skills": null}"#),
        ("0.17", r#""tenant": null, "branch_name": null, "skills": null, "goal_mode": null}"#),
        ("0.18", r#""tenant": null, "branch_name": null, "skills": null, "goal_mode": null}"#),
        (
            "main",
            r#""parents": [], "creator_task_id": null, "tenant": null, "workspace_kind": "scratch", "workspace_path": null, "branch_name": null, "project_id": null, "skills": null, "goal_mode": null, "model_override": null, "provider_override": null}"#,
        ),
    ] {
        let test = generation(release);
        let mut board = test.open();
        let id = make(&mut board, "one");
        let created = last(&mut board, &id);
        assert!(created.ends_with(told), "{release}: {created}");
    }
}

#[test]
fn b2_what_a_board_cannot_hold_is_refused_and_a_session_is_dropped() {
    let options = TaskOptions::default();
    let branch = TaskOptions {
        workspace: Workspace::Worktree,
        branch: Some("b".into()),
        ..TaskOptions::default()
    };
    let blocked = TaskOptions { start: Start::Blocked, ..TaskOptions::default() };
    let goal = TaskOptions { goal_mode: true, ..TaskOptions::default() };
    for (release, refusals) in [
        ("0.13", [false, true, true, true]),
        ("0.15", [false, false, false, true]),
        ("0.17", [false; 4]),
        ("main", [false; 4]),
    ] {
        let mut test = generation(release);
        let mut board = test.open();
        let new = NewTask { session_id: Some("s".into()), ..new_task("x") };
        for (options, is_refused) in [&options, &branch, &blocked, &goal].into_iter().zip(refusals)
        {
            if is_refused {
                let refusal =
                    refused(&mut test, || create_task_with(&mut board, &new, options, 101));
                assert!(matches!(refusal, StoreError::BoardTooOld { .. }), "{release}: {refusal}");
            } else {
                create_task_with(&mut board, &new, options, 101).unwrap();
            }
        }
    }
}

#[test]
fn b2_operations_that_a_hermes_does_not_know_are_refused() {
    let stop = Stop::default();
    let by = Promotion::default();
    for release in ["0.13", "0.15", "0.17", "0.18", "main"] {
        let mut test = generation(release);
        let mut board = test.open();
        let id = make(&mut board, "one");
        let at_least = |wanted: &str| release == "main" || release >= wanted;
        let too_old = |refusal: StoreError| matches!(refusal, StoreError::BoardTooOld { .. });
        let mut check = |known: bool, operation: &mut dyn FnMut() -> Result<(), StoreError>| {
            // Known operations are refused here as well, but for another reason.
            assert_eq!(too_old(refused(&mut test, operation)), !known, "{release}");
        };
        check(at_least("0.18"), &mut || depend(&mut board, "t_none", &stop, 1).map(drop));
        check(at_least("0.15"), &mut || schedule(&mut board, "t_none", &stop, 1).map(drop));
        check(at_least("0.15"), &mut || promote(&mut board, &id, &by, 1).map(drop));
        check(at_least("0.15"), &mut || claim_review(&mut board, &id, &worker(), 1).map(drop));
        let review = kanban_store::write::Review::default();
        let main = release == "main";
        check(main, &mut || request_review(&mut board, "t_none", &review, 1).map(drop));
        check(main, &mut || request_changes(&mut board, &id, "why", None, 1).map(drop));
    }
}

#[test]
fn b2_a_block_counts_where_it_is_counted() {
    for (release, told) in [
        ("0.13", r#"blocked 1 {"reason": "x"}"#),
        ("0.17", r#"blocked 1 {"reason": "x"}"#),
        ("0.18", r#"blocked 1 {"reason": "x", "kind": "transient", "recurrences": 1}"#),
        (
            "main",
            r#"blocked 1 {"reason": "x", "kind": "transient", "recurrences": 1, "source_status": "ready"}"#,
        ),
    ] {
        let mut test = generation(release);
        let mut board = test.open();
        let id = make(&mut board, "one");
        let stop = Stop { reason: Some("x".into()), run: None };
        block_with(&mut board, &id, &stop, Some(BlockKind::Transient), 101).unwrap();
        assert_eq!(last(&mut board, &id), told);
        test.run("UPDATE tasks SET consecutive_failures = 1");
        unblock(&mut board, &id, 102).unwrap();
        let left = i64::from(release == "0.13");
        assert_eq!(test.int("SELECT consecutive_failures FROM tasks"), Some(left), "{release}");
        let again = block_with(&mut board, &id, &stop, Some(BlockKind::Transient), 103).unwrap();
        let counted = matches!(again, Blocked::Loop(_));
        assert_eq!(counted, matches!(release, "0.18" | "main"), "{release}");
    }
}

#[test]
fn b2_a_task_comes_through_its_life_on_every_board() {
    for release in ["0.13", "0.15", "0.17", "0.18", "main"] {
        let test = generation(release);
        let mut board = test.open();
        let (parent, child) = (make(&mut board, "parent"), make(&mut board, "child"));
        link(&mut board, &parent, &child, 101).unwrap();
        let run = claim(&mut board, &parent, &worker(), 102).unwrap().run;
        let handover = Handover {
            artifacts: vec!["/out/a.png".into()],
            run: Some(run),
            ..Handover::default()
        };
        let event =
            complete_with(&mut board, &parent, &Completion::default(), &handover, 103).unwrap();
        let completed = board.events(Some(&parent), event - 1, 1).unwrap().pop().unwrap();
        // Files are told of since 0.15.
        let told = completed.payload.unwrap();
        assert_eq!(told.contains("artifacts"), release != "0.13", "{release}: {told}");
        assert_eq!(status(&mut board, &child), "ready", "{release}");

        // An archived parent lets its children go at once, since 0.15.
        let (next, last_one) = (make(&mut board, "next"), make(&mut board, "last"));
        link(&mut board, &next, &last_one, 104).unwrap();
        archive(&mut board, &next, 105).unwrap();
        let freed = status(&mut board, &last_one);
        assert_eq!(freed, if release == "0.13" { "todo" } else { "ready" }, "{release}");
        unlink(&mut board, &next, &last_one, 106).unwrap();
        assert_eq!(status(&mut board, &last_one), "ready", "{release}");
    }
}

#[test]
fn b2_a_failed_task_is_tried_again_as_its_hermes_tries_it() {
    for (release, promoted, failures) in
        [("0.13", 0, 5), ("0.15", 1, 0), ("0.17", 0, 5), ("0.18", 0, 5), ("main", 0, 5)]
    {
        let mut test = generation(release);
        let mut board = test.open();
        make(&mut board, "one");
        test.run("UPDATE tasks SET status = 'blocked', consecutive_failures = 5");
        assert_eq!(recompute_ready(&mut board, 101).unwrap(), promoted, "{release}");
        assert_eq!(test.int("SELECT consecutive_failures FROM tasks"), Some(failures), "{release}");
    }
}

#[test]
fn b2_an_owner_is_filled_in_since_0_15() {
    for release in ["0.13", "0.15"] {
        let mut test = generation(release);
        let mut board = test.open();
        let id = make(&mut board, "one");
        let mut new =
            NewSubscription { key: key(&id, "chat"), user: None, owner: None, mode: None };
        subscribe(&mut board, &new, 101).unwrap();
        new.owner = Some("us".into());
        subscribe(&mut board, &new, 102).unwrap();
        let owner = test.text("SELECT notifier_profile FROM kanban_notify_subs");
        assert_eq!(owner.is_some(), release == "0.15");
        // An empty one takes nothing over.
        new.key.chat = "other".into();
        new.owner = None;
        subscribe(&mut board, &new, 103).unwrap();
        new.owner = Some(String::new());
        subscribe(&mut board, &new, 104).unwrap();
        let owner = "SELECT notifier_profile FROM kanban_notify_subs WHERE chat_id = 'other'";
        assert_eq!(test.text(owner), None);
    }
}
