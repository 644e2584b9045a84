"""Sends messages with python-telegram-bot, and tells of each call what the library made of the answer."""

import asyncio
import json
import sys

import telegram
import telegram.error

URL, TOKEN, CALLS = sys.argv[1:]


async def tell(call):
    try:
        answer = await call
        told = {"sent": getattr(answer, "message_id", None), "text": getattr(answer, "text", None)}
    except telegram.error.TelegramError as error:
        told = {"raised": type(error).__name__, "words": error.message}
        if isinstance(error, telegram.error.RetryAfter):
            told["retry_after"] = error.retry_after
        if isinstance(error, telegram.error.ChatMigrated):
            told["new_chat_id"] = error.new_chat_id
    print(json.dumps(told), flush=True)


async def main():
    bot = telegram.Bot(TOKEN, base_url=f"{URL}/bot")
    await tell(bot.initialize())
    for call in json.loads(CALLS):
        entities = [telegram.MessageEntity(**entity) for entity in call.pop("entities", [])]
        await tell(bot.send_message(**call, entities=entities or None))


asyncio.run(main())
