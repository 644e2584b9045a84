//! The board's tables for Diesel: only what every supported generation has (law B2).
//!
//! Written by hand and never migrated: the tables belong to somebody else. Only writes go through
//! these types; reads take values of any type and are in `sql`.

diesel::table! {
    /// Tasks.
    tasks (id) {
        id -> Text,
        title -> Text,
        body -> Nullable<Text>,
        assignee -> Nullable<Text>,
        status -> Text,
        priority -> Nullable<BigInt>,
        created_by -> Nullable<Text>,
        created_at -> BigInt,
        started_at -> Nullable<BigInt>,
        completed_at -> Nullable<BigInt>,
        workspace_kind -> Text,
        workspace_path -> Nullable<Text>,
        claim_lock -> Nullable<Text>,
        claim_expires -> Nullable<BigInt>,
        tenant -> Nullable<Text>,
        result -> Nullable<Text>,
        idempotency_key -> Nullable<Text>,
        consecutive_failures -> BigInt,
        worker_pid -> Nullable<BigInt>,
        last_failure_error -> Nullable<Text>,
        max_runtime_seconds -> Nullable<BigInt>,
        last_heartbeat_at -> Nullable<BigInt>,
        current_run_id -> Nullable<BigInt>,
        current_step_key -> Nullable<Text>,
        skills -> Nullable<Text>,
        max_retries -> Nullable<BigInt>,
    }
}

diesel::table! {
    /// What happened to tasks.
    task_events (id) {
        id -> BigInt,
        task_id -> Text,
        run_id -> Nullable<BigInt>,
        kind -> Text,
        payload -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    /// Attempts at tasks.
    task_runs (id) {
        id -> BigInt,
        task_id -> Text,
        profile -> Nullable<Text>,
        step_key -> Nullable<Text>,
        status -> Text,
        claim_lock -> Nullable<Text>,
        claim_expires -> Nullable<BigInt>,
        worker_pid -> Nullable<BigInt>,
        max_runtime_seconds -> Nullable<BigInt>,
        last_heartbeat_at -> Nullable<BigInt>,
        started_at -> BigInt,
        ended_at -> Nullable<BigInt>,
        outcome -> Nullable<Text>,
        summary -> Nullable<Text>,
        metadata -> Nullable<Text>,
        error -> Nullable<Text>,
    }
}

diesel::table! {
    /// Which task waits for which.
    task_links (parent_id, child_id) {
        parent_id -> Text,
        child_id -> Text,
    }
}

diesel::table! {
    /// What people and workers say of tasks.
    task_comments (id) {
        id -> BigInt,
        task_id -> Text,
        author -> Text,
        body -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    /// Who wants to hear of which task.
    kanban_notify_subs (task_id, platform, chat_id, thread_id) {
        task_id -> Text,
        platform -> Text,
        chat_id -> Text,
        thread_id -> Text,
        user_id -> Nullable<Text>,
        notifier_profile -> Nullable<Text>,
        created_at -> BigInt,
        last_event_id -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(tasks, task_links);
