"""Print the environment and its readiness. Python 3.9 or later, standard library only.

Takes BASE from the environment; needs no key.
"""

import json
import os
import sys
import urllib.request


def get(path):
    """Return the answer to a call, or raise an OSError."""
    with urllib.request.urlopen(os.environ["BASE"] + path, timeout=30) as answer:
        return json.load(answer)


service = get("/v1")
print(service["environment"], service["version"])

readiness = get("/v1/environment")["readiness"]
print("ready:", str(readiness["ready_for_api_calls"]).lower())
if not readiness["webhook_destinations_configured"]:
    print("no events are sent: poll", file=sys.stderr)
