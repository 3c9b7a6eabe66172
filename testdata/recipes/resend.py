"""Have an event sent again.

Python 3.9 or later, standard library only. Takes BASE, KEY and EVENT from the environment.
"""

import os
import urllib.error
import urllib.request

BASE, KEY, EVENT = os.environ["BASE"], os.environ["KEY"], os.environ["EVENT"]
TIMEOUT = 30  # seconds

request = urllib.request.Request(
    f"{BASE}/v1/events/{EVENT}/redeliver", method="POST", headers={"Authorization": f"Bearer {KEY}"})
try:
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        print(answer.status)  # 202
except urllib.error.HTTPError as refused:
    print(refused.code)  # 429 if an event was sent again within the last second
