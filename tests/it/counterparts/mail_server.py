"""A mail server that wants encryption (starttls or tls) and a login, and tells every letter as the mail library reads it."""

import asyncio
import email
import email.policy
import json
import logging
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

CERTIFICATE, KEY, USER, PASSWORD, SECURITY = sys.argv[1:]
logging.disable()
warnings.simplefilter("ignore")
later = {"later@example.org"}


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address in later:
            later.remove(address)
            return "451 4.7.1 greylisted"
        if address == "gone@example.org":
            print(json.dumps({"refused": address}), flush=True)
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        told = {name.lower(): str(value) for name, value in letter.items()}
        told["text"] = letter.get_body(("plain",)).get_content()
        told["files"] = [
            [part.get_filename(), part.get_content_type(), part.get_payload(decode=True).hex()]
            for part in letter.iter_attachments()
        ]
        told["rcpt"] = envelope.rcpt_tos
        told["mail_from"] = envelope.mail_from
        told["encrypted"] = server.transport.get_extra_info("cipher") is not None
        told["defects"] = [repr(defect) for defect in letter.defects]
        print(json.dumps(told), flush=True)
        return "250 2.0.0 Ok: queued"


def authenticator(server, session, envelope, mechanism, data):
    is_known = data == LoginPassword(USER.encode(), PASSWORD.encode())
    if not is_known:
        print(json.dumps({"refused": "login"}), flush=True)
    return AuthResult(success=is_known, handled=is_known)


async def main():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, KEY)
    is_late = SECURITY == "starttls"
    tls = {"tls_context": context, "require_starttls": True} if is_late else {"auth_require_tls": False}
    make = lambda: SMTP(
        Handler(), hostname="localhost", auth_required=True, authenticator=authenticator, **tls
    )
    server = await asyncio.get_running_loop().create_server(
        make, "127.0.0.1", 0, ssl=None if is_late else context
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
