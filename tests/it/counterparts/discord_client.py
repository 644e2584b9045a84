"""Sends messages with discord.py, and tells of each call what the library made of the answer."""

import asyncio
import json
import sys

import aiohttp
import discord
import discord.http

URL, TOKEN, CALLS = sys.argv[1:]
QUIET = {"allowed_mentions": discord.AllowedMentions.none(), "suppress_embeds": True}


async def tell(call):
    try:
        answer = await call
        told = {"sent": getattr(answer, "content", None), "id": getattr(answer, "id", None)}
    except discord.RateLimited as error:
        told = {"raised": "RateLimited", "retry_after": error.retry_after}
    except discord.HTTPException as error:
        told = {"raised": type(error).__name__, "status": error.status, "code": error.code, "words": error.text}
    except discord.LoginFailure as error:
        told = {"raised": "LoginFailure"}
    print(json.dumps(told), flush=True)


async def bot():
    discord.http.Route.BASE = URL
    # The least that it takes: what is told to wait for longer is an error.
    client = discord.Client(intents=discord.Intents.none(), max_ratelimit_timeout=30.0)
    await tell(client.login(TOKEN))
    for call in json.loads(CALLS):
        channel = client.get_partial_messageable(call.pop("channel"))
        await tell(channel.send(**call, **QUIET))
    await client.close()


async def webhook():
    discord.http.Route.BASE = f"{URL}/api"
    async with aiohttp.ClientSession() as session:
        for call in json.loads(CALLS):
            hook = discord.Webhook.partial(call.pop("hook"), call.pop("token"), session=session)
            thread = call.pop("thread", None)
            there = {"thread": discord.Object(thread)} if thread else {}
            await tell(hook.send(**call, **there, **QUIET, wait=True))


asyncio.run(bot() if TOKEN else webhook())
