-- Boards by canonical path. The columns from `oldest_event` on tell one file behind a path from another,
-- and say how far the board was read.
CREATE TABLE boards (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    slug TEXT NOT NULL,
    incarnation BIGINT NOT NULL,
    oldest_event BIGINT,
    oldest_hash TEXT,
    sequence BIGINT NOT NULL,
    position_event BIGINT NOT NULL,
    position_hash TEXT,
    position_rowid BIGINT NOT NULL,
    position_row_print TEXT,
    updated_at BIGINT NOT NULL
);

-- Copies of the rows that are or were ours, with our high-water mark `settled`.
CREATE TABLE subscriptions (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    board_id BIGINT NOT NULL REFERENCES boards (id),
    incarnation BIGINT NOT NULL,
    task TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    profile TEXT NOT NULL,
    adopted INTEGER NOT NULL,
    previous_owner TEXT,
    mode TEXT NOT NULL,
    baseline BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    settled BIGINT NOT NULL,
    board_cursor BIGINT NOT NULL,
    archived_event BIGINT,
    life TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (board_id, incarnation, task, platform, chat, thread, created_at)
);

CREATE INDEX subscriptions_to_raise ON subscriptions (id) WHERE life = 'live' AND settled > board_cursor;

-- What is told of an event, once for all who are told, so that it outlives the board's row.
CREATE TABLE events (
    board_id BIGINT NOT NULL,
    incarnation BIGINT NOT NULL,
    event BIGINT NOT NULL,
    kind TEXT NOT NULL,
    task TEXT NOT NULL,
    title TEXT NOT NULL,
    assignee TEXT,
    handoff TEXT,
    session TEXT,
    notes TEXT NOT NULL,
    written_at BIGINT NOT NULL,
    print TEXT NOT NULL,
    PRIMARY KEY (board_id, incarnation, event)
) WITHOUT ROWID;

-- One subscription's need for one event.
CREATE TABLE legs (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    subscription_id BIGINT NOT NULL REFERENCES subscriptions (id),
    event BIGINT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    claim_id BIGINT,
    due_at BIGINT NOT NULL,
    planned_at BIGINT NOT NULL,
    failures INTEGER NOT NULL,
    failed_turns INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    alone INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    replay INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    reason TEXT NOT NULL,
    verdict TEXT NOT NULL,
    first_attempt_at BIGINT,
    last_attempt_at BIGINT,
    updated_at BIGINT NOT NULL,
    UNIQUE (subscription_id, event, kind)
);

CREATE INDEX legs_open ON legs (subscription_id, event)
    WHERE state IN ('planned', 'intended', 'retrying', 'unknown');
CREATE INDEX legs_claimed ON legs (claim_id) WHERE state IN ('intended', 'unknown');
CREATE INDEX legs_dead ON legs (id) WHERE state IN ('parked', 'expired');

-- One request to one destination, pinned: what leaves, byte for byte, as often as it leaves.
CREATE TABLE claims (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    instance TEXT NOT NULL,
    lane TEXT NOT NULL,
    target TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT NOT NULL,
    key TEXT NOT NULL,
    reference TEXT NOT NULL,
    body TEXT NOT NULL,
    legs INTEGER NOT NULL,
    state TEXT NOT NULL,
    verdict TEXT NOT NULL,
    detail TEXT NOT NULL,
    intended_at BIGINT NOT NULL,
    settled_at BIGINT
);

CREATE INDEX claims_by_time ON claims (intended_at);

-- The claim that holds a lane; every open claim holds one.
CREATE TABLE lanes (
    lane TEXT PRIMARY KEY NOT NULL,
    claim_id BIGINT NOT NULL UNIQUE REFERENCES claims (id)
) WITHOUT ROWID;

-- Channels that rest.
CREATE TABLE pauses (
    channel TEXT PRIMARY KEY NOT NULL,
    until BIGINT NOT NULL,
    reason TEXT NOT NULL,
    credential INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
) WITHOUT ROWID;

-- Sessions that answer under another name.
CREATE TABLE aliases (
    channel TEXT NOT NULL,
    raw TEXT NOT NULL,
    resolved TEXT NOT NULL,
    learnt_at BIGINT NOT NULL,
    PRIMARY KEY (channel, raw)
) WITHOUT ROWID;

-- Processes that use this ledger; whether one is alive is for its lock file alone to say.
CREATE TABLE instances (
    id TEXT PRIMARY KEY NOT NULL,
    pid BIGINT NOT NULL,
    started_at BIGINT NOT NULL
) WITHOUT ROWID;
