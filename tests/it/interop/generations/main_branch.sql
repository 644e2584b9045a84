-- Tables, columns, defaults and indexes as Hermes' main branch makes them after 0.19.0.
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    body TEXT,
    assignee TEXT,
    status TEXT NOT NULL,
    priority INTEGER DEFAULT 0,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    completed_at INTEGER,
    workspace_kind TEXT NOT NULL DEFAULT 'scratch',
    workspace_path TEXT,
    branch_name TEXT,
    project_id TEXT,
    claim_lock TEXT,
    claim_expires INTEGER,
    tenant TEXT,
    result TEXT,
    idempotency_key TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    worker_pid INTEGER,
    last_failure_error TEXT,
    max_runtime_seconds INTEGER,
    last_heartbeat_at INTEGER,
    current_run_id INTEGER,
    workflow_template_id TEXT,
    current_step_key TEXT,
    skills TEXT,
    model_override TEXT,
    provider_override TEXT,
    reasoning_effort TEXT,
    max_retries INTEGER,
    goal_mode INTEGER NOT NULL DEFAULT 0,
    goal_max_turns INTEGER,
    session_id TEXT,
    block_kind TEXT,
    block_recurrences INTEGER NOT NULL DEFAULT 0,
    completion_contract TEXT
);
CREATE TABLE task_links (
    parent_id TEXT NOT NULL,
    child_id TEXT NOT NULL,
    PRIMARY KEY (parent_id, child_id)
);
CREATE TABLE task_comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE TABLE task_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    run_id INTEGER,
    kind TEXT NOT NULL,
    payload TEXT,
    created_at INTEGER NOT NULL
);
CREATE TABLE task_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    profile TEXT,
    step_key TEXT,
    status TEXT NOT NULL,
    claim_lock TEXT,
    claim_expires INTEGER,
    worker_pid INTEGER,
    max_runtime_seconds INTEGER,
    last_heartbeat_at INTEGER,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT,
    summary TEXT,
    metadata TEXT,
    error TEXT
);
CREATE TABLE task_attachments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    stored_path TEXT NOT NULL,
    content_type TEXT,
    size INTEGER NOT NULL DEFAULT 0,
    uploaded_by TEXT,
    created_at INTEGER NOT NULL
);
CREATE TABLE kanban_notify_subs (
    task_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL DEFAULT '',
    user_id TEXT,
    notifier_profile TEXT,
    created_at INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL DEFAULT 0,
    chat_type TEXT,
    user_id_alt TEXT,
    delivery_mode TEXT NOT NULL DEFAULT 'notify',
    delivery_metadata TEXT,
    last_ping_event_id INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, platform, chat_id, thread_id)
);
CREATE TABLE recipe_instances (
    id TEXT PRIMARY KEY,
    idempotency_key TEXT NOT NULL UNIQUE,
    recipe_id TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    definition_digest TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    definition_json TEXT NOT NULL,
    inputs_json TEXT NOT NULL,
    bindings_json TEXT NOT NULL,
    effective_plan_json TEXT NOT NULL,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    imported INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE recipe_instance_tasks (
    instance_id TEXT NOT NULL REFERENCES recipe_instances (id) ON DELETE RESTRICT,
    node_key TEXT NOT NULL,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE RESTRICT,
    PRIMARY KEY (instance_id, node_key)
);
CREATE INDEX idx_tasks_assignee_status ON tasks (assignee, status);
CREATE INDEX idx_tasks_status ON tasks (status);
CREATE INDEX idx_links_child ON task_links (child_id);
CREATE INDEX idx_links_parent ON task_links (parent_id);
CREATE INDEX idx_comments_task ON task_comments (task_id, created_at);
CREATE INDEX idx_events_task ON task_events (task_id, created_at);
CREATE INDEX idx_runs_task ON task_runs (task_id, started_at);
CREATE INDEX idx_runs_status ON task_runs (status);
CREATE INDEX idx_attachments_task ON task_attachments (task_id, created_at);
CREATE INDEX idx_notify_task ON kanban_notify_subs (task_id);
CREATE INDEX idx_tasks_tenant ON tasks (tenant);
CREATE INDEX idx_tasks_idempotency ON tasks (idempotency_key);
CREATE INDEX idx_tasks_session_id ON tasks (session_id);
CREATE INDEX idx_events_run ON task_events (run_id, id);
