"""The client of Provider Checkout's API for a provider's backend, and the check of its events.

It needs Python 3.11 or later, and nothing else.
"""

from .events import SIGNATURE_HEADER as SIGNATURE_HEADER
from .events import SignatureError as SignatureError
from .events import parse_event as parse_event
from .events import verify as verify
from .events import verify_event as verify_event
from .transport import ApiError as ApiError
from .transport import LostAnswer as LostAnswer
from .wire import *
