"""Have an event sent again. Takes BASE, KEY and EVENT from the environment."""

import os

from provider_checkout import Client

BASE, KEY, EVENT = os.environ["BASE"], os.environ["KEY"], os.environ["EVENT"]
client = Client(BASE, KEY)

resent = client.redeliver_event(EVENT)
print("sent again:", resent["event_id"])
