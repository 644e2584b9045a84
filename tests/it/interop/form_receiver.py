"""Takes forms of several parts with the HTTP library that Hermes serves with, and tells what is in them."""

import asyncio
import json

from aiohttp import web


async def take(request):
    fields = []
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            content = await part.read()
            fields.append({"filename": part.filename, "hex": content.hex()})
    else:
        await request.read()
    print(json.dumps({"path": request.path, "fields": fields}), flush=True)
    return web.json_response({"ok": True, "id": "1", "result": {"message_id": 1}})


async def main():
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("POST", "/{path:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
