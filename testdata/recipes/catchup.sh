# Read a page of the events after a cursor. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.
set -eu

# The next of the answer is the CURSOR of the next call. A page without events is the end.
curl -sS --fail --max-time 30 --retry 4 "$BASE/v1/events?after=${CURSOR-}" -H "Authorization: Bearer $KEY"
