"""Runs the notifier of the installed hermes-agent over the boards of HERMES_HOME with a stub for a platform.

The stub answers at once. One JSON line for each message: its time and chat; lines are written by a
thread of their own, so that the notifier does not wait for them.
"""

import asyncio
import json
import queue
import sys
import threading
import time

from gateway.config import Platform
from gateway.kanban_watchers import GatewayKanbanWatchersMixin
from hermes_cli import kanban_db


class Stub:
    def __init__(self, lines):
        self.lines = lines

    async def send(self, chat_id, content, reply_to=None, metadata=None):
        self.lines.put({"sent": time.time(), "chat": chat_id})


class Notifier(GatewayKanbanWatchersMixin):
    def __init__(self, lines):
        self.adapters = {Platform.TELEGRAM: Stub(lines)}
        self._running = True

    def _active_profile_name(self):
        return "default"

    def _authorization_adapter(self, platform, profile=None):
        return self.adapters.get(platform)


def main():
    lines = queue.SimpleQueue()

    def write():
        while True:
            print(json.dumps(lines.get()), flush=True)

    threading.Thread(target=write, daemon=True).start()
    list_boards = kanban_db.list_boards

    def noted(*args, **kwargs):
        lines.put({"pass": time.time()})
        return list_boards(*args, **kwargs)

    kanban_db.list_boards = noted
    asyncio.run(Notifier(lines)._kanban_notifier_watcher())


if __name__ == "__main__":
    sys.exit(main())
