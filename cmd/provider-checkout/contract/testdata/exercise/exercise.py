"""Has the client for Python judge the vectors of signatures, send amounts, and call a server that misbehaves.

It prints what comes of it, as do the other exercises.
"""

import json
import os
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from provider_checkout import ApiError, Client, LegacyCreateRequest, LostAnswer, SignatureError, verify

BASE = os.environ["BASE"]
names = sys.argv[1:]
client = Client(BASE, "pck_1", attempts=3, timeout=10)

with urllib.request.urlopen(BASE + "/vectors", timeout=30) as answer:
    vectors = json.load(answer)
wrong = 0
for v in vectors["accepted"] + vectors["refused"]:
    reason = None
    try:
        verify(v["secret"], v["header"], v["body"].encode(), v.get("now", v.get("timestamp")))
    except SignatureError as refusal:
        reason = refusal.reason
    wrong += reason != v.get("reason")
print("vectors:", wrong, "wrong")

request: LegacyCreateRequest = {
    "provider": {"provider_code": "A", "provider_order_id": "1"},
    "student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
    "course": {"course_name": 'Numbers such as "course_price": 1'},
    "pricing": {"course_price": Decimal("1000.10"), "amount_to_finance": Decimal("1000.00"), "upfront_payment": Decimal("0.10")},
    "plan": {
        "payment_type": "interest_free_payment_plan",
        "payment_frequency": "Weekly",
        "number_of_instalments": 3,
        "instalment_amount": Decimal("333.33"),
        "first_payment_date": "2027-02-01",
    },
}
created = client.create_checkout(request, idempotency_key="mine")
print("created:", created["pricing"]["course_price"], created["plan"]["number_of_instalments"], "<nil>")


def outcome(name: str) -> str:
    try:
        client.get_checkout(name)
    except ApiError as refusal:
        return " ".join([str(refusal.status), refusal.code, *(d["field"] for d in refusal.details)])
    except LostAnswer:
        return "lost"
    return "answered"


with ThreadPoolExecutor(len(names)) as calls:
    for name, said in zip(names, calls.map(outcome, names)):
        print(f"{name}: {said}")
