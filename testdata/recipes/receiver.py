"""Take events. Takes SECRET, the signing secret, and LISTEN (HOST:PORT) from the environment, and prints each event once.

A backend keeps the ids in its database, with the work that it does about the event.
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from provider_checkout import SIGNATURE_HEADER, SignatureError, verify_event

SECRET = os.environ["SECRET"]
host, _, port = os.environ["LISTEN"].rpartition(":")
taken = set[str]()  # ids of events


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))  # as it came, before any parser
        try:
            event = verify_event(SECRET, self.headers.get(SIGNATURE_HEADER, ""), body)
        except SignatureError:
            self.send_error(401)
            return
        if event["event_id"] not in taken:
            taken.add(event["event_id"])
            if event["event"] == "checkout.confirmed":
                print("confirmed", event["data"]["provider_order_id"], flush=True)
            if event["event"] == "agreement.generated":
                print("agreement", event["data"]["payment_plan_agreement_number"], flush=True)
        self.send_response(204)  # also for an event that it has taken before, or does not know
        self.end_headers()


HTTPServer((host, int(port)), Receiver).serve_forever()
