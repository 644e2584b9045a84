"""Takes webhooks that both libraries find signed: each by its own headers, with the secret given."""

import http.server
import json
import sys

import standardwebhooks
import svix.webhooks

SECRET = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        told = {"id": self.headers["webhook-id"], "body": json.loads(body), "found": [], "errors": []}
        for name, library in {"webhook-": standardwebhooks, "svix-": svix.webhooks}.items():
            headers = {k.lower(): v for k, v in self.headers.items() if k.lower().startswith(name)}
            try:
                library.Webhook(SECRET).verify(body, headers)
                told["found"].append(name)
            except Exception as error:
                told["errors"].append(repr(error))
        status = 204 if len(told["found"]) == 2 else 401
        print(json.dumps(told), flush=True)
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
