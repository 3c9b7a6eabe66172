"""Ask a service what it is, and whether it is ready.

Python 3.9 or later, standard library only. Takes BASE from the environment; needs no key.
"""

import json
import os
import urllib.request

BASE = os.environ["BASE"]
TIMEOUT = 30  # seconds

with urllib.request.urlopen(BASE + "/v1", timeout=TIMEOUT) as answer:
    service = json.load(answer)
print(service["environment"], service["version"])

with urllib.request.urlopen(BASE + "/v1/environment", timeout=TIMEOUT) as answer:
    readiness = json.load(answer)["readiness"]
print("ready:", str(readiness["ready_for_api_calls"]).lower())
