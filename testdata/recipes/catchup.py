"""Read the events after a cursor. Python 3.9 or later, standard library only.

Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time. A backend stores the cursor after each page.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request


def page(after):
    """Return the events after a cursor. Ask again while the answer is lost, 429 or 5xx."""
    request = urllib.request.Request(f"{os.environ['BASE']}/v1/events?after={after}",
                                     headers={"Authorization": "Bearer " + os.environ["KEY"]})
    for wait in (1, 2, 4, 8, 16):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code < 500 and refused.code != 429:
                sys.exit(refused.read().decode())
            wait = int(refused.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException, ValueError):  # no answer, or half of it
            pass
        time.sleep(wait)
    sys.exit("no answer")


cursor = os.environ.get("CURSOR", "")
while True:
    found = page(cursor)
    cursor = found["next"]
    if not found["events"]:
        break
    for event in found["events"]:  # take each once, as your receiver does: event["body"] is the text that is signed and sent
        print(event["event_id"], event["status"])
print("next", cursor)
