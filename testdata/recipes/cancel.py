"""Cancel a checkout before its confirm.

Python 3.9 or later, standard library only. Takes BASE, KEY and CHECKOUT from the environment.
"""

import json
import os
import urllib.error
import urllib.request

BASE, KEY, CHECKOUT = os.environ["BASE"], os.environ["KEY"], os.environ["CHECKOUT"]
TIMEOUT = 30  # seconds

request = urllib.request.Request(
    f"{BASE}/v1/provider-checkouts/{CHECKOUT}/cancel",
    data=json.dumps({"reason": "The student chose another course."}).encode(),
    headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
try:
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        print(json.load(answer)["checkout"]["status"])
except urllib.error.HTTPError as refused:
    # CONFLICT: it is confirmed. Sending it again is safe.
    print(json.load(refused)["error"]["code"])
