"""Enrol a student: create, have the payer set up the direct debit, poll, confirm.

Python 3.9 or later, standard library only. Takes BASE, KEY, PROVIDER, ORDER, COURSE and
FIRST_PAYMENT (YYYY-MM-DD) from the environment. A backend keeps the order id and the checkout id
with its enrolment, and polls from a job: the payer may take days.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE, KEY, PROVIDER, ORDER, COURSE, FIRST_PAYMENT = (
    os.environ[name] for name in ("BASE", "KEY", "PROVIDER", "ORDER", "COURSE", "FIRST_PAYMENT"))
ATTEMPTS = 5
POLL_SECONDS = 2


def call(path="", body=None):
    """Send one request until it is answered; the same bytes each time, which is safe here.

    A lost answer, 429 and 5xx are tried again; any other refusal ends the program.
    """
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}
    for attempt in range(1, ATTEMPTS + 1):
        wait = 0.5 * 2**attempt  # 1, 2, 4 and 8 s
        try:
            request = urllib.request.Request(BASE + "/v1/provider-checkouts" + path, data, headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            fault = str(refusal)
            if refusal.code != 429 and refusal.code < 500:  # the same again would be refused again
                sys.exit(f"{fault}: {refusal.read().decode()}")
            after = refusal.headers.get("Retry-After", "")
            wait = int(after) if after.isdecimal() else wait
        except (OSError, http.client.HTTPException) as lost:
            fault = str(lost)
        if attempt < ATTEMPTS:
            print("trying again:", fault, file=sys.stderr)
            time.sleep(wait)
    sys.exit(f"given up after {ATTEMPTS} attempts: {fault}")


# The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
provider = {"provider_code": PROVIDER, "provider_order_id": ORDER}
created = call(body={
    "provider": provider,
    "student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
    "course": {"course_code": COURSE},
    "plan": {"payment_frequency": "Weekly", "first_payment_date": FIRST_PAYMENT}})
print(created["direct_debit"].get("setup_url", ""), flush=True)  # send the payer's browser there

checkout_id = created["checkout"]["checkout_id"]
while not call("/" + checkout_id)["direct_debit"]["setup_complete"]:
    time.sleep(POLL_SECONDS)

confirmed = call(f"/{checkout_id}/confirm", {
    "provider": provider,
    "checkout": {
        "checkout_id": checkout_id, "checkout_token": created["direct_debit"].get("token", "confirmed"),
        "opportunity_id": created["records"]["opportunity_id"], "dda_id": created["direct_debit"]["dda_id"]},
    "payment": {"payment_method": "service_payment_plan", "first_payment_date": FIRST_PAYMENT,
                "deposit_confirmed": True},
    # What the payer has ticked: ask, never assume.
    "declarations": {"payment_plan_accepted": True, "information_confirmed": True,
                     "privacy_consent_accepted": True}})
# After a lost answer this is already_confirmed, with the same agreement.
print("agreement", confirmed["agreement"]["number"])
