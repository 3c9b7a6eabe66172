"""Enrol a student: create, have the payer set up the direct debit, poll, confirm.

Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment.
A backend keeps the order id and the checkout id with its enrolment, and polls from a job: the
payer may take days.
"""

import os
import sys
import time

from provider_checkout import Client

BASE, KEY, PROVIDER, ORDER, COURSE, FIRST_PAYMENT = (
    os.environ[name] for name in ("BASE", "KEY", "PROVIDER", "ORDER", "COURSE", "FIRST_PAYMENT"))
client = Client(BASE, KEY)

# The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
created = client.create_checkout({
    "provider": {"provider_code": PROVIDER, "provider_order_id": ORDER},
    "student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
    "course": {"course_code": COURSE},
    "plan": {"payment_frequency": "Weekly", "first_payment_date": FIRST_PAYMENT}})
print(created["direct_debit"].get("setup_url", ""), flush=True)  # send the payer's browser there

checkout_id = created["checkout"]["checkout_id"]
time.sleep(created["direct_debit"].get("next_poll_after", 0))
polled = client.get_checkout(checkout_id)
while wait := polled["direct_debit"].get("next_poll_after"):
    time.sleep(wait)
    polled = client.get_checkout(checkout_id)

if polled["checkout"]["status"] == "cancelled":
    sys.exit("the checkout is cancelled")
confirmed = client.confirm_checkout(checkout_id, {
    "provider": {"provider_code": PROVIDER, "provider_order_id": ORDER},
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
