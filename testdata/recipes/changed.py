"""List the enrolments that changed behind a cursor. Takes BASE, KEY and CURSOR from the environment."""

import os

from provider_checkout import Client

BASE, KEY, CURSOR = os.environ["BASE"], os.environ["KEY"], os.environ.get("CURSOR", "")
client = Client(BASE, KEY)

page = client.list_enrolments(after=CURSOR)
for enrolment in page["enrolments"]:
    print(enrolment["provider_order_id"], enrolment["status"])
print("next", page["next"])
