//! A step by our writers.

use kanban_store::{
    StoreError,
    board::{Board, RowKey},
    write::{self, BlockKind, Claimant, Completion, Handover, Metadata, NewSubscription, NewTask},
    write::{Promotion, Start, Stop, TaskOptions, Workspace},
};

use super::*;

/// Does a step; whether it was done, with the id of a created task.
pub(super) fn apply(board: &mut Board, step: &Step, names: &Names, now: i64) -> Verdict {
    match try_apply(board, step, names, now) {
        Ok(Some(id)) => Verdict::Created(id),
        Ok(None) => Verdict::Done,
        Err(error) => {
            assert!(!error.is_busy(), "{step:?}: {error}");
            let leaves_an_event = matches!(step, Step::Claim { .. })
                || matches!(error, StoreError::PhantomCards { .. });
            if leaves_an_event {
                Verdict::Refused(error.to_string())
            } else {
                Verdict::RefusedUntouched(error.to_string())
            }
        }
    }
}

fn try_apply(
    board: &mut Board,
    step: &Step,
    names: &Names,
    now: i64,
) -> Result<Option<String>, StoreError> {
    let id = |task: &Task| names.id(*task);
    let claimant =
        |lock: &str, seconds: &i64| Claimant { lock: lock.to_owned(), seconds: *seconds };
    let stop = |task: &Task, reason: &Option<&'static str>, run: &Run| Stop {
        reason: reason.map(str::to_owned),
        run: names.run(*task, *run),
    };
    match step {
        Step::Create(new) => {
            let (new, options) = create(new, names);
            return write::create_task_with(board, &new, &options, now).map(Some);
        }
        Step::Claim { task, lock, seconds } => {
            write::claim(board, &id(task), &claimant(lock, seconds), now)?;
        }
        Step::ClaimReview { task, lock, seconds } => {
            write::claim_review(board, &id(task), &claimant(lock, seconds), now)?;
        }
        Step::Extend { task, lock, seconds } => {
            write::extend_claim(board, &id(task), &claimant(lock, seconds), now)?;
        }
        Step::Heartbeat { task, note, run } => {
            write::heartbeat(board, &id(task), *note, names.run(*task, *run), now)?;
        }
        Step::Complete { task, result, summary, metadata, created, run } => {
            let completion = Completion {
                result: result.as_deref().map(|text| names.fill(text)),
                summary: summary.as_deref().map(|text| names.fill(text)),
            };
            let handover = Handover {
                metadata: metadata.map(Metadata::parse).transpose()?.unwrap_or_default(),
                artifacts: Vec::new(),
                created: created.iter().map(id).collect(),
                run: names.run(*task, *run),
            };
            write::complete_with(board, &id(task), &completion, &handover, now)?;
        }
        Step::Block { task, reason, kind: Some("dependency"), run } => {
            write::depend(board, &id(task), &stop(task, reason, run), now)?;
        }
        Step::Block { task, reason, kind, run } => {
            let kind = kind.map(BlockKind::parse).transpose()?;
            write::block_with(board, &id(task), &stop(task, reason, run), kind, now)?;
        }
        Step::Unblock { task } => drop(write::unblock(board, &id(task), now)?),
        Step::Schedule { task, reason, run } => {
            write::schedule(board, &id(task), &stop(task, reason, run), now)?;
        }
        Step::Promote { task, actor, reason, force } => {
            let promotion = Promotion {
                actor: (*actor).to_owned(),
                reason: reason.map(str::to_owned),
                force: *force,
            };
            write::promote(board, &id(task), &promotion, now)?;
        }
        Step::Archive { task } => drop(write::archive(board, &id(task), now)?),
        Step::Comment { task, author, body } => {
            write::comment(board, &id(task), author, body, now)?;
        }
        Step::Link { parent, child } => drop(write::link(board, &id(parent), &id(child), now)?),
        Step::Unlink { parent, child } => drop(write::unlink(board, &id(parent), &id(child), now)?),
        Step::Assign { task, profile } => drop(write::assign(board, &id(task), *profile, now)?),
        Step::Subscribe { task, platform, chat, thread, user, owner } => {
            let new = NewSubscription {
                key: key(id(task), platform, chat, thread),
                user: user.map(str::to_owned),
                owner: owner.map(str::to_owned),
                mode: None,
            };
            write::subscribe(board, &new, now)?;
        }
        Step::Unsubscribe { task, platform, chat, thread } => {
            write::unsubscribe(board, &key(id(task), platform, chat, thread))?;
        }
        Step::RecomputeReady => drop(write::recompute_ready(board, now)?),
        Step::Foreign { .. } | Step::Upheaval => unreachable!("nobody's function"),
    }
    Ok(None)
}

fn key(task: String, platform: &str, chat: &str, thread: &str) -> RowKey {
    RowKey { task, platform: platform.to_owned(), chat: chat.to_owned(), thread: thread.to_owned() }
}

fn create(new: &New, names: &Names) -> (NewTask, TaskOptions) {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let task = NewTask {
        title: new.title.to_owned(),
        body: owned(new.body),
        assignee: owned(new.assignee),
        created_by: owned(new.created_by),
        session_id: owned(new.session),
        idempotency_key: owned(new.key),
        priority: new.priority,
    };
    let options = TaskOptions {
        parents: new.parents.iter().map(|task| names.id(*task)).collect(),
        start: match (new.blocked, new.triage) {
            (true, _) => Start::Blocked,
            (false, true) => Start::Triage,
            (false, false) => Start::Normal,
        },
        workspace: match new.workspace {
            "scratch" => Workspace::Scratch,
            "worktree" => Workspace::Worktree,
            _ => Workspace::Dir,
        },
        workspace_path: owned(new.workspace_path),
        branch: owned(new.branch),
        tenant: owned(new.tenant),
        max_runtime_seconds: new.max_runtime_seconds,
        skills: new.skills.as_ref().map(|all| all.iter().map(|name| (*name).to_owned()).collect()),
        max_retries: new.max_retries,
        goal_mode: new.goal_mode,
        goal_max_turns: new.goal_max_turns,
    };
    (task, options)
}
