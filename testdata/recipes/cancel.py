"""Cancel a checkout before its confirm. Takes BASE, KEY and CHECKOUT from the environment."""

import os

from provider_checkout import ApiError, Client

BASE, KEY, CHECKOUT = os.environ["BASE"], os.environ["KEY"], os.environ["CHECKOUT"]
client = Client(BASE, KEY)

try:
    answer = client.cancel_checkout(CHECKOUT, {"reason": "The student chose another course."})
    print(answer["checkout"]["status"])
except ApiError as refusal:
    print(refusal.code)  # CONFLICT: it is confirmed
