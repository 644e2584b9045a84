//! A step by the functions of the package.

use serde_json::{Value, json};

use super::*;
use crate::support::hermes::Writer;

/// Does a step; whether it was done, with the id of a created task.
pub(super) async fn apply(
    writer: &mut Writer,
    step: &Step,
    names: &Names,
    slug: &str,
    now: i64,
) -> Verdict {
    let (function, arguments) = call(step, names, slug);
    let arguments = json!({"function": function, "arguments": arguments, "now": now});
    let answer = match writer.try_call("call", arguments).await {
        Ok(answer) => answer,
        Err(error) => {
            // Anything else than a refusal is a fault of this test.
            let known =
                ["ValueError: ", "RuntimeError: ", "HallucinatedCardsError: ", "IndexError: "];
            assert!(known.iter().any(|kind| error.starts_with(kind)), "{step:?}: {error}");
            return Verdict::Refused(error);
        }
    };
    match step {
        Step::Create(_) => Verdict::Created(answer.as_str().expect("an id").to_owned()),
        Step::Claim { .. } | Step::ClaimReview { .. } if answer.is_null() => {
            Verdict::Refused("None".to_owned())
        }
        Step::Unsubscribe { .. } => Verdict::Done,
        _ if answer == false || answer[0] == false => Verdict::Refused(answer.to_string()),
        _ => Verdict::Done,
    }
}

fn call(step: &Step, names: &Names, slug: &str) -> (&'static str, Value) {
    let id = |task: &Task| names.id(*task);
    let run = |task: &Task, run: &Run| names.run(*task, *run);
    match step {
        Step::Create(new) => ("create_task", create(new, names, slug)),
        Step::Claim { task, lock, seconds } => {
            ("claim_task", json!({"task_id": id(task), "claimer": lock, "ttl_seconds": seconds}))
        }
        Step::ClaimReview { task, lock, seconds } => (
            "claim_review_task",
            json!({"task_id": id(task), "claimer": lock, "ttl_seconds": seconds}),
        ),
        Step::Extend { task, lock, seconds } => (
            "heartbeat_claim",
            json!({"task_id": id(task), "claimer": lock, "ttl_seconds": seconds}),
        ),
        Step::Heartbeat { task, note, run: of } => (
            "heartbeat_worker",
            json!({"task_id": id(task), "note": note, "expected_run_id": run(task, of)}),
        ),
        Step::Complete { task, result, summary, metadata, created, run: of } => (
            "complete_task",
            json!({
                "task_id": id(task),
                "result": result.as_deref().map(|text| names.fill(text)),
                "summary": summary.as_deref().map(|text| names.fill(text)),
                "metadata": metadata,
                "created_cards": created.iter().map(id).collect::<Vec<_>>(),
                "expected_run_id": run(task, of),
            }),
        ),
        Step::Block { task, reason, kind, run: of } => (
            "block_task",
            json!({
                "task_id": id(task), "reason": reason, "kind": kind,
                "expected_run_id": run(task, of),
            }),
        ),
        Step::Unblock { task } => ("unblock_task", json!({"task_id": id(task)})),
        Step::Schedule { task, reason, run: of } => (
            "schedule_task",
            json!({"task_id": id(task), "reason": reason, "expected_run_id": run(task, of)}),
        ),
        Step::Promote { task, actor, reason, force } => (
            "promote_task",
            json!({"task_id": id(task), "actor": actor, "reason": reason, "force": force}),
        ),
        Step::Archive { task } => ("archive_task", json!({"task_id": id(task)})),
        Step::Comment { task, author, body } => {
            ("add_comment", json!({"task_id": id(task), "author": author, "body": body}))
        }
        Step::Link { parent, child } => {
            ("link_tasks", json!({"parent_id": id(parent), "child_id": id(child)}))
        }
        Step::Unlink { parent, child } => {
            ("unlink_tasks", json!({"parent_id": id(parent), "child_id": id(child)}))
        }
        Step::Assign { task, profile } => {
            ("assign_task", json!({"task_id": id(task), "profile": profile}))
        }
        Step::Subscribe { task, platform, chat, thread, user, owner } => (
            "add_notify_sub",
            json!({
                "task_id": id(task), "platform": platform, "chat_id": chat, "thread_id": thread,
                "user_id": user, "notifier_profile": owner,
            }),
        ),
        Step::Unsubscribe { task, platform, chat, thread } => (
            "remove_notify_sub",
            json!({
                "task_id": id(task), "platform": platform, "chat_id": chat, "thread_id": thread,
            }),
        ),
        Step::RecomputeReady => ("recompute_ready", json!({})),
        Step::Foreign { .. } | Step::Upheaval => unreachable!("nobody's function"),
    }
}

fn create(new: &New, names: &Names, slug: &str) -> Value {
    json!({
        "title": new.title,
        "body": new.body,
        "assignee": new.assignee,
        "created_by": new.created_by,
        "workspace_kind": new.workspace,
        "workspace_path": new.workspace_path,
        "branch_name": new.branch,
        "tenant": new.tenant,
        "priority": new.priority,
        "parents": new.parents.iter().map(|task| names.id(*task)).collect::<Vec<_>>(),
        "triage": new.triage,
        "initial_status": if new.blocked { "blocked" } else { "running" },
        "idempotency_key": new.key,
        "max_runtime_seconds": new.max_runtime_seconds,
        "skills": new.skills,
        "max_retries": new.max_retries,
        "goal_mode": new.goal_mode,
        "goal_max_turns": new.goal_max_turns,
        "session_id": new.session,
        "board": slug,
    })
}
