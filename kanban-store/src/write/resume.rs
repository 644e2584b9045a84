//! Whether a task goes on with work or with a review, on boards of a Hermes after 0.19.

use diesel::{QueryResult, sqlite::SqliteConnection};
use serde_json::{Map, Value};

use super::event;

/// The events that say where a task goes on.
const TELLING: [&str; 14] = [
    "blocked",
    "block_loop_detected",
    "dependency_wait",
    "gave_up",
    "unblocked",
    "changes_requested",
    "review_reopened",
    "status",
    "reclaimed",
    "stale",
    "timed_out",
    "crashed",
    "spawn_failed",
    "rate_limited",
];

/// `review` when the newest of those events says so, else `ready`.
pub(super) fn after_events(
    connection: &mut SqliteConnection,
    task: &str,
) -> QueryResult<&'static str> {
    let keys = ["resume_status", "retry_status", "source_status"];
    Ok(match event::newest(connection, task, None, &TELLING)? {
        Some((_, payload)) if keys.iter().any(|key| says_review(&payload, key)) => "review",
        _ => "ready",
    })
}

/// `review` when this attempt is a reviewer's, else `ready`.
pub(super) fn of_run(
    connection: &mut SqliteConnection,
    task: &str,
    run: Option<i64>,
) -> QueryResult<&'static str> {
    let Some(run) = run else {
        return Ok("ready");
    };
    Ok(match event::newest(connection, task, Some(run), &["claimed"])? {
        Some((_, payload)) if says_review(&payload, "source_status") => "review",
        _ => "ready",
    })
}

fn says_review(payload: &Map<String, Value>, key: &str) -> bool {
    payload.get(key).and_then(Value::as_str) == Some("review")
}
