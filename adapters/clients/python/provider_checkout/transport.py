"""Sends calls until they are answered: the part of the client that is written by hand."""

from __future__ import annotations

import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, List, Literal, Mapping, Optional, Union

if TYPE_CHECKING:
    from .wire import ErrorCode

LONGEST_WAIT = 60  # seconds: a longer Retry-After is left to the caller

Texts = Mapping[str, Union[str, int, None]]


class ApiError(Exception):
    """The service's refusal of a call."""

    def __init__(self, status: int, code: ErrorCode | Literal[""], message: str, details: List[Dict[str, str]],
                 request_id: str, retry_after: Optional[int]) -> None:
        faults = "".join(f"; {fault['field']} {fault['message']}" for fault in details)
        quote = request_id and f" ({request_id})"
        super().__init__(f"{status} {code or 'without a code'}: {message}{faults}{quote}")
        self.status = status
        self.code = code  # empty in an answer that is not the service's own, such as a proxy's
        self.message = message
        self.details = details  # the faults of fields: each has a field, such as student.email, and a message
        self.request_id = request_id  # to quote when you ask the operator
        self.retry_after = retry_after  # in seconds, where the answer says so


class LostAnswer(Exception):
    """The answer to the last attempt was lost, so that nobody knows whether the call took effect: call again."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the API has none, and the key is for it alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Transport:
    """Calls the API with one provider's key.

    A call is sent again, with the same bytes and headers, after a lost answer, a time-out, 429 or 5xx: after the
    seconds of Retry-After, or else after 1, 2, 4 and 8 seconds, and up to a quarter longer. Threads may share it.
    """

    _amounts: FrozenSet[str]  # the names of the fields that hold amounts

    def __init__(self, base: str, key: str, *, timeout: float = 30, attempts: int = 5) -> None:
        """Takes a base address, such as https://pay.example.nz, and an API key of that environment.

        The timeout is in seconds, of the connection and between the bytes of an answer.
        """
        self._base, self._key, self._timeout, self._attempts = base.rstrip("/"), key, timeout, attempts
        self._opener = urllib.request.build_opener(_Stay)

    def _call(self, method: str, path: str, *, query: Texts = {}, header: Texts = {}, body: Any = None) -> Any:
        search = urllib.parse.urlencode(_given(query))
        headers = {**_given(header), "Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        data = None if body is None else encode(body, self._amounts).encode()
        url = self._base + path + (search and "?" + search)
        attempt = 1
        while True:
            try:
                return self._once(urllib.request.Request(url, data, headers, method=method))
            except (ApiError, LostAnswer) as fault:
                wait = _pause(attempt, fault, random.random())
                if attempt >= self._attempts or wait is None:
                    raise
            time.sleep(wait)
            attempt += 1

    def _once(self, request: urllib.request.Request) -> Any:
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return decode(answer.read(), self._amounts)
        except urllib.error.HTTPError as refused:
            with refused:
                raise _refusal(refused) from None
        except (OSError, http.client.HTTPException, json.JSONDecodeError, UnicodeDecodeError) as lost:
            raise LostAnswer(str(lost)) from lost


def _refusal(answer: urllib.error.HTTPError) -> ApiError:
    error = None
    try:
        error = json.loads(answer.read())["error"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        pass
    if not isinstance(error, dict):
        error = {}  # the answer is not the service's own
    after = answer.headers.get("Retry-After", "")
    return ApiError(answer.code, error.get("code", ""), error.get("message", answer.reason), error.get("details", []),
                    answer.headers.get("X-Request-Id", ""), int(after) if re.fullmatch("[0-9]+", after) else None)


def _pause(attempt: int, fault: Exception, chance: float) -> Optional[float]:
    """Return the seconds to wait after an attempt, or None if the call must not be sent again."""
    wait: float = 2 ** (attempt - 1)
    if isinstance(fault, ApiError):
        if fault.status != 429 and fault.status < 500 or (fault.retry_after or 0) > LONGEST_WAIT:
            return None
        wait = fault.retry_after or wait
    return wait * (1 + chance / 4)


def _given(texts: Texts) -> Dict[str, str]:
    return {name: str(value) for name, value in texts.items() if value is not None}


def segment(text: str) -> str:
    """Write a text as one step of a path."""
    return urllib.parse.quote(text, safe="")


def decode(text: bytes, amounts: FrozenSet[str]) -> Any:
    """Read JSON with amounts as Decimal, which a float might round."""

    def exact(members: Dict[str, Any]) -> Dict[str, Any]:
        return {name: Decimal(value) if name in amounts and isinstance(value, int) else value
                for name, value in members.items()}

    return json.loads(text, parse_float=Decimal, object_hook=exact)


# A name and a number as a text, or any other text in quotation marks.
_PAIR = re.compile(r'("(?:[^"\\]|\\.)*")(: "(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")?')


def encode(value: Any, amounts: FrozenSet[str]) -> str:
    """Write JSON with amounts as numbers. A Decimal that is no number stays a text, which the service refuses."""

    def number(pair: re.Match[str]) -> str:
        name, _, digits = pair.groups()
        return f"{name}: {digits}" if digits and json.loads(name) in amounts else pair.group()

    return _PAIR.sub(number, json.dumps(value, default=str))
