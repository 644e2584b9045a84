"""Sends messages with slack_sdk, and tells of each call what the library made of the answer."""

import json
import sys

import slack_sdk
import slack_sdk.errors
import slack_sdk.webhook

URL, TOKEN, CALLS = sys.argv[1:]


def tell(call):
    try:
        answer = call()
        told = {"sent": answer.get("ts"), "channel": answer.get("channel"), "team": answer.get("team")}
    except slack_sdk.errors.SlackApiError as error:
        answer = error.response
        headers = {name.lower(): value for name, value in answer.headers.items()}
        told = {"raised": type(error).__name__, "status": answer.status_code}
        told["error"] = answer.get("error")
        told["retry_after"] = headers.get("retry-after")
    print(json.dumps(told), flush=True)


def hook(message):
    answer = slack_sdk.webhook.WebhookClient(URL).send_dict(message)
    print(json.dumps({"status": answer.status_code, "body": answer.body}), flush=True)


# Without retries of its own: each answer is told.
client = slack_sdk.WebClient(token=TOKEN, base_url=f"{URL}/", retry_handlers=[])
for message in json.loads(CALLS):
    if not TOKEN:
        hook(message)
    elif message:
        tell(lambda: client.chat_postMessage(**message))
    else:
        tell(client.auth_test)
