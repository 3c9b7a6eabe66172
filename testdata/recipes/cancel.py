"""Cancel a checkout before its confirm. Python 3.9 or later, standard library only.

Takes BASE, KEY and CHECKOUT from the environment.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE, KEY, CHECKOUT = (os.environ[name] for name in ("BASE", "KEY", "CHECKOUT"))
HEADERS = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}


def call(method, path, content=None):
    """Send a request, and the same again while the answer is lost, 429 or 5xx."""
    body = json.dumps(content).encode() if content else None
    for wait in (1, 2, 4, 8, 16):
        try:
            request = urllib.request.Request(BASE + path, body, HEADERS, method=method)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code < 500 and refused.code != 429:
                return json.load(refused)
            wait = int(refused.headers.get("Retry-After", wait))
        except (OSError, http.client.HTTPException, ValueError):  # no answer, or half of it
            pass
        time.sleep(wait)
    sys.exit(f"{method} {path}: no answer")


result = call("POST", f"/v1/provider-checkouts/{CHECKOUT}/cancel", {"reason": "The student chose another course."})
print(result["checkout"]["status"] if result["success"] else result["error"]["code"])  # cancelled, or CONFLICT: it is confirmed
