"""Writes a kanban board through hermes_cli.kanban_db: one JSON request a line, one answer a line.

Every operation opens and closes its own connection, as the package itself does.
"""

import json
import sqlite3
import sys
import time
from pathlib import Path

from hermes_cli import kanban_db as kb

DB = Path(sys.argv[1])


class Clock:
    """The package's clock; it stands still at `now` when that is set."""

    now = None

    def time(self):
        return time.time() if self.now is None else self.now

    def __getattr__(self, name):
        return getattr(time, name)


CLOCK = kb.time = Clock()
ASSIGNEE = "stub-worker"  # no profile of this name, so no dispatcher spawns it


def board():
    return kb.connect_closing(DB)


def create(title, session_id=None, body=None, assignee=ASSIGNEE):
    with board() as conn:
        return kb.create_task(
            conn, title=title, body=body, assignee=assignee, session_id=session_id
        )


def subscribe(task, platform, chat, owner=None, thread=None, user=None):
    with board() as conn:
        kb.add_notify_sub(
            conn,
            task_id=task,
            platform=platform,
            chat_id=chat,
            thread_id=thread,
            user_id=user,
            notifier_profile=owner,
        )


def seed(count, title, platform, chat, owner=None):
    ids = []
    with board() as conn:
        for n in range(count):
            task = kb.create_task(conn, title=f"{title} {n}", assignee=ASSIGNEE)
            kb.add_notify_sub(
                conn,
                task_id=task,
                platform=platform,
                chat_id=f"{chat}-{n}",
                notifier_profile=owner,
            )
            ids.append(task)
    return ids


def complete(task, summary=None, result=None):
    with board() as conn:
        return kb.complete_task(conn, task, summary=summary, result=result)


def block(task, reason):
    with board() as conn:
        return kb.block_task(conn, task, reason=reason)


def unblock(task):
    with board() as conn:
        return kb.unblock_task(conn, task)


def archive(task):
    with board() as conn:
        return kb.archive_task(conn, task)


def comment(task, text):
    with board() as conn:
        return kb.add_comment(conn, task, "writer", text)


def subscriptions():
    with board() as conn:
        return kb.list_notify_subs(conn)


def read_only(sql, parameters=()):
    conn = sqlite3.connect(f"{DB.as_uri()}?mode=ro", uri=True, timeout=30)
    conn.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in conn.execute(sql, parameters)]
    finally:
        conn.close()


def integrity():
    return "\n".join(row["integrity_check"] for row in read_only("PRAGMA integrity_check"))


HELD = []


def hold(title):
    """Commits on a connection that stays open, like that of a turn that goes on."""
    if not HELD:
        HELD.append(kb.connect(DB))
    return kb.create_task(HELD[0], title=title, assignee=ASSIGNEE)


def load(writes, pause_ms=0, body_bytes=0, subscribe=None, sessions=None, lag=0):
    created, completed, errors, missing, waiting = [], [], [], [], []
    begin = time.monotonic()

    def attempt(write):
        try:
            return write()
        except Exception as error:  # what a caller of Hermes would have seen
            errors.append(f"{type(error).__name__}: {error}")
            return None

    for n in range(writes):
        step = n % 4
        if step == 0 or not waiting:
            task = attempt(lambda: create(f"load {n}", body="x" * body_bytes or None))
            if task:
                created.append(task)
                waiting.append(task)
        elif step == 1 and subscribe:
            number = len(created)
            session = f"{subscribe}-{number % sessions if sessions else number}"
            attempt(lambda: add_subscription(waiting[-1], session))
        elif step == 3 and len(waiting) > lag:
            task = waiting.pop(0)
            if attempt(lambda: complete(task, summary=f"write {n}")):
                completed.append(task)
        else:
            attempt(lambda: comment(waiting[-1], f"write {n}"))
        if pause_ms:
            time.sleep(pause_ms / 1000)
    elapsed = time.monotonic() - begin
    rows = attempt(lambda: read_only("SELECT id, status FROM tasks")) or []
    status = {row["id"]: row["status"] for row in rows}
    missing += [task for task in created if task not in status]
    missing += [task for task in completed if status.get(task) != "done"]
    return {
        "writes": writes,
        "created": created,
        "completed": completed,
        "errors": errors,
        "missing": missing,
        "elapsed_ms": int(elapsed * 1000),
    }


def call(function, arguments, now):
    """Any function of the package, at a given time. Metadata come as text: its keys have an order."""
    if arguments.get("metadata") is not None:
        arguments["metadata"] = json.loads(arguments["metadata"])
    CLOCK.now = now
    try:
        with board() as conn:
            answer = getattr(kb, function)(conn, **arguments)
    finally:
        CLOCK.now = None
    return answer.id if isinstance(answer, kb.Task) else answer


def add_subscription(task, session):
    subscribe(task, "api_server", session)


OPERATIONS = {
    "ping": lambda: True,
    "create": create,
    "subscribe": subscribe,
    "seed": seed,
    "complete": complete,
    "block": block,
    "unblock": unblock,
    "archive": archive,
    "comment": comment,
    "subscriptions": subscriptions,
    "integrity": integrity,
    "query": lambda sql, parameters=None: read_only(sql, parameters or ()),
    "load": load,
    "call": call,
    "hold": hold,
}

for line in sys.stdin:
    request = json.loads(line)
    operation = OPERATIONS[request.pop("op")]
    try:
        answer = {"ok": operation(**request)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
