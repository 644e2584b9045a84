"""Hermes' own webhook platform with one route; tells what it hands to its agent."""

import asyncio
import json
import sys

from gateway.config import PlatformConfig
from gateway.platforms.webhook import WebhookAdapter

PORT, SECRET = int(sys.argv[1]), sys.argv[2]


async def main():
    route = {"secret": SECRET, "events": ["kanban.completed"], "prompt": "{data.text}"}
    extra = {"host": "127.0.0.1", "port": PORT, "routes": {"kanban": route}}
    adapter = WebhookAdapter(PlatformConfig(enabled=True, extra=extra))

    async def heard(event):
        print(json.dumps({"id": event.message_id, "text": event.text}), flush=True)

    adapter.handle_message = heard
    assert await adapter.connect()
    print(json.dumps({"port": PORT}), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
