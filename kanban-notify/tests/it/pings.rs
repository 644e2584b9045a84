//! What is told of each kind of event, from its payload on the board to the text.

use kanban_notify::{
    event::{Event, Kind, Task},
    facts::facts,
    ids::EventId,
    text::ping,
    time::Timestamp,
};

/// The text about an event of this kind with this payload.
fn told(kind: &str, payload: &str) -> String {
    let event = Event {
        id: EventId(7),
        task: "t_0a1b2c3d".into(),
        kind: Kind::parse(kind),
        payload: Some(payload.into()),
        payload_cut: None,
        run: None,
        created_at: Timestamp::from_secs(1_796_042_476),
    };
    let task = Task {
        title: "Build the report".into(),
        assignee: Some("writer".into()),
        ..Task::default()
    };
    ping::text(&facts(&event, Some(&task)), "ops", false)
}

#[test]
fn each_kind_tells_what_its_event_says() {
    let all = [
        ("completed", r#"{"result_len": 9, "summary": "14 pages\nand more"}"#),
        ("blocked", r#"{"reason": "which year?", "kind": "needs_input", "recurrences": 1}"#),
        ("blocked", r#"{"reason": "initial_status", "status": "blocked", "actor": "user"}"#),
        ("gave_up", r#"{"failures": 3, "effective_limit": 3, "error": "no such model"}"#),
        ("crashed", r#"{"pid": 7, "claimer": "host:7"}"#),
        ("timed_out", r#"{"pid": 7, "elapsed_seconds": 61, "limit_seconds": 60}"#),
        ("timed_out", r#"{"error": "no more turns", "budget_used": 9, "budget_max": 9}"#),
        ("timed_out", r#"{"limit_seconds": 0}"#),
        ("status", r#"{"status": "ready"}"#),
        ("review_requested", r#"{"summary": "ready", "implementer": "writer", "reviewer": "ann"}"#),
        ("changes_requested", r#"{"reason": "typo", "implementer": "writer", "reviewer": "ann"}"#),
        ("block_loop_detected", r#"{"reason": "which year?", "recurrences": 2, "limit": 2}"#),
    ];
    let all: Vec<String> = all.iter().map(|(kind, payload)| told(kind, payload)).collect();
    insta::assert_snapshot!(all.join("\n\n"), @r"
    Build the report was completed.
    Summary: 14 pages
    (t_0a1b2c3d on ops, @writer)

    Build the report is blocked and needs input.
    Reason: which year?
    (t_0a1b2c3d on ops, @writer)

    Build the report is blocked.
    (t_0a1b2c3d on ops, @writer)

    Build the report was given up after 3 failed attempts.
    Error: no such model
    (t_0a1b2c3d on ops, @writer)

    Build the report lost its worker: the process ended unexpectedly; another attempt is expected.
    (t_0a1b2c3d on ops, @writer)

    Build the report ran into its time limit of 60 s.
    (t_0a1b2c3d on ops, @writer)

    Build the report used up its iteration budget (9 of 9).
    Error: no more turns
    (t_0a1b2c3d on ops, @writer)

    Build the report ran into a limit.
    (t_0a1b2c3d on ops, @writer)

    Build the report was moved to ready.
    (t_0a1b2c3d on ops, @writer)

    Build the report is ready for review.
    Summary: ready
    Reviewer: ann
    Implementer: writer
    (t_0a1b2c3d on ops)

    Build the report came back from review with changes requested.
    Reason: typo
    Reviewer: ann
    Implementer: writer
    (t_0a1b2c3d on ops)

    Build the report was blocked for the same reason 2 times and is in triage.
    Reason: which year?
    (t_0a1b2c3d on ops, @writer)
    ");
}
