"""List the enrolments that changed behind a cursor.

Python 3.9 or later, standard library only. Takes BASE, KEY and CURSOR from the environment.
"""

import json
import os
import urllib.request

BASE, KEY, CURSOR = os.environ["BASE"], os.environ["KEY"], os.environ.get("CURSOR", "")
TIMEOUT = 30  # seconds

request = urllib.request.Request(
    f"{BASE}/v1/enrolments?after={CURSOR}", headers={"Authorization": f"Bearer {KEY}"})
with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
    page = json.load(answer)
for enrolment in page["enrolments"]:
    print(enrolment["provider_order_id"], enrolment["status"])
print("next", page["next"])
