# List the events behind a cursor. Takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.
set -e

curl -sS --fail "$BASE/v1/events?after=$CURSOR" -H "Authorization: Bearer $KEY"
