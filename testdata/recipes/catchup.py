"""List the events behind a cursor.

Python 3.9 or later, standard library only. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.
"""

import json
import os
import urllib.request

BASE, KEY, CURSOR = os.environ["BASE"], os.environ["KEY"], os.environ.get("CURSOR", "")
TIMEOUT = 30  # seconds

cursor = CURSOR
while True:
    request = urllib.request.Request(
        f"{BASE}/v1/events?after={cursor}", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        page = json.load(answer)
    for event in page["events"]:  # take it as your receiver does, once: event["body"] is the text that is sent
        print(event["event_id"], event["status"])
    cursor = page["next"]
    if not page["events"]:
        break
print("next", cursor)  # keep it
