"""Verify the signature of an event. Python 3.9 or later, standard library only.

In a receiver, hand verify() the bytes of the body as they came, before anything parses them:

    reason = verify(SECRET, headers["X-Service-Signature"], raw_body, time.time())
    if reason:
        answer(401)

then take each event_id once, and answer 2xx to a repeated one too.

Run as a program it judges the vectors of a file: python3 verify_event.py ../signatures.json
"""

import hashlib
import hmac
import json
import re
import sys

TOLERANCE = 300  # seconds, on either side of the receiver's clock
HEADER = re.compile(r"t=(0|[1-9][0-9]{0,18}),v1=([0-9a-f]{64})")


def verify(secret: str, header: str, body: bytes, now: float):
    """Return None for a genuine event, or the reason to refuse it."""
    parts = HEADER.fullmatch(header)
    if not parts:
        return "malformed"
    timestamp, signature = parts.groups()
    signed = timestamp.encode() + b"." + body
    want = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    # An empty secret is refused: anyone could compute an HMAC with it.
    # compare_digest takes the same time wherever two texts differ.
    if not secret or not hmac.compare_digest(signature, want):
        return "mismatch"
    if abs(now - int(timestamp)) > TOLERANCE:
        return "too_old"
    return None


def main(path: str) -> int:
    with open(path, encoding="utf-8") as f:
        vectors = json.load(f)
    cases = [(v, v["timestamp"], None) for v in vectors["accepted"]]
    cases += [(v, v["now"], v["reason"]) for v in vectors["refused"]]
    wrong = 0
    for v, now, want in cases:
        got = verify(v["secret"], v["header"], v["body"].encode(), now)
        if got != want:
            wrong += 1
            print(f"{v['name']}: {got}, want {want}", file=sys.stderr)
    print(len(cases), "vectors,", wrong, "wrong")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
