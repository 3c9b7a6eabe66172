"""Enrol a student: create, wait for the payer, confirm. Python 3.9 or later, standard library only.

Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment. A backend stores ORDER before the
create, and polls in a job: the payer may take days. Amounts are read as Decimal.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from decimal import Decimal

BASE, KEY, ORDER, FIRST_PAYMENT = (os.environ[name] for name in ("BASE", "KEY", "ORDER", "FIRST_PAYMENT"))
HEADERS = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}


def call(method, path, content=None):
    """Send a request, and the same again while the answer is lost, 429 or 5xx."""
    body = json.dumps(content).encode() if content else None
    for wait in (1, 2, 4, 8, 16):
        try:
            request = urllib.request.Request(BASE + path, body, HEADERS, method=method)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer, parse_float=Decimal)
        except urllib.error.HTTPError as refused:
            if refused.code < 500 and refused.code != 429:
                sys.exit(refused.read().decode())
            wait = int(refused.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException, ValueError):  # no answer, or half of it
            pass
        time.sleep(wait)
    sys.exit(f"{method} {path}: no answer")


provider = {"provider_code": os.environ["PROVIDER"], "provider_order_id": ORDER}
created = call("POST", "/v1/provider-checkouts", {
    "provider": provider,
    "student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
    "course": {"course_code": os.environ["COURSE"]},
    "plan": {"payment_frequency": "Weekly", "first_payment_date": FIRST_PAYMENT}})
print(created["direct_debit"].get("setup_url", ""), flush=True)  # redirect the payer's browser there

checkout_id, polled = created["checkout"]["checkout_id"], created
while "next_poll_after" in polled["direct_debit"]:
    time.sleep(polled["direct_debit"]["next_poll_after"])
    polled = call("GET", f"/v1/provider-checkouts/{checkout_id}")

confirmed = call("POST", f"/v1/provider-checkouts/{checkout_id}/confirm", {
    "provider": provider,
    "checkout": {"checkout_id": checkout_id, "checkout_token": created["direct_debit"].get("token", "confirmed"),
                 "opportunity_id": created["records"]["opportunity_id"], "dda_id": created["records"]["dda_id"]},
    "payment": {"payment_method": "service_payment_plan", "first_payment_date": FIRST_PAYMENT, "deposit_confirmed": True},
    # The student accepts these on your page: never send True by default.
    "declarations": {"payment_plan_accepted": True, "information_confirmed": True, "privacy_consent_accepted": True}})
print("agreement", confirmed["agreement"]["number"])  # the same one on a repeat
