"""Checks events: the part of the receiver that is written by hand."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import Optional

from .wire import Event

# The header of an event that verify_event takes.
SIGNATURE_HEADER = "X-Service-Signature"

TOLERANCE = 300  # seconds, on either side of the receiver's clock
_FORM = re.compile(r"t=(0|[1-9][0-9]{0,18})((?:,v1=[0-9a-f]{64})+)")


class SignatureError(Exception):
    """An event is not believed. The reason is malformed, mismatch or too_old."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the signature of the event is refused: {reason}")
        self.reason = reason


def verify_event(secret: str, signature: str, body: bytes, now: Optional[float] = None) -> Event:
    """Check the signature of an event over the bytes of its body, as they came, and return the event.

    It raises a SignatureError. now is the receiver's clock in seconds. A receiver takes each event_id once, and answers
    2xx to an event that it has seen before, or does not know.
    """
    verify(secret, signature, body, time.time() if now is None else now)
    return parse_event(body)


def parse_event(body: "bytes | str") -> Event:
    """Read the body of an event that is believed already, such as that of a list of events."""
    event: Event = json.loads(body)
    return event


def verify(secret: str, signature: str, body: bytes, now: float) -> None:
    """Check a signature alone. An empty secret matches nothing."""
    parts = _FORM.fullmatch(signature)
    if not parts:
        raise SignatureError("malformed")
    timestamp, signatures = parts.groups()
    want = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    # More than one signature comes while a secret is replaced: one match is enough.
    found = [hmac.compare_digest(want, other) for other in signatures.split(",v1=")[1:]]
    if secret == "" or True not in found:
        raise SignatureError("mismatch")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise SignatureError("too_old")
