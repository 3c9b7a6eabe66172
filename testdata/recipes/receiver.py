"""Receive events. Python 3.9 or later, standard library only; needs verify_event.py beside it.

Takes SECRET, the signing secret, and LISTEN (HOST:PORT) from the environment. A backend stores the event_id in its database, in
one transaction with the work that the event causes.
"""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from verify_event import verify

SECRET = os.environ["SECRET"]
host, _, port = os.environ["LISTEN"].rpartition(":")
taken = set()  # event ids


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))  # as it came, before any parser
        if verify(SECRET, self.headers.get("X-Service-Signature", ""), body, time.time()):
            self.send_error(401)
            return
        event = json.loads(body)
        if event["event_id"] not in taken:
            taken.add(event["event_id"])
            if event["event"] == "checkout.confirmed":
                print("confirmed", event["data"]["provider_order_id"], flush=True)
            if event["event"] == "agreement.generated":
                print("agreement", event["data"]["payment_plan_agreement_number"], flush=True)
        self.send_response(204)  # also for an event that it has already, or does not know
        self.end_headers()


HTTPServer((host, int(port)), Receiver).serve_forever()
