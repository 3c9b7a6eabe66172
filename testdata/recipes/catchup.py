"""List the events behind a cursor. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time."""

import os

from provider_checkout import Client

BASE, KEY, CURSOR = os.environ["BASE"], os.environ["KEY"], os.environ.get("CURSOR", "")
client = Client(BASE, KEY)

cursor = CURSOR
while True:
    page = client.list_events(after=cursor)
    for event in page["events"]:  # take it as your receiver does, once: event["body"] is the text that is sent
        print(event["event_id"], event["status"])
    cursor = page["next"]
    if not page["events"]:
        break
print("next", cursor)  # keep it
